package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

type runFlags struct {
	grantFlags
	lang      string
	code      string
	with      []string
	mounts    []string
	env       []string
	entry     string
	stdin     string
	challenge string
	bundle    string
	journal   bool
	json      string
	quiet     bool
	profile   string
	image     string // of a native program
	workDir   string
	tty       bool
	resolve   bool
	host      hostProcess
}

func newRun(c *console) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROGRAM [args...]",
		Short: "run a program under grants",
		Long: `Runs a program at the lowest tier that suffices. What isn't granted is denied. Flags
end at the program, or at --; the rest is the program's. PROGRAM is

  a file of WASM    a WASI command, or a module that exports run: () -> i32; its text
                    form too, where the name ends in .wat
  a script          in a language that runs at S2 (joulebox lang); its image is the
                    interpreter, its library and the script. - reads it from standard
                    input
  a native program  by its name, which is looked for on the PATH and never here, or by
                    a path. It runs at S3, where it sees this machine's programs and
                    libraries, read-only, and nothing else that isn't granted
  one of an image   with --image: it sees the image in place of this machine. Without
                    PROGRAM it is what the image says

Standard input and output are the program's own. On standard error, after what the
program writes there, stands one line: the tier, the outcome, what it cost and how
that is known, and the ids. With --json the whole record stands there instead, as
one JSON document, or in the file of --json=FILE.

Grants speak of paths as the program sees them. A path that is granted and not
mounted is the same path on this host.

` + exitHelp,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{ownCodes: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !cmd.Flags().Changed("code") && f.image == "" && f.profile == "" {
				return fail(exitDecline, errNoProgram, helpHint(cmd))
			}
			return c.run(cmd.Context(), f, args)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().SortFlags = false
	return cmd
}

func (f *runFlags) register(to *pflag.FlagSet) {
	f.grantFlags.register(to)
	to.StringArrayVar(&f.mounts, "mount", nil, "show a directory of the host under another path: `HOST:GUEST`; the grants speak of GUEST")
	to.StringArrayVar(&f.env, "env", nil, "set a variable for the program: `K=V`, or K alone to hand on this process's value, which keeps it off the command line")
	to.StringVar(&f.profile, "profile", "", "begin with what a project's profile `FILE` says, once joulebox profile trust has shown it to you")
	to.StringVar(&f.lang, "lang", "", "run a script on the language `NAME`, whatever its extension and first line say")
	to.StringVarP(&f.code, "code", "c", "", "run this `TEXT` as the script, with --lang; all arguments are then the script's")
	to.StringArrayVar(&f.with, "with", nil, "put a `FILE` or folder into the script's image beside it, to be imported")
	to.StringVar(&f.entry, "entry", "", "call this `EXPORT` instead of _start or run")
	to.StringVar(&f.stdin, "stdin", "", "read standard input from `FILE`")
	to.StringVar(&f.image, "image", "", "run a native program of the image `REF`: dir:PATH, oci:PATH[:TAG], oci-archive:FILE, docker-archive:FILE, docker://NAME@sha256:…, or a path")
	to.BoolVar(&f.resolve, "resolve", false, "let --image be a tag, and look up which digest it is")
	to.StringVar(&f.workDir, "workdir", "", "let a native program begin in the folder `PATH`, as it sees it")
	to.BoolVarP(&f.tty, "tty", "t", false, "give a native program this terminal")
	to.StringVar(&f.challenge, "challenge", "", "bind a relying party's freshness value `C` into the record: base64url, or hex: and hex digits, of 8 to 64 bytes")
	to.StringVar(&f.bundle, "bundle", "", "write the bundle, which anyone can verify, to `FILE`")
	to.BoolVar(&f.journal, "journal", false, "record all that comes into the run, so that joulebox replay can rerun it; kept in the store, and in the bundle with --bundle")
	to.StringVar(&f.json, "json", "", "show the record as JSON on standard error, or in `FILE` with --json=FILE")
	to.Lookup("json").NoOptDefVal = "-"
	to.BoolVarP(&f.quiet, "quiet", "q", false, "no summary line")
	f.host.register(to)
}

