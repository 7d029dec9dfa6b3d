package rootfs

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// The entries of archives.
func file(name, data string) tarEntry { return tarEntry{tar.Header{Name: name, Mode: 0o644}, data} }
func program(name, data string) tarEntry {
	return tarEntry{tar.Header{Name: name, Mode: 0o755}, data}
}
func dir(name string) tarEntry {
	return tarEntry{tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir}, ""}
}
func link(name, target string) tarEntry {
	return tarEntry{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o777}, ""}
}
func hard(name, target string) tarEntry {
	return tarEntry{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeLink}, ""}
}
func special(name string, kind byte, major, minor int64) tarEntry {
	return tarEntry{tar.Header{Name: name, Typeflag: kind, Devmajor: major, Devminor: minor, Mode: 0o600}, ""}
}
func moded(e tarEntry, mode int64) tarEntry { e.Mode = mode; return e }

type tarEntry struct {
	tar.Header
	data string
}

func tarOf(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.Size = int64(len(e.data))
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tarLayer is a layer that isn't packed; its digest is its diff id.
func tarLayer(b []byte) v1.Layer { return static.NewLayer(b, types.OCIUncompressedLayer) }

// imageOf is an image for this machine.
func imageOf(t testing.TB, layers ...v1.Layer) v1.Image {
	t.Helper()
	return imageFor(t, runtime.GOARCH, layers...)
}

func imageFor(t testing.TB, arch string, layers ...v1.Layer) v1.Image {
	t.Helper()
	im := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	im, err := mutate.ConfigFile(im, &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{
		Env: []string{"PATH=/bin:/usr/bin"}, Cmd: []string{"sh"}, Entrypoint: []string{"/init"}, WorkingDir: "/srv", User: "app",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if im, err = mutate.AppendLayers(im, layers...); err != nil {
		t.Fatal(err)
	}
	return im
}

func options(t testing.TB) Options {
	t.Helper()
	store := filepath.Join(t.TempDir(), "store")
	t.Cleanup(func() { _ = removeTree(store) })
	return Options{Store: store}
}

func open(t testing.TB, ref string, o Options) *Root {
	t.Helper()
	r, err := Open(context.Background(), ref, o)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	t.Cleanup(func() { _ = r.Close() })
	checkOnDisk(t, r)
	return r
}

// checkOnDisk wants what is on the disk to be what the image id says, as another
// reading of it finds.
func checkOnDisk(t testing.TB, r *Root) {
	t.Helper()
	if id, err := r.Image.ID(); err != nil || id != r.ID {
		t.Errorf("image id: got %v (%v), want %v", r.ID, err, id)
	}
	var found []unit.Entry
	err := filepath.WalkDir(r.Path, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		e := unit.Entry{Path: cmp.Or(strings.TrimPrefix(name, r.Path), "/"), Type: unit.File}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e.Mode = uint32(info.Mode().Perm())
		for bit, mode := range map[os.FileMode]uint32{os.ModeSetuid: 0o4000, os.ModeSetgid: 0o2000, os.ModeSticky: 0o1000} {
			if info.Mode()&bit != 0 {
				e.Mode |= mode
			}
		}
		switch {
		case d.IsDir():
			e.Type = unit.Dir
		case d.Type() == os.ModeSymlink:
			e.Type = unit.Link
			e.Target, err = os.Readlink(name)
		default:
			var b []byte
			b, err = readLent(name)
			e.B3 = joulebox.Sum(b)
		}
		found = append(found, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	im, err := unit.NewTree(found)
	if err != nil {
		t.Fatal(err)
	}
	if id, _ := im.ID(); id != r.ID {
		t.Errorf("on the disk: got %v, want %v:\n%v\n%v", id, r.ID, im.Entries, r.Image.Entries)
	}
}

// shape is a tree as text: "a/ b=data c->target".
func shape(t testing.TB, r *Root) string {
	t.Helper()
	var out []string
	for _, e := range r.Image.Entries {
		if e.Path == "/" {
			continue
		}
		switch e.Type {
		case unit.Dir:
			out = append(out, e.Path[1:]+"/")
		case unit.Link:
			out = append(out, e.Path[1:]+"->"+e.Target)
		case unit.File:
			b, err := readLent(r.Path + e.Path)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e.Path[1:]+"="+string(b))
		}
	}
	return strings.Join(out, " ")
}

// readLent reads files too that their owner may not read.
func readLent(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrPermission) {
		return b, err
	}
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	err = os.Chmod(name, 0o400)
	if err == nil {
		b, err = os.ReadFile(name)
	}
	return b, errors.Join(err, os.Chmod(name, info.Mode()))
}

// nothingLeft wants no work in the store, and nothing beside it.
func nothingLeft(t testing.TB, o Options) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(o.Store, tmpDir))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the store: %v (%v)", left, err)
	}
	beside, err := os.ReadDir(filepath.Dir(o.Store))
	if err != nil || len(beside) != 1 {
		t.Errorf("beside the store: %v (%v)", beside, err)
	}
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
