//go:build amd64 || arm64

package cell

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestObserve: each call that names a file of the caller's is told, with what it
// needs, and made then; what is the cell's own is not.
func TestObserve(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"read", "gone", "old"} {
		if err := os.WriteFile(dir+"/"+name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("read", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]string{}
	s := shell("cd /data && cat link && echo x > new && rm gone && mv old moved && mkdir sub && echo y > sub/z && ls . && echo own > /tmp/t && test ! -e none && chmod u+s read || exit 7")
	s.Mounts = []Mount{{File: file(t, dir), Target: "/data", Read: true, Write: true, Delete: true, Exec: true}}
	s.Observe = func(n Seen) {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range []struct {
			on   bool
			text string
		}{{n.Read, "r"}, {n.Write, "w"}, {n.Delete, "d"}, {n.Folder, "/"}, {n.New, "+"}} {
			if f.on && !strings.Contains(seen[n.Path], f.text) {
				seen[n.Path] += f.text
			}
		}
	}
	end, out := run(t, s)
	exits(t, end, out, 7) // setting the bit that lends is refused all the same
	for path, want := range map[string]string{
		"/data/read": "r", "/data/new": "w+", "/data/gone": "d", "/data/old": "d", "/data/moved": "w+", "/data/sub": "w+", "/data/sub/z": "w+", "/data": "r/",
	} {
		for _, c := range want {
			if !strings.ContainsRune(seen[path], c) {
				t.Errorf("%s: got %q, want %q", path, seen[path], want)
			}
		}
	}
	if strings.Contains(seen["/data/gone"], "w") || strings.Contains(seen["/data/new"], "d") {
		t.Errorf("more than was needed: %v", seen)
	}
	for path := range seen {
		if !strings.HasPrefix(path, "/data") && !HostShows(path) {
			t.Errorf("told of %s: %v", path, seen)
		}
	}
	if slices.Contains(end.Probing, "ioctl") {
		t.Errorf("probing: %v", end.Probing)
	}
}
