//go:build amd64 || arm64

package cell

import (
	"context"
	"io"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	RunInitIfAsked(Inside{})
	os.Exit(m.Run())
}

// run runs a shell command in a cell.
func run(t *testing.T, s Spec, script string) (End, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Path, s.Argv = "/bin/sh", []string{"sh", "-c", script}
	s.Env = append(s.Env, append(Env, "PATH=/usr/bin:/bin")...)
	s.Stdout, s.Stderr = w, w
	c, err := Start(context.Background(), s)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return end, string(out)
}

func TestShell(t *testing.T) {
	end, out := run(t, Spec{UID: 1000, GID: 1000}, os.Getenv("CELL_SCRIPT")+"\nexit 3")
	t.Logf("%+v %s", end, out)
	if end.Code == nil || *end.Code != 3 {
		t.Fatalf("%+v", end)
	}
}
