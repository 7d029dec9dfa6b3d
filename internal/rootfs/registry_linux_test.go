package rootfs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestPulledOnce: an image that was unpacked needs no registry any more.
func TestPulledOnce(t *testing.T) {
	var asked atomic.Int64
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); h.ServeHTTP(w, r) })
	})
	im, _ := sample(t)
	ref, o := "docker://"+pushTo(t, host, im), options(t)
	first := open(t, ref, o)
	before := asked.Load()
	second := open(t, ref, o)
	if asked.Load() != before || second.ID != first.ID || second.Config.User != "app" {
		t.Errorf("got %d requests more, %v, %+v", asked.Load()-before, second.ID, second.Config)
	}
	if second.Reference != strings.TrimPrefix(ref, "docker://") {
		t.Errorf("got reference %s, want %s", second.Reference, ref)
	}
	// A document that was changed in the store is asked for again.
	docs, err := filepath.Glob(filepath.Join(o.Store, documentsDir, "*"))
	if err != nil || len(docs) != 2 {
		t.Fatalf("got documents %v (%v), want manifest and config", docs, err)
	}
	for _, d := range docs {
		writeFile(t, d, []byte("{}"))
	}
	if third := open(t, ref, o); third.ID != first.ID || asked.Load() == before {
		t.Errorf("got %v after %d requests", third.ID, asked.Load()-before)
	}
}

func TestTags(t *testing.T) {
	im, _ := sample(t)
	pinned := push(t, im)
	tag := "docker://" + strings.Split(pinned, "@")[0] + ":v1"
	o := options(t)
	_, err := Open(context.Background(), tag, o)
	if te := (*TagError)(nil); !errors.As(err, &te) {
		t.Errorf("got %v, want a tag refused", err)
	}
	if _, err := Open(context.Background(), strings.TrimSuffix(tag, ":v1"), o); !strings.Contains(fmt.Sprint(err), "names a tag") {
		t.Errorf("got %v, want it refused", err)
	}
	o.Resolve = true
	if r := open(t, tag, o); r.Reference != pinned {
		t.Errorf("got %s, want %s", r.Reference, pinned)
	}
	if r := open(t, "docker://"+strings.Replace(pinned, "@", ":other@", 1), o); r.Reference != pinned {
		t.Errorf("a tag beside the digest: got %s, want %s", r.Reference, pinned)
	}
	for ref, want := range map[string]string{
		"docker://" + pinned + "0":                                                          "digest",
		"docker://127.0.0.1:1/UPPER@sha256:" + strings.Repeat("0", 64):                      "repository",
		"docker://127.0.0.1:1/a/../b@sha256:" + strings.Repeat("0", 64):                     "repository",
		"docker://" + strings.Split(pinned, "@")[0] + "@sha512:" + strings.Repeat("0", 128): "digest",
		"docker://": "docker://",
		tag + "x":   "MANIFEST_UNKNOWN",
	} {
		fresh := options(t)
		fresh.Resolve = true
		refused(t, ref, ref, fresh, want)
	}
}

// TestRegistryLies: what a registry answers is held against the digest.
func TestRegistryLies(t *testing.T) {
	im, _ := sample(t)
	layers, err := im.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	answer := func(b string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, b) }
	}
	for name, c := range map[string]struct {
		part string // of the path that is answered otherwise
		with http.HandlerFunc
		want string
	}{
		"another manifest":    {"/manifests/sha256:", answer(`{"schemaVersion":2}`), "digest: got"},
		"an endless manifest": {"/manifests/sha256:", endless, "document bytes"},
		"another layer":       {"/blobs/" + layer.String(), answer("hello"), "size: got 5"},
		"an endless layer":    {"/blobs/" + layer.String(), endless, "size: got more than"},
		"no layer":            {"/blobs/" + layer.String(), http.NotFound, "404"},
		"a layer cut off": {"/blobs/" + layer.String(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "x")
			panic(http.ErrAbortHandler)
		}, "EOF"},
		"to an inner address":  {"/blobs/" + layer.String(), redirect("https://169.254.169.254/latest"), "an address of this network"},
		"to this machine":      {"/blobs/" + layer.String(), redirect("https://127.0.0.1:1/"), "an address of this network"},
		"to a private address": {"/blobs/" + layer.String(), redirect("https://10.0.0.1/"), "an address of this network"},
		"to http":              {"/blobs/" + layer.String(), redirect("http://example.invalid/"), "http without TLS"},
		"to a file":            {"/blobs/" + layer.String(), redirect("file:///etc/passwd"), "http without TLS"},
		"in circles":           {"/blobs/" + layer.String(), func(w http.ResponseWriter, r *http.Request) { redirect("http://"+r.Host+r.URL.Path)(w, r) }, "redirected 5 times"},
		"a realm elsewhere": {"/v2/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://169.254.169.254/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, "realm"},
	} {
		lie := false
		host := serve(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if lie && strings.Contains(r.URL.Path, c.part) {
					c.with(w, r)
					return
				}
				h.ServeHTTP(w, r)
			})
		})
		ref := "docker://" + pushTo(t, host, im)
		lie = true
		refused(t, name, ref, options(t), c.want)
	}
}

