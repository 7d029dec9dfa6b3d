package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/unit"
)

// learnFlags are what a program is watched with.
type learnFlags struct {
	runFlags
	out    string
	hashes bool
}

func newLearn(c *console) *cobra.Command {
	var f learnFlags
	cmd := &cobra.Command{
		Use:   "learn --trusted [flags] -- PROGRAM [args...]",
		Short: "watch a trusted program, and propose the grants that it needs",
		Long: `Runs a native program that you trust, and writes down the smallest grants that what
it did comes to: a profile for joulebox run --profile, and the same as flags.

It runs at S1, in a jail that has this host's programs, your folders, the whole network
and every program within reach: what it does to your files is done. Every call that
names a file, every connection and every execve is watched. Nothing of it is recorded
or sealed, since nothing was held to a grant.

The proposal is for you to read and to cut. It is applied by nobody but you: joulebox
profile trust shows a profile before it counts. Values of variables aren't in it.

What a program didn't do this time isn't in it either.`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{ownCodes: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && f.image == "" {
				return fail(exitDecline, errNoProgram, helpHint(cmd))
			}
			return c.learn(cmd.Context(), f, args)
		},
	}
	to := cmd.Flags()
	f.set = to
	to.BoolVar(&f.trusted, "trusted", false, "say that you trust the program, which has nearly everything within reach")
	to.StringVarP(&f.out, "out", "o", "", "write the profile to `FILE`, which must not be there yet")
	to.BoolVar(&f.hashes, "hashes", false, "propose programs by their content, which no rename gets around and every update changes")
	to.StringArrayVar(&f.mounts, "mount", nil, "show a directory of the host under another path: `HOST:GUEST`")
	to.StringArrayVar(&f.env, "env", nil, "set a variable for the program: `K=V`, or K alone to hand on this process's value")
	to.StringVar(&f.image, "image", "", "run a native program of the image `REF`")
	to.StringVar(&f.workDir, "workdir", "", "let the program begin in the folder `PATH`, as it sees it")
	to.StringVar(&f.stdin, "stdin", "", "read standard input from `FILE`")
	to.StringVar(&f.timeout, "timeout", "1h", "end the program after `DURATION`")
	to.StringVar(&f.memory, "memory", "4GiB", "cap the program's memory at `SIZE`")
	to.BoolVarP(&f.tty, "tty", "t", false, "give the program this terminal")
	to.SetInterspersed(false)
	to.SortFlags = false
	return cmd
}

var errNotTrusted = errors.New("learn runs a program with your folders, the network and every program within reach")

func (c *console) learn(ctx context.Context, f learnFlags, args []string) error {
	signal.Ignore(syscall.SIGPIPE)
	if !f.trusted {
		return fail(exitDecline, errNotTrusted, "say --trusted if you trust it; what you don't trust runs with joulebox run, which says what it was denied")
	}
	if f.out != "" && exists(f.out) {
		return fail(exitDecline, fmt.Errorf("--out: %s is there already", f.out), "name a file that isn't")
	}
	program, err := f.nativeOnly(ctx, c, args)
	if err != nil {
		return c.declined(err, "")
	}
	handed, err := f.handed(c, program)
	if err != nil {
		return fail(exitDecline, err, "")
	}
	defer handed.close()
	if f.tty {
		t, err := openTerminal(os.Stdin)
		if err != nil {
			return fail(exitDecline, err, "")
		}
		defer t.close()
		handed.TTY, handed.Terminal = t.tty, true
	}
	c.note("learning at S1: %s has your folders, the network and every program within reach, and is watched", program.name)
	needs, exit, err := f.watch(ctx, program, handed)
	if err != nil {
		return c.declined(err, "")
	}
	p := f.proposal(program, handed.BrokerConfig, needs, exit)
	if err := c.propose(p, f.out); err != nil {
		return fail(exitDecline, err, "")
	}
	return quiet(learnedCode(exit, interruptedBy(ctx)))
}

// nativeOnly finds the program, which has to be a native one.
func (f *learnFlags) nativeOnly(ctx context.Context, c *console, args []string) (*program, error) {
	if f.image != "" {
		return f.imageProgram(ctx, c, args)
	}
	native, err := f.isNative(args[0])
	if err != nil {
		return nil, err
	}
	if !native {
		return nil, fail(exitDecline, fmt.Errorf("%s isn't a native program", args[0]), "joulebox run says what a module or a script was denied, and the grant for it")
	}
	return nativeProgram(args)
}

