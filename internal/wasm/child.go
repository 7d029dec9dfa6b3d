package wasm

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// childName is the argv[0] by which the child knows what it is for. It isn't an
// argument, so no command line of a user can be taken for it.
const childName = "joulebox-wasm-compile"

// childHook says that this program calls MaybeRunChild. Without it a
// re-execution would start the program itself once more.
var childHook bool

// MaybeRunChild turns this process into a compiler of one module if that is what
// it was started for, and doesn't return then. It must be the first call of main,
// and of TestMain where an Engine is tested.
//
// The child has no key, no environment, no descriptor but its three pipes, and
// hard limits on time and memory. It writes to one directory that is its own.
func MaybeRunChild() {
	childHook = true
	if len(os.Args) == 1 && os.Args[0] == childName {
		os.Exit(childMain(os.Stdin, os.Stdout, os.Stderr))
	}
}

// separator stands between job and image on the child's stdin.
var separator = []byte("\n")

// Exit codes of the child. Any other ending is a limit or a fault.
const (
	childDone    = 0
	childRefused = 3
	childFailed  = 4
)

// childMain reads a job and an image and builds the entry in the working
// directory. A refusal is written to stdout.
func childMain(stdin io.Reader, stdout, stderr io.Writer) int {
	err := childBuild(stdin)
	var refused *RefusedError
	switch {
	case err == nil:
		return childDone
	case errors.As(err, &refused):
		if json.MarshalWrite(stdout, refused) == nil {
			return childRefused
		}
	}
	fmt.Fprintln(stderr, err)
	return childFailed
}

func childBuild(stdin io.Reader) error {
	closeInherited()
	dec := jsontext.NewDecoder(stdin)
	var job buildJob
	if err := json.UnmarshalDecode(dec, &job); err != nil {
		return err
	}
	image, err := io.ReadAll(io.MultiReader(bytes.NewReader(dec.UnreadBuffer()), stdin))
	if err != nil {
		return err
	}
	if err := limitSelf(job); err != nil {
		return err
	}
	// Collect early rather than hit the hard limit with garbage.
	debug.SetMemoryLimit(int64(job.MemoryBytes / 4 * 3))
	return build(".", bytes.TrimPrefix(image, separator), job)
}

// buildInChild runs build in a child process and says which limit ended it.
func buildInChild(ctx context.Context, work string, image []byte, job buildJob, limits CompileLimits) error {
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	header, err := json.Marshal(job)
	if err != nil {
		return err
	}
	exe, err := selfPath()
	if err != nil {
		return err
	}
	var stdout, stderr capped
	cmd := exec.CommandContext(ctx, exe)
	cmd.Args = []string{childName}
	cmd.Dir = work
	cmd.Env = []string{"GOTRACEBACK=none"}
	cmd.Stdin = io.MultiReader(bytes.NewReader(header), bytes.NewReader(separator), bytes.NewReader(image))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = time.Second
	return childVerdict(ctx, limits, runLocked(cmd), stdout.Bytes(), stderr.Bytes())
}

// runLocked keeps its thread for as long as the child lives: the child's death
// signal comes when the thread that started it ends.
func runLocked(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func childVerdict(ctx context.Context, limits CompileLimits, err error, stdout, stderr []byte) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return refuse(RefusedCompileTime, "compiling took longer than %v", limits.Time)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("wasm engine: compiler process: %w", err)
	}
	refused := &RefusedError{}
	switch {
	case exit.ExitCode() == childRefused && json.Unmarshal(stdout, refused) == nil:
		return refused
	// The kernel ends it by time that it counts in ticks, and reports a finer count,
	// which may be a good deal lower on a busy machine.
	case exit.ExitCode() < 0 && exit.UserTime()+exit.SystemTime() >= limits.CPU/2:
		return refuse(RefusedCompileTime, "compiling took more than %v of CPU time", limits.CPU)
	case outOfMemory(stderr):
		return refuse(RefusedCompileMemory, "compiling took more than %d bytes", limits.MemoryBytes)
	case exit.ExitCode() < 0 && len(stderr) == 0: // a signal that we didn't send
		return refuse(RefusedCompileMemory, "compiling was ended by the system: %v", exit)
	}
	return &InternalError{fmt.Errorf("compiler process: %v: %s", err, firstLine(stderr))}
}

// outOfMemory finds what the Go runtime says when the kernel gives it no more.
func outOfMemory(stderr []byte) bool {
	for _, text := range []string{"out of memory", "cannot allocate memory", "failed to create new OS thread"} {
		if bytes.Contains(stderr, []byte(text)) {
			return true
		}
	}
	return false
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

// capped keeps the first bytes that are written to it: a child's output is
// nothing to run out of memory by.
type capped struct{ bytes.Buffer }

const cappedBytes = 64 << 10

func (c *capped) Write(p []byte) (int, error) {
	if room := cappedBytes - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
