package fetch

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/evidence"
)

// mirror is a server on this machine in the vendors' place.
func mirror(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	return &Client{Mirror: u}
}

func TestFetch(t *testing.T) {
	var asked []string
	c := mirror(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Header().Set("Chain", "-----BEGIN%20X-----%0A")
		w.Write([]byte("content of " + r.URL.Path))
	})
	dir := filepath.Join(t.TempDir(), "made")
	sources := []evidence.Source{
		{File: "one", URL: "https://vendor.example/a/b?c=d&e=f", Header: "Chain", HeaderFile: "chain"},
		{File: "two", URL: "https://other.example/g", Header: "Absent", HeaderFile: "absent"},
	}
	for range 2 { // the second time over what is there
		names, err := c.Fetch(t.Context(), sources, dir)
		if err != nil || !slices.Equal(names, []string{"one", "chain", "two"}) {
			t.Fatalf("got %v, %v", names, err)
		}
	}
	if want := []string{"/base/a/b?c=d&e=f", "/base/g"}; !slices.Equal(asked[:2], want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	for name, want := range map[string]string{"one": "content of /base/a/b", "chain": "-----BEGIN X-----\n", "two": "content of /base/g"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("got %v, want three files and nothing left over", files)
	}
}

// A vendor that doesn't answer as it should leaves the folder as it was.
func TestFetchRefuses(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("x")) }))
	defer elsewhere.Close()
	for name, x := range map[string]struct {
		answer http.HandlerFunc
		words  string
	}{
		"not there": {http.NotFound, "404"},
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, "0 bytes"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			for range maxAnswer/(1<<20) + 1 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, "want 1 to"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "redirected elsewhere"},
		"a header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Chain", "%zz")
			w.Write([]byte("x"))
		}, "header"},
	} {
		c := mirror(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/good") {
				w.Write([]byte("good"))
				return
			}
			x.answer(w, r)
		})
		dir := t.TempDir()
		_, err := c.Fetch(t.Context(), []evidence.Source{{File: "good", URL: "https://vendor.example/good"}, {File: "bad", URL: "https://vendor.example/bad", Header: "Chain", HeaderFile: "chain"}}, dir)
		if err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: got %v, want an error with %q", name, err, x.words)
		}
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%s: left %v", name, files)
		}
	}
	var plain Client
	if _, err := plain.Fetch(t.Context(), []evidence.Source{{File: "x", URL: "http://127.0.0.1/x"}}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("plain http: got %v", err)
	}
}
