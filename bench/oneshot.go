package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// oneshot times whole processes on the same program with warm compile caches:
// ours runs it metered and leaves a signed record, the wazero command line runs it.
func oneshot(n int) error {
	dir, err := os.MkdirTemp("", "joulebox-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	wazero := filepath.Join(dir, "wazero")
	if err := build(wazero, nil, "github.com/tetratelabs/wazero/cmd/wazero"); err != nil {
		return err
	}
	joulebox, err := filepath.Abs("bin/joulebox")
	if err != nil {
		return err
	}
	programs, err := oneshotPrograms(dir)
	if err != nil {
		return err
	}
	header("One-shot command, warm compile cache", "joulebox run", "wazero run")
	for _, p := range programs {
		ours := command(dir, joulebox, "run", "--quiet", p.path)
		peer := command(dir, wazero, "run", "-cachedir="+filepath.Join(dir, "wazero-cache"), p.path)
		pair, err := measure(p.name, n, clock(ours), clock(peer))
		if err != nil {
			return err
		}
		pair.print()
	}
	return beforeMain(n, joulebox)
}

type program struct{ name, path string }

func oneshotPrograms(dir string) ([]program, error) {
	source := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o600); err != nil {
		return nil, err
	}
	goHello := filepath.Join(dir, "go-hello.wasm")
	if err := build(goHello, []string{"GOOS=wasip1", "GOARCH=wasm"}, source); err != nil {
		return nil, err
	}
	return []program{
		{"hello, 0.2 kB of WAT", "examples/hello/hello.wasm"},
		{"hello, 2.5 MB of Go", goHello},
	}, nil
}

func build(out string, env []string, pkg string) error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
	c.Env = append(os.Environ(), append(env, "CGO_ENABLED=0")...)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// command runs a program with state and caches of its own below dir.
func command(dir, name string, args ...string) func() error {
	return func() error {
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
		c.Stdout = io.Discard
		if text, err := outputOf(c); err != nil {
			return fmt.Errorf("%s %v: %w\n%s", name, args, err, text)
		}
		return nil
	}
}

func outputOf(c *exec.Cmd) (string, error) {
	var text limited
	c.Stderr = &text
	err := c.Run()
	return string(text), err
}

// limited keeps the beginning of what is written to it.
type limited []byte

func (l *limited) Write(p []byte) (int, error) {
	if room := 4096 - len(*l); room > 0 {
		*l = append(*l, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
