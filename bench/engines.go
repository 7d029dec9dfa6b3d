package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// engines times metered compute against other engines on the same programs: V8,
// which counts nothing, and wasmtime, which counts its fuel. Both are asked for and
// named where they aren't here. wazero's own command runs what metering has as the
// bare engine.
func engines(n int) error {
	dir, err := os.MkdirTemp("", "joulebox-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	header("Compute, every instruction counted, against other engines", "metered", "the other")
	for _, e := range []struct {
		name  string
		start func(dir string) (*peer, error)
	}{{"V8 (node)", startV8}, {"wasmtime with fuel", startWasmtime}} {
		p, err := e.start(dir)
		if err != nil {
			fmt.Printf("%-34s missing: %v\n", e.name, err)
			continue
		}
		err = against(n, e.name, p)
		p.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func against(n int, name string, p *peer) error {
	var all []pairs
	for _, program := range meteringPrograms {
		file := filepath.Join(benchPrograms, program.file+".wasm")
		ours, want, done, err := meteredCaller(file, program.n)
		if err != nil {
			return err
		}
		pair, err := p.compare(n, program.file+", "+name, file, program.n, want, ours)
		done()
		if err != nil {
			return err
		}
		pair.print()
		all = append(all, pair)
	}
	fmt.Printf("%-34s x%.2f\n", fmt.Sprintf("geometric mean of %d, %s", len(all), name), geomean(all))
	return nil
}

// peer is a process that calls programs on another engine and times each call.
type peer struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startPeer(name string, args ...string) (*peer, error) {
	p := &peer{command: exec.Command(name, args...)}
	p.command.Stderr = os.Stderr
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.command.Start()
}

func startV8(string) (*peer, error) { return startPeer("node", "bench/v8.js") }

func startWasmtime(dir string) (*peer, error) {
	program := filepath.Join(dir, "wasmtime")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "bench/wasmtime"
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("it can't be built here (it needs a C compiler): %w: %s", err, strings.TrimSpace(string(text)))
	}
	return startPeer(program)
}

func (p *peer) stop() {
	p.in.Close()
	_ = p.command.Wait()
}

func (p *peer) ask(line string) (string, error) {
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return "", err
	}
	answer, err := p.out.ReadString('\n')
	if why, failed := strings.CutPrefix(answer, "error "); err == nil && failed {
		err = fmt.Errorf("%s: %s", line, strings.TrimSpace(why))
	}
	return strings.TrimSpace(answer), err
}

func (p *peer) call(n uint64) (took time.Duration, result float64, err error) {
	answer, err := p.ask("run " + strconv.FormatUint(n, 10))
	if err == nil {
		_, err = fmt.Sscan(answer, (*int64)(&took), &result)
	}
	return took, result, err
}

// warm is how often a program is called first: an engine may compile what is hot
// once more, and better.
const warm = 5

func (p *peer) compare(n int, name, file string, arg uint64, want float64, ours func() error) (pairs, error) {
	if _, err := p.ask("load " + file); err != nil {
		return pairs{}, err
	}
	for i := range warm {
		_, got, err := p.call(arg)
		if err == nil && i == 0 && got != want { // later calls begin with what this one left
			err = fmt.Errorf("got %v, want %v", got, want)
		}
		if err != nil {
			return pairs{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return measure(name, n, clock(ours), func() (time.Duration, error) {
		took, _, err := p.call(arg)
		return took, err
	})
}