// watch runs it.
func (f *learnFlags) watch(ctx context.Context, p *program, h *handed) (n host.Needs, exit host.Exit, err error) {
	h.Grants, err = f.within(h.BrokerConfig)
	if err != nil {
		return n, exit, fail(exitDecline, err, "")
	}
	h.Args = append([]string{p.path}, p.args...)
	b, err := host.NewBroker(h.BrokerConfig)
	if err != nil {
		return n, exit, err
	}
	defer b.Close()
	c := h.Grants.Compute
	return host.Learn(ctx, host.Job{
		Unit: unit.Unit{Entrypoint: h.Args}, Native: p.native, Broker: b,
		Limits: host.Limits{Wall: time.Duration(c.CPUTimeMS) * time.Millisecond, Memory: c.MemoryBytes},
	})
}

// within is what is in reach of a program that is watched: each folder at the top of
// this host that isn't the system's own, and what a unit has anyway.
func (f *learnFlags) within(h host.BrokerConfig) (grant.Set, error) {
	b := grant.NewBuilder(grant.Set{})
	for _, at := range reachable(h) {
		for _, add := range []func(string) error{b.Read, b.Write, b.Delete} {
			if err := add(at); err != nil {
				return grant.Set{}, err
			}
		}
	}
	if err := errors.Join(b.Timeout(f.timeout), b.Memory(f.memory)); err != nil {
		return grant.Set{}, err
	}
	return b.Build(defaultBudgets)
}

// reachable are those folders. What lies in a folder that a unit has of its own is
// there only where the program is told of it.
func reachable(h host.BrokerConfig) (list []string) {
	for _, m := range h.Mounts {
		list = append(list, m.Guest)
	}
	for _, dir := range []string{"/", "/home", "/var", "/etc"} {
		entries, _ := os.ReadDir(dir) // what can't be listed can't be reached
		for _, e := range entries {
			at := filepath.Join(dir, e.Name())
			if (e.IsDir() || e.Type().IsRegular()) && !system[at] && !host.Shown(at) && !strings.Contains(at, "*") {
				list = append(list, at)
			}
		}
	}
	for _, word := range append([]string{h.WorkDir}, h.Args...) {
		for _, own := range []string{"/tmp/", "/var/tmp/"} {
			if rest, ok := strings.CutPrefix(filepath.Clean(word), own); ok {
				first, _, _ := strings.Cut(rest, "/")
				if info, err := os.Lstat(own + first); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
					list = append(list, own+first)
				}
			}
		}
	}
	return list
}

// system are folders that a unit has of its own, or whose parts are named one by one,
// and files of its own.
var system = map[string]bool{
	"/etc": true, "/home": true, "/home/unit": true, "/var": true, "/tmp": true, "/var/tmp": true, "/run": true, "/var/run": true, "/var/lock": true, "/boot": true,
	"/etc/hosts": true, "/etc/hostname": true, "/etc/passwd": true, "/etc/group": true, "/etc/nsswitch.conf": true,
	"/etc/resolv.conf": true, "/etc/ssl": true, "/etc/pki": true, "/etc/mtab": true,
	"/etc/shadow": true, "/etc/gshadow": true, "/etc/sudoers": true, "/etc/sudoers.d": true, // not for any program
	"/etc/gai.conf": true, "/etc/host.conf": true, "/etc/locale.alias": true, "/etc/localtime": true, "/etc/timezone": true, // looked for, and done without
}

// learnedCode is the program's own exit code.
func learnedCode(e host.Exit, interrupted int) int {
	switch {
	case e.Outcome.Breach() == joulebox.BreachMemory:
		return exitMemory
	case e.Outcome.Breach() != "":
		return exitBudget
	case e.Code != nil:
		return int(*e.Code & 0xff)
	case e.Signal != 0:
		return 128 + int(e.Signal)
	}
	return 128 + interrupted
}

// propose shows a proposal, and writes the profile to a file if one is named.
func (c *console) propose(p *proposal, out string) error {
	text, err := p.profile()
	if err != nil {
		return err
	}
	if out == "" {
		fmt.Fprintf(c.err, "\n%s\n", text)
	} else {
		f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, text)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		c.note("wrote %s; joulebox profile trust %s shows what it grants, and trusts it", out, out)
	}
	for _, n := range p.notes {
		c.note("%s", n)
	}
	fmt.Fprintf(c.err, "%s\n", p.command())
	return nil
}