// TestBrokenConnections: a layer comes in parts, if it must.
func TestBrokenConnections(t *testing.T) {
	im, want := sample(t)
	for name, ranges := range map[string]bool{"from where it broke": true, "from the start": false} {
		var cut atomic.Bool
		var cuts atomic.Int64
		host := serve(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !cut.Load() || !strings.Contains(r.URL.Path, "/blobs/") {
					h.ServeHTTP(w, r)
					return
				}
				part := r.Header.Get("Range")
				r.Header.Del("Range")
				whole := httptest.NewRecorder()
				h.ServeHTTP(whole, r)
				if ranges && part != "" {
					r.Header.Set("Range", part)
				}
				answer := httptest.NewRecorder()
				http.ServeContent(answer, r, "", time.Time{}, bytes.NewReader(whole.Body.Bytes()))
				maps.Copy(w.Header(), answer.Header())
				w.WriteHeader(answer.Code)
				if part == "" {
					cuts.Add(1)
					_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write(answer.Body.Bytes())
			})
		})
		ref := "docker://" + pushTo(t, host, im)
		cut.Store(true)
		if got := shape(t, open(t, ref, options(t))); got != strings.Replace(want, " lib/", "", 1) || cuts.Load() != 4 {
			t.Errorf("%s: got %s after %d cuts", name, got, cuts.Load())
		}
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}

func endless(w http.ResponseWriter, r *http.Request) {
	buf := make([]byte, 64<<10)
	for range 4096 { // 256 MiB: far over all limits here
		if _, err := w.Write(buf); err != nil {
			return
		}
	}
}

// TestInTheClear: a registry that isn't on this machine is spoken to with TLS only.
func TestInTheClear(t *testing.T) {
	for _, host := range []string{"10.1.2.3", "registry.local", "[fe80::1]", "localhost.example.com", "127.0.0.1.example.com"} {
		req := httptest.NewRequest(http.MethodGet, "http://"+host+"/v2/", nil)
		if _, err := (onlySafe{unreached{t}}).RoundTrip(req); !errors.Is(err, errClear) {
			t.Errorf("%s: got %v, want it refused", host, err)
		}
	}
}

type unreached struct{ t *testing.T }

func (u unreached) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("%s was asked", r.URL)
	return nil, errors.ErrUnsupported
}

// TestHungRegistry: whoever waits can stop waiting.
func TestHungRegistry(t *testing.T) {
	im, _ := sample(t)
	hang := false
	release := make(chan struct{})
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hang && strings.Contains(r.URL.Path, "/blobs/") {
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-release:
				}
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	defer close(release)
	ref, o := "docker://"+pushTo(t, host, im), options(t)
	hang = true
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if r, err := Open(ctx, ref, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", r, err)
	}
	nothingLeft(t, o)
}

// TestCredentials are used only if that was asked for, and given only to the
// registry.
func TestCredentials(t *testing.T) {
	im, _ := sample(t)
	closed := false
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, pass, _ := r.BasicAuth(); closed && (user != "me" || pass != "secret") {
				w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	ref := "docker://" + pushTo(t, host, im)
	closed = true
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", filepath.Join(home, ".docker"))
	if err := os.MkdirAll(filepath.Join(home, ".docker"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".docker/config.json"), []byte(`{"auths":{"`+host+`":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:secret"))+`"}}}`))
	refused(t, "without", ref, options(t), "401")
	o := options(t)
	o.Auth = true
	open(t, ref, o)
}
