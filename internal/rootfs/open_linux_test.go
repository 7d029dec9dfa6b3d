package rootfs

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ocireg "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// packed are the same layers as tar, tar+gzip and tar+zstd.
func packed(t testing.TB, b []byte, how string) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	kind := types.OCIUncompressedLayer
	switch how {
	case "tar":
		return tarLayer(b)
	case "gzip":
		kind = types.OCILayer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
	case "zstd":
		kind = types.OCILayerZStd
		w, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(b)
		_ = w.Close()
	}
	return diffed{static.NewLayer(out.Bytes(), kind), tarLayer(b)}
}

// diffed is a layer whose diff id isn't its digest.
type diffed struct {
	v1.Layer
	plain v1.Layer
}

func (d diffed) DiffID() (v1.Hash, error)             { return d.plain.DiffID() }
func (d diffed) Uncompressed() (io.ReadCloser, error) { return d.plain.Uncompressed() }

// sample has three layers, and what they make.
func sample(t testing.TB) (v1.Image, string) {
	t.Helper()
	base := tarOf(t, dir("bin"), moded(program("bin/sh", "#!shell"), 0o4755), link("sh", "bin/sh"), dir("etc"), moded(file("etc/shadow", "s"), 0), file("etc/passwd", "p"), hard("etc/p2", "etc/passwd"))
	middle := tarOf(t, file("etc/.wh.passwd", ""), moded(dir("ro"), 0o555), file("ro/f", "x"), special("dev/null", '3', 1, 3))
	top := tarOf(t, file("lib/.wh..wh..opq", ""), file("sh2", "2"), moded(dir("./"), 0o711))
	return imageOf(t, packed(t, base, "gzip"), packed(t, middle, "zstd"), packed(t, top, "tar")),
		"bin/ bin/sh=#!shell dev/ etc/ etc/p2=p etc/shadow=s lib/ ro/ ro/f=x sh->bin/sh sh2=2"
}

// TestSources: one image comes out of everything that can hold it, as the same tree.
func TestSources(t *testing.T) {
	im, want := sample(t)
	want = strings.Replace(want, " lib/", "", 1) // whiteouts of nothing make nothing
	at := t.TempDir()
	refs := map[string]string{
		"layout":                   "oci:" + writeLayout(t, filepath.Join(at, "layout"), im),
		"a layout's tag":           "oci:" + filepath.Join(at, "layout") + ":v1",
		"a layout by its path":     filepath.Join(at, "layout"),
		"a layout's digest":        "oci:" + filepath.Join(at, "layout") + "@" + digestIn(t, im),
		"docker archive":           "docker-archive:" + writeDocker(t, filepath.Join(at, "docker.tar"), im),
		"docker archive's tag":     "docker-archive:" + filepath.Join(at, "docker.tar") + ":example.com/app:v1",
		"docker archive by a path": filepath.Join(at, "docker.tar"),
		"packed docker archive":    gzipFile(t, filepath.Join(at, "docker.tar")),
		"OCI archive":              "oci-archive:" + tarDir(t, filepath.Join(at, "layout"), filepath.Join(at, "oci.tar")),
		"OCI archive's tag":        "oci-archive:" + filepath.Join(at, "oci.tar") + ":v1",
		"OCI archive by its path":  filepath.Join(at, "oci.tar"),
		"registry":                 "docker://" + push(t, im),
	}
	ids := map[string]string{}
	for _, what := range keysOf(refs) {
		o := options(t) // each unpacks for itself
		r := open(t, refs[what], o)
		if got := shape(t, r); got != want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
		ids[r.ID.String()] = what
		if c := r.Config; !slices.Equal(c.Env, []string{"PATH=/bin:/usr/bin"}) || c.User != "app" || c.WorkingDir != "/srv" || c.Entrypoint[0] != "/init" || c.Cmd[0] != "sh" {
			t.Errorf("%s: config: got %+v", what, c)
		}
		if r.LeftOut != (LeftOut{Devices: 1}) {
			t.Errorf("%s: left out: got %+v", what, r.LeftOut)
		}
		nothingLeft(t, o)
		if id, err := r.Again(context.Background()); err != nil || id != r.ID {
			t.Errorf("%s: again: got %v (%v), want %v", what, id, err, r.ID)
		}
	}
	if len(ids) != 1 {
		t.Errorf("got %d image ids, want 1: %v", len(ids), ids)
	}
}

