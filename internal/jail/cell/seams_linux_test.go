//go:build amd64 || arm64

package cell

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestNetworkSeam(t *testing.T) {
	s := shell("exit 0")
	s.Network = []byte("hello")
	c, r := start(t, s)
	files := c.Network()
	if len(files) != 1 {
		t.Fatalf("got %d descriptors", len(files))
	}
	b, err := io.ReadAll(files[0])
	files[0].Close()
	if err != nil || string(b) != "hello" {
		t.Errorf("got %q, %v", b, err)
	}
	io.Copy(io.Discard, r)

	s.Network = []byte("fail")
	if c, err := Start(context.Background(), s); err == nil {
		c.Wait()
		t.Error("it was started")
	} else if !strings.Contains(err.Error(), "as told") {
		t.Errorf("got %v", err)
	}
}

func TestExecSeam(t *testing.T) {
	s := shell("umask; cp /bin/true /tmp/x; /tmp/x || echo refused; exit 0")
	s.Exec = []byte("yes")
	end, out := run(t, s)
	exits(t, end, out, 0)
	if !strings.HasPrefix(out, "0777\n") {
		t.Errorf("got %q", out)
	}
	s.Exec = []byte("fail")
	if c, err := Start(context.Background(), s); err == nil {
		c.Wait()
		t.Error("it was started")
	} else if !strings.Contains(err.Error(), "as told") {
		t.Errorf("got %v", err)
	}
}

// While a cell is held nothing of the unit runs, and its view can be seen from
// outside.
func TestHold(t *testing.T) {
	dir := folder(t)
	s := shell("touch /data/ran; exit 0")
	s.Mounts = []Mount{{File: file(t, dir), Target: "/data", Read: true, Write: true}}
	held := 0
	s.Hold = func(pid int) error {
		held = pid
		info, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/mountinfo")
		if err != nil || !strings.Contains(string(info), " /data ") || strings.Contains(string(info), " /sys/fs/cgroup") {
			t.Errorf("got %s, %v", info, err)
		}
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/root/data"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Error("it ran")
		}
		return nil
	}
	end, out := run(t, s)
	exits(t, end, out, 0)
	if _, err := os.Stat(dir + "/ran"); err != nil || held == 0 {
		t.Error("it didn't run", err)
	}
	os.Remove(dir + "/ran")
	mine := errors.New("mine")
	s.Hold = func(int) error { return mine }
	if c, err := Start(context.Background(), s); !errors.Is(err, mine) {
		if c != nil {
			c.Wait()
		}
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("it ran")
	}
}
