package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// grantFlags are the grants as people type them. They add to what a --grants
// file holds, and a budget given as a flag replaces the file's.
type grantFlags struct {
	file                string
	read, write, delete []string
	net                 []string
	kv                  []string
	log, clock, random  bool
	simd                bool
	iops                uint64
	rate                string
	timeout             string
	memory              string
	energy              string
	mounts              []string
	trusted, sensitive  bool
}

func (g *grantFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&g.read, "read", nil, "let the unit read `PATH` and all below it, or a glob")
	f.StringArrayVar(&g.write, "write", nil, "let the unit write `PATH` and all below it, or a glob")
	f.StringArrayVar(&g.delete, "delete", nil, "let the unit delete `PATH` and all below it, or a glob")
	f.StringArrayVar(&g.mounts, "mount", nil, "show the host's directory as another path inside: `HOST:GUEST`; grants speak of the path inside")
	f.StringSliceVar(&g.net, "net", nil, "let the unit connect to `HOST:PORT`")
	f.StringArrayVar(&g.kv, "kv", nil, "let the unit use the key-value store: `r|w|rw[:PREFIX]`, rw and every key by default")
	f.Lookup("kv").NoOptDefVal = "rw"
	f.BoolVar(&g.log, "log", false, "let the unit write log lines to the host")
	f.BoolVar(&g.clock, "clock", false, "let the unit read the time; without it every clock reads a constant")
	f.BoolVar(&g.random, "random", false, "let the unit draw randomness")
	f.BoolVar(&g.simd, "simd", false, "let the unit use vector instructions")
	f.Uint64Var(&g.iops, "max-iops", 0, "bound storage operations a second to `N`")
	f.StringVar(&g.rate, "max-read-bps", "", "bound bytes read a second to `SIZE`, like 10MiB")
	f.StringVar(&g.timeout, "timeout", "", "end the unit after `DURATION` of wall or CPU time, like 30s")
	f.StringVar(&g.memory, "memory", "", "cap the unit's memory to `SIZE`, like 64MiB")
	f.StringVar(&g.energy, "energy", "", "end the unit after `JOULES`, like 5J, 500mJ or 5000000uJ")
	f.StringVar(&g.file, "grants", "", "read grants from a JSON or YAML `FILE`; flags add to them")
	f.BoolVar(&g.trusted, "trusted", false, "say that you trust the program: it may then run at a lower tier")
	f.BoolVar(&g.sensitive, "sensitive", false, "say that neighbours must not observe the unit through shared devices")
}

// pathGlobs turns what follows --read and its like into globs. A plain path
// grants itself and all below it, whether it is a directory or not: what a grant
// means must not depend on what happens to be on this disk.
func pathGlobs(paths []string) (globs []string, err error) {
	for _, p := range paths {
		if p == "" {
			return nil, fmt.Errorf("a path to grant is empty")
		}
		if isGlob(p) {
			globs = append(globs, p)
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		globs = append(globs, abs, strings.TrimSuffix(abs, "/")+"/**")
	}
	return globs, nil
}

func isGlob(p string) bool { return strings.Contains(p, "*") }

// mount is one directory of the host under the path that the unit sees.
type mount struct{ host, guest string }

func parseMounts(texts []string) (mounts []mount, err error) {
	for _, t := range texts {
		host, guest, ok := cutLast(t, ":")
		if !ok || host == "" || !filepath.IsAbs(guest) {
			return nil, fmt.Errorf("mount: got %q, want HOST:GUEST with an absolute guest path, like ./data:/data", t)
		}
		host, err = filepath.Abs(host)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(host); err != nil {
			return nil, fmt.Errorf("mount: %w", err)
		}
		mounts = append(mounts, mount{host, filepath.Clean(guest)})
	}
	return mounts, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// kvGrant is what the --kv flags say together.
type kvGrant struct {
	read, write bool
	prefixes    [][]byte
}

// parseKV reads each "r|w|rw[:PREFIX]". There is one list of prefixes for both
// directions (§5.4), so a flag without a prefix grants every key.
func parseKV(texts []string) (kv kvGrant, err error) {
	every := false
	for _, t := range texts {
		mode, prefix, narrowed := strings.Cut(t, ":")
		switch mode {
		case "r":
			kv.read = true
		case "w":
			kv.write = true
		case "rw":
			kv.read, kv.write = true, true
		default:
			return kv, fmt.Errorf("kv: got %q, want r, w or rw, and a prefix after a colon if not every key is meant, like --kv=rw:user/", t)
		}
		if narrowed {
			kv.prefixes = append(kv.prefixes, []byte(prefix))
		}
		every = every || !narrowed
	}
	if every {
		kv.prefixes = nil
	}
	return kv, nil
}