// run does what the command says, in the order in which things can go wrong:
// what was typed, what is on disk, what this host can do, the unit itself.
func (c *console) run(ctx context.Context, f runFlags, args []string) error {
	// Whoever stops reading the unit's output ends the unit's writing, not the record.
	signal.Ignore(syscall.SIGPIPE)
	if f.profile != "" {
		p, err := useProfile(f.profile)
		if err != nil {
			return c.declined(err, f.json)
		}
		f.apply(p)
	}
	processes, err := c.openProcesses(f.host)
	if err != nil {
		return fail(exitDecline, err, "")
	}
	if processes != nil {
		defer processes.Close()
	}
	program, err := f.program(ctx, c, args)
	if err != nil {
		return c.declined(err, f.json)
	}
	request, err := f.request(program)
	if err != nil {
		return c.declined(err, f.json)
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
	out, err := f.outputs()
	if err != nil {
		return fail(exitDecline, err, "")
	}
	defer out.discard()
	h, err := openHouse(c, processes)
	if err != nil {
		return fail(exitDecline, err, "")
	}
	defer h.close()
	record, err := h.runOnce(ctx, request, handed.BrokerConfig)
	if err != nil {
		return c.declined(err, f.json)
	}
	return c.finish(ctx, f, out, record)
}

// request is the part of a run that its unit id covers.
func (f *runFlags) request(p *program) (r supervisor.Request, err error) {
	if r.Grants, err = f.grants(); err != nil {
		return r, fail(exitDecline, err, "")
	}
	if r.Challenge, err = parseChallenge(f.challenge); err != nil {
		return r, fail(exitDecline, fmt.Errorf("--%w", err), "")
	}
	if err = p.checkNeeds(r.Grants); err != nil {
		return r, err
	}
	r.Placement = f.placement()
	p.into(&r, f.entry)
	return r, nil
}

// readProgram tells a program that isn't there from one that may not be read, as
// a shell does.
func readProgram(name string) ([]byte, error) {
	file, err := openProgram(name)
	var image []byte
	if err == nil {
		defer file.Close()
		image, err = io.ReadAll(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint := ""
		if strings.HasPrefix(name, "-") {
			hint = "flags stand before the program"
		}
		return nil, fail(exitMissing, err, hint)
	case errors.Is(err, errNoFile):
		return nil, fail(exitDecline, err, "")
	case err != nil:
		return nil, fail(exitDenied, err, "")
	}
	return image, nil
}

// declined shows why nothing ran.
func (c *console) declined(err error, jsonTo string) error {
	f := asDeclined(err)
	if jsonTo != "" {
		doc := map[string]any{"error": f.err.Error(), "hint": f.hint, "exit": f.code}
		var d *supervisor.DeclinedError
		if errors.As(err, &d) {
			doc["tier"], doc["reasons"] = d.Tier, d.Reasons
		}
		if err := c.writeJSON(jsonTo, doc); err != nil {
			return fail(exitDecline, err, "")
		}
		return quiet(f.code)
	}
	return f
}

// asDeclined tells the host that won't run the unit from the unit that can't be
// run as it is.
func asDeclined(err error) *failure {
	if f, ok := asFailure(err); ok {
		return f
	}
	f := &failure{code: exitDecline, err: err}
	var declined *supervisor.DeclinedError
	var refused *host.RefusedError
	switch {
	case errors.As(err, &declined):
		f.hint = declined.Hint
	case errors.As(err, &refused):
		f.hint = refused.Hint
	}
	switch {
	case errors.Is(err, host.ErrNotFound):
		f.code = exitMissing
	case errors.Is(err, host.ErrDenied):
		f.code = exitDenied
	}
	return f
}

// finish shows the record and hands the unit's exit code on.
func (c *console) finish(ctx context.Context, f runFlags, out *outputs, r *supervisor.Record) error {
	rec := newRunRecord(r.Bundle)
	rec.Detail, rec.Bundle = r.Exit.Detail, f.bundle
	for _, d := range r.Denials {
		rec.Denials = append(rec.Denials, denialRecord(d))
	}
	const second = 1_000_000 // µs
	if r.Unmeasured != nil && rec.Usage.WallUS > second {
		c.note("the energy is an estimate: %v", r.Unmeasured) // that a short run has none is no news
	}
	if r.NoJournal != nil {
		c.note("the run's journal isn't whole, so none is attested: %v", r.NoJournal)
	}
	if err := out.commit(r); err != nil {
		return fail(exitDecline, fmt.Errorf("the unit ran and its record is kept, but: %w", err), "joulebox receipts show --bundle "+short(rec.AttestationID)+" prints it")
	}
	if f.json != "" {
		if err := c.writeJSON(f.json, rec); err != nil {
			return fail(exitDecline, err, "")
		}
	} else if !f.quiet {
		c.note("%s", rec.summary(c))
		c.hintDenials(rec)
	}
	return quiet(rec.exitCode(interruptedBy(ctx)))
}

// hintDenials says what a failed unit was refused: the first thing that its user
// wants to know. A unit that completed did without.
func (c *console) hintDenials(r runRecord) {
	if r.Outcome != joulebox.Failed || len(r.Denials) == 0 {
		return
	}
	d := r.Denials[0]
	text := "it was denied something: " + d.Reason
	if d.Grant != "" {
		text += "; the grant that would allow it is " + d.Grant
	}
	fmt.Fprintf(c.err, "%s %s\n", c.paint(dim, "hint:"), text)
}

func (c *console) writeJSON(to string, v any) error {
	if to == "-" {
		return writeDocument(c.err, v)
	}
	return writeFile(to, func(w *os.File) error { return writeDocument(w, v) })
}

// bundleText is the bundle as it is written to a file.
func bundleText(b *bundle.Bundle) []byte { return append(b.Marshal(), '\n') }
