package partition

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	RunInitIfAsked()
	os.Exit(m.Run())
}

// ran is what became of a program in a partition.
type ran struct {
	End
	out string
}

// run runs a shell script in a partition of the host's files.
func run(t testing.TB, script string, change func(*Spec)) ran {
	t.Helper()
	spec := Spec{
		Argv: []string{"sh", "-c", script}, Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin", "HOME=" + Home}, UID: 1000, GID: 1000,
		Limits: Limits{Memory: 256 << 20, Tasks: 200, OpenFiles: 1024},
	}
	if change != nil {
		change(&spec)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	spec.Stdin, spec.Stdout, spec.Stderr = null, w, w
	c, err := Start(t.Context(), spec)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&out, r)
		r.Close()
	}()
	e, err := c.Wait()
	<-done
	if err != nil {
		t.Fatalf("%v; it said %q", err, out.String())
	}
	return ran{e, out.String()}
}

func TestRuns(t *testing.T) {
	start := time.Now()
	r := run(t, "echo hello; id; hostname; cat /proc/uptime; ls /; ls /proc | head -50; exit 7", nil)
	t.Logf("%v\n%s", time.Since(start), r.out)
	if r.Code != 7 || r.Signal != 0 || !strings.HasPrefix(r.out, "hello\nuid=1000(unit)") {
		t.Errorf("got %+v", r)
	}
}
