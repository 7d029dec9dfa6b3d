package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent times run_wasm of a unit that does nothing, warm, as a client over stdio
// sees it, against the same unit in this process: what lies between is the
// protocol, the two processes, and where the server keeps its units. Both keep
// every record on the same disk.
func agent(n int) error {
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	inside, _, done, err := attestedRun(filepath.Join(dir, "inside"))
	if err != nil {
		return err
	}
	defer done()
	header("run_wasm of an empty unit at an MCP client, warm (p99 in the second line)", "at the client", "in-process")
	for _, place := range []string{"in-process", "jailed"} {
		if err := agentPlace(n, dir, place, inside); err != nil {
			return err
		}
	}
	return nil
}

func agentPlace(n int, dir, place string, inside func() error) error {
	call, hangUp, err := agentCall(filepath.Join(dir, place), "--host-process", place)
	if err != nil {
		return err
	}
	defer hangUp()
	for range 20 { // pools fill, compiled modules are kept
		if err := call(); err != nil {
			return err
		}
	}
	p, err := measure("units "+place, n*runs, clock(call), clock(inside))
	if err != nil {
		return err
	}
	p.print()
	a, b := p99(p.ours), p99(p.peer)
	fmt.Printf("%-34s %12v %-17s %12v\n", fmt.Sprintf("  p99 of %d; median +%v", len(p.ours), median(p.ours)-median(p.peer)), a, "", b)
	return nil
}

func p99(d []time.Duration) time.Duration { return short(sorted(d)[len(d)*99/100]) }

// agentCall is one call over stdio to a server of its own.
func agentCall(state string, flags ...string) (call func() error, done func(), err error) {
	joulebox, err := filepath.Abs("bin/joulebox")
	if err != nil {
		return nil, nil, err
	}
	server := exec.Command(joulebox, append([]string{"mcp"}, flags...)...)
	server.Env = append(os.Environ(), "JOULEBOX_STATE="+state, "XDG_CACHE_HOME="+state+"-cache")
	server.Stderr = os.Stderr
	ctx := context.Background()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: server}, nil)
	if err != nil {
		return nil, nil, err
	}
	args := map[string]any{"wasm_base64": base64.StdEncoding.EncodeToString(empty)}
	return func() error {
		r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "run_wasm", Arguments: args})
		if err == nil && r.IsError {
			err = errors.New("run_wasm was refused")
		}
		return err
	}, func() { _ = session.Close() }, nil
}