func writeLayout(t testing.TB, path string, images ...v1.Image) string {
	t.Helper()
	p, err := ocilayout.Write(path, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for i, im := range images {
		if err := p.AppendImage(im, ocilayout.WithAnnotations(map[string]string{refName: "v" + string(rune('1'+i))})); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func digestIn(t testing.TB, im v1.Image) string {
	t.Helper()
	d, err := im.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func writeDocker(t testing.TB, path string, im v1.Image) string {
	t.Helper()
	tag, err := name.NewTag("example.com/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, tag, im); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return writeFile(t, path+".gz", out.Bytes())
}

func writeFile(t testing.TB, path string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// tarDir archives a directory, as `tar -cf FILE -C DIR .` does.
func tarDir(t testing.TB, from, to string) string {
	t.Helper()
	var all []tarEntry
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, file("./"+strings.TrimPrefix(path, from+"/"), string(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, to, tarOf(t, all...))
}

// serve is a registry on this machine, and its address.
func serve(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	h := http.Handler(ocireg.New(ocireg.Logger(log.New(io.Discard, "", 0))))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// push puts an image into a new registry and gives its reference.
func push(t testing.TB, im v1.Image) string {
	t.Helper()
	return pushTo(t, serve(t, nil), im)
}

func pushTo(t testing.TB, host string, im v1.Image) string {
	t.Helper()
	tag, err := name.NewTag(host + "/some/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, im); err != nil {
		t.Fatal(err)
	}
	return host + "/some/app@" + digestIn(t, im)
}

// TestPlatforms: of an index the one for the platform is taken, nested ones too, and
// no other.
func TestPlatforms(t *testing.T) {
	add := func(ix v1.ImageIndex, im mutate.Appendable, p *v1.Platform) v1.ImageIndex {
		return mutate.AppendManifests(ix, mutate.IndexAddendum{Add: im, Descriptor: v1.Descriptor{Platform: p}})
	}
	one := func(arch, data string) v1.Image { return imageFor(t, arch, tarLayer(tarOf(t, file("f", data)))) }
	ix := add(empty.Index, one("arm64", "arm"), &v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"})
	ix = add(ix, one("amd64", "amd"), &v1.Platform{OS: "linux", Architecture: "amd64"})
	ix = add(ix, one("amd64", "v3"), &v1.Platform{OS: "linux", Architecture: "amd64", Variant: "v3"})
	ix = add(ix, one("unknown", "proof"), &v1.Platform{OS: "unknown", Architecture: "unknown"})
	path := filepath.Join(t.TempDir(), "layout")
	p, err := ocilayout.Write(path, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AppendIndex(add(empty.Index, ix, nil)); err != nil {
		t.Fatal(err)
	}
	for platform, want := range map[string]string{"linux/amd64": "f=amd", "linux/arm64": "f=arm", "linux/amd64/v3": "f=v3", "linux/arm64/v8": "f=arm"} {
		o := options(t)
		o.Platform = platform
		if got := shape(t, open(t, "oci:"+path, o)); got != want {
			t.Errorf("%s: got %s, want %s", platform, got, want)
		}
	}
	for platform, want := range map[string]string{"linux/riscv64": "no image for linux/riscv64", "linux/arm64/v9": "no image for", "windows/amd64": "platform", "linux": "platform", "unknown/unknown": "platform"} {
		o := options(t)
		o.Platform = platform
		if _, err := Open(context.Background(), "oci:"+path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", platform, err, want)
		}
	}
}

// TestSeveralImages have to be told apart.
func TestSeveralImages(t *testing.T) {
	one := func(data string) v1.Image { return imageOf(t, tarLayer(tarOf(t, file("f", data)))) }
	path := writeLayout(t, filepath.Join(t.TempDir(), "layout"), one("1"), one("2"))
	o := options(t)
	if got := shape(t, open(t, "oci:"+path+":v2", o)); got != "f=2" {
		t.Errorf("got %s", got)
	}
	for ref, want := range map[string]string{"oci:" + path: `name one of ["v1" "v2"]`, "oci:" + path + ":v3": `has no image "v3"`, path + ":v1": "no such file", "oci:": "no path", "": "empty", "docker://x:y:z": "docker://", "oci:" + path + "@sha256:12": "no manifest"} {
		if _, err := Open(context.Background(), ref, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", ref, err, want)
		}
	}
}
