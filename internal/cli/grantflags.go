package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/joulebox/joulebox/grant"
)

// defaultBudgets are what a run gets when nobody says otherwise. They are
// written into the descriptor like any other budget: nothing is unlimited.
var defaultBudgets = grant.Compute{
	EnergyBudgetUJ: 1_000_000_000, // 1 kJ
	CPUTimeMS:      60_000,
	MemoryBytes:    256 << 20,
}

// grantFlags are the grants as people type them. They add to what a --grants
// file holds, and a budget given as a flag replaces the file's.
type grantFlags struct {
	file                     string
	read, write, delete      []string
	net, inbound, kv         []string
	log, clock, random, simd bool
	iops                     uint64
	rate                     string
	timeout, memory, energy  string
	set                      *pflag.FlagSet // to tell zero from unset
	trusted, sensitive       bool
	exec                     []string // programs
	execHash, denyHash       []string
	maxProcesses             uint32
	base                     *grant.Set // what the flags add to, where it isn't --grants
}

func (g *grantFlags) register(f *pflag.FlagSet) {
	g.set = f
	f.StringArrayVar(&g.read, "read", nil, "let the unit read `PATH` and all below it, or a glob")
	f.StringArrayVar(&g.write, "write", nil, "let the unit write `PATH` and all below it, or a glob; write alone can't read")
	f.StringArrayVar(&g.delete, "delete", nil, "let the unit delete `PATH` and all below it, or a glob")
	f.StringSliceVar(&g.net, "net", nil, "let the unit connect to `HOST:PORT`, or to a preset such as "+strings.Join(grant.PresetNames(), ", "))
	f.StringArrayVar(&g.inbound, "inbound", nil, "let connections to `[ADDRESS:]PORT[:PORT]` of this host reach a native unit's port, the second one if it is another; the address is 127.0.0.1 unless it is named")
	f.StringArrayVar(&g.kv, "kv", nil, "let the unit use the key-value store: `r|w|rw[:PREFIX]`, rw and every key when nothing is said")
	f.Lookup("kv").NoOptDefVal = "rw"
	f.BoolVar(&g.log, "log", false, "let the unit write log lines to the host")
	f.BoolVar(&g.clock, "clock", false, "let the unit read the time; without it every clock reads a constant")
	f.BoolVar(&g.random, "random", false, "let the unit draw randomness")
	f.BoolVar(&g.simd, "simd", false, "let the unit use vector instructions")
	f.Uint64Var(&g.iops, "max-iops", 0, "bound storage operations a second to `N`")
	f.StringVar(&g.rate, "max-read-bps", "", "bound bytes read a second to `SIZE`, like 10MiB")
	f.StringArrayVar(&g.exec, "exec", nil, "let the unit start `PROGRAM`: an absolute path, a glob such as /usr/bin/*, or a name that is looked up now")
	f.StringArrayVar(&g.execHash, "exec-hash", nil, "let the unit start what has this content address `ID`, whatever its name, and nothing that isn't listed so")
	f.StringArrayVar(&g.denyHash, "deny-hash", nil, "never let the unit start what has this content address `ID`")
	f.Uint32Var(&g.maxProcesses, "max-processes", 0, "bound how many programs that the unit started run at once to `N`")
	f.StringVar(&g.timeout, "timeout", "", "end the unit after `DURATION` of wall or CPU time, like 30s")
	f.StringVar(&g.memory, "memory", "", "cap the unit's memory at `SIZE`, like 64MiB")
	f.StringVar(&g.energy, "energy", "", "end the unit after `JOULES`, like 5J, 500mJ or 5000000uJ")
	f.StringVar(&g.file, "grants", "", "read grants from a JSON or YAML `FILE`; flags add to them")
	f.BoolVar(&g.trusted, "trusted", false, "say that you trust the program: it may then run at a lower tier")
	f.BoolVar(&g.sensitive, "sensitive", false, "say that neighbours must not observe the unit through shared devices")
}

// grants is the set that file and flags make together.
func (g *grantFlags) grants() (grant.Set, error) {
	var from grant.Set
	switch {
	case g.base != nil && g.file != "":
		return from, errTwoBases
	case g.base != nil:
		from = *g.base
	case g.file != "":
		src, err := os.ReadFile(g.file)
		if err != nil {
			return from, fmt.Errorf("--grants: %w", err)
		}
		if from, err = grant.ParseHuman(src, defaultBudgets); err != nil {
			return from, fmt.Errorf("%s: %w", g.file, err)
		}
	}
	programs, err := programPaths(g.exec)
	if err != nil {
		return from, err
	}
	g.exec = programs
	b := grant.NewBuilder(from)
	if err := g.addTo(b); err != nil {
		return grant.Set{}, err
	}
	return b.Build(defaultBudgets)
}

func (g *grantFlags) addTo(b *grant.Builder) error {
	for _, l := range []struct {
		values []string
		add    func(string) error
	}{
		{absolute(g.read), b.Read}, {absolute(g.write), b.Write}, {absolute(g.delete), b.Delete}, {g.net, b.Net}, {g.kv, b.KV},
		{g.exec, b.Exec}, {g.execHash, b.ExecHash}, {g.denyHash, b.DenyHash},
		{given(g.timeout), b.Timeout}, {given(g.memory), b.Memory}, {given(g.energy), b.Energy}, {given(strings.TrimSuffix(g.rate, "/s")), b.MaxReadBPS},
	} {
		for _, v := range l.values {
			if err := l.add(v); err != nil {
				return err
			}
		}
	}
	for _, s := range []struct {
		on  bool
		add func()
	}{{len(g.inbound) > 0, b.Inbound}, {g.log, b.Log}, {g.clock, b.Clock}, {g.random, b.Random}, {g.simd, b.SIMD}} {
		if s.on {
			s.add()
		}
	}
	if g.set.Changed("max-processes") {
		b.MaxProcesses(g.maxProcesses)
	}
	if g.set.Changed("max-iops") {
		b.MaxIOPS(g.iops)
	}
	return nil
}

func given(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}

// absolute makes paths that people type relative to where they are. Grants
// themselves know no current directory.
func absolute(paths []string) []string {
	wd, err := workDir()
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = p
		if err == nil && p != "" && p != "**" && !strings.HasPrefix(p, "/") {
			list[i] = filepath.Join(wd, p)
		}
	}
	return list
}

// workDir is where we are, by its real name: a grant by way of a link would not
// cover what the link leads to.
func workDir() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(wd)
}
