package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/host"
)

// handed is what a run is given beside its unit: streams, variables, mounts.
type handed struct {
	host.BrokerConfig
	stdin   *os.File // to close
	program *program // likewise
}

func (h *handed) close() {
	if h.program != nil {
		h.program.close()
	}
	if h.stdin != nil {
		_ = h.stdin.Close()
	}
}

func (f *runFlags) handed(c *console, p *program) (h *handed, err error) {
	h = &handed{program: p, BrokerConfig: host.BrokerConfig{
		Stdin: c.in, Stdout: c.out, Stderr: c.err,
		Log: c.err, Journal: f.journaling(),
	}}
	if f.stdin != "" {
		if h.stdin, err = os.Open(f.stdin); err != nil {
			return nil, fmt.Errorf("--stdin: %w", err)
		}
		h.Stdin = h.stdin
	}
	if p.fromStdin && f.stdin == "" {
		h.Stdin = nil // the program was all there was
	}
	if h.Env, err = environment(f.env); err != nil {
		return nil, err
	}
	h.Env = p.environment(h.Env)
	if h.Mounts, err = parseMounts(f.mounts); err != nil {
		return nil, err
	}
	if h.Inbound, err = openInbound(f.inbound); err != nil {
		return nil, err
	}
	for i, in := range h.Inbound {
		if !f.quiet {
			c.note("--inbound %s: listening at %v", f.inbound[i], in.Listener.Addr())
		}
	}
	h.WorkDir, _ = workDir() // without one, relative names mean nothing
	h.Start = f.workDir
	state, err := custody.StateDir()
	if err != nil {
		return nil, err
	}
	h.Hidden = []string{state}
	return h, nil
}

// environment is what was named and nothing else: a unit inherits no variable.
func environment(texts []string) (env []string, err error) {
	seen := map[string]bool{}
	for _, t := range texts {
		name, _, given := strings.Cut(t, "=")
		if name == "" || seen[name] {
			return nil, fmt.Errorf("--env: got %q, want each variable once, as NAME=VALUE or NAME", t)
		}
		seen[name] = true
		if !given {
			value, ok := os.LookupEnv(name)
			if !ok {
				return nil, fmt.Errorf("--env: %s isn't set here, so there is no value to hand on; give one with %s=VALUE", t, t)
			}
			t += "=" + value
		}
		env = append(env, t)
	}
	return env, nil
}

// parseMounts reads each HOST:GUEST.
func parseMounts(texts []string) (mounts []host.Mount, err error) {
	for _, t := range texts {
		i := strings.LastIndex(t, ":")
		if i <= 0 || !filepath.IsAbs(t[i+1:]) {
			return nil, fmt.Errorf("--mount: got %q, want HOST:GUEST with an absolute guest path, like ./data:/data", t)
		}
		dir, err := filepath.Abs(t[:i])
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("--mount: %w", err)
		}
		mounts = append(mounts, host.Mount{Host: dir, Guest: filepath.Clean(t[i+1:])})
	}
	return mounts, nil
}
