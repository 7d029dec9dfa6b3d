package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/unit"
)

// scripted makes layers of lines, so that a fuzzer needn't find checksums: a kind,
// a name and the rest, and "-" for the next layer.
func scripted(t testing.TB, script string) (layers []entries) {
	t.Helper()
	layers = []entries{nil}
	at := &layers[0]
	for line := range strings.SplitSeq(script, "\n") {
		if line == "-" {
			if len(layers) == 4 {
				return layers
			}
			layers = append(layers, nil)
			at = &layers[len(layers)-1]
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		name, arg, _ := strings.Cut(rest, " ")
		switch kind {
		case "f":
			*at = append(*at, moded(file(name, arg), int64(len(line)*73)))
		case "d":
			*at = append(*at, moded(dir(name), int64(0o700|len(arg)*37)))
		case "l":
			*at = append(*at, link(name, arg))
		case "h":
			*at = append(*at, hard(name, arg))
		case "c":
			*at = append(*at, special(name, '3', int64(len(arg)), 1))
		case "p":
			*at = append(*at, special(name, '6', 0, 0))
		}
	}
	return layers
}

// tryTar is tarOf for entries that may not be written at all.
func tryTar(all entries) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		e.Size = int64(len(e.data))
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if w.WriteHeader(&e.Header) == nil {
			_, _ = io.WriteString(w, e.data)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

// fuzzedLimits keep an input from filling the disk.
var fuzzedLimits = Limits{Bytes: 1 << 20, FileBytes: 1 << 20, Entries: 500, Depth: 20}

// unpackRaw puts layers on the disk as Open would.
func unpackRaw(t *testing.T, store string, layers [][]byte) (*Root, error) {
	t.Helper()
	im := &image{}
	for _, l := range layers {
		im.layers = append(im.layers, layer{size: int64(len(l)), packed: digestOf(l), diffID: plainDigest(l), open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(l)), nil
		}})
	}
	s, err := openStore(store, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.make(context.Background(), func(ctx context.Context, w *work) (*node, LeftOut, error) {
		return im.unpack(ctx, w, newBudget(fuzzedLimits))
	})
	if err != nil {
		return nil, err
	}
	return h.root(), nil
}

// plainDigest is right for what unpacks, so that more than the digest is tried.
func plainDigest(l []byte) digest {
	r, err := unpack(bytes.NewReader(l))
	if err != nil {
		return digestOf(l)
	}
	defer r.Close()
	h := newHashed(io.LimitReader(r, 4<<20))
	_, _ = io.Copy(io.Discard, h)
	return h.digest()
}

// FuzzTrees: whatever layers say, nothing outside is touched, nothing is left of
// what is refused, and what is on the disk is what the image id says.
func FuzzTrees(f *testing.F) {
	for _, s := range []string{
		"d a\nf a/b 1\nl c a\nf c/d 2\nh e a/b", "l a /\nl a/b /OUT\nf a/b/canary x", "f a 1\n-\nf .wh.a\nf a/b 2", "d a\nf a/b\n-\nf a/.wh..wh..opq\nd a\nl a/b ..\n-\nf a/b/b/b x",
		"l a ../../../../../..OUT\n-\nf a/canary evil\nf a/.wh.canary\n-\nf a/.wh..wh..opq", "f a\nh b a\n-\nf .wh.a\nh c b\n-\nd c\nf c/d", "c a 1\np b\nc .wh.a", "l a a\nf a/b", "f ./../a", "d a 7\nf a/.wh..wh.aufs x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		outside := t.TempDir()
		canary := writeFile(t, filepath.Join(outside, "canary"), []byte("mine"))
		store := filepath.Join(t.TempDir(), "store")
		defer removeTree(store)
		var raw [][]byte
		for _, l := range scripted(t, strings.ReplaceAll(script, "OUT", outside)) {
			raw = append(raw, tryTar(l))
		}
		r, err := unpackRaw(t, store, raw)
		if err == nil {
			checkOnDisk(t, r)
			same, err := unpackRaw(t, store, raw)
			if err != nil || same.ID != r.ID {
				t.Errorf("a second time: got %v (%v), want %v", same, err, r.ID)
			}
			r.Close()
		}
		nothingLeft(t, Options{Store: store})
		b, readErr := os.ReadFile(canary)
		left, _ := os.ReadDir(outside)
		if string(b) != "mine" || readErr != nil || len(left) != 1 {
			t.Fatalf("outside: %q, %v (%v)", b, left, readErr)
		}
	})
}

// FuzzLayerBytes: bytes of any kind are read without harm, or refused.
func FuzzLayerBytes(f *testing.F) {
	plain := tarOf(f, dir("a"), file("a/b", "1"), link("c", "a"), hard("d", "a/b"), file("a/.wh.x", ""))
	f.Add(plain)
	f.Add(gzipped(f, plain))
	f.Add(packZstd(f, plain))
	f.Add(tarOf(f, file(strings.Repeat("long/", 60)+"x", ""), link(strings.Repeat("l", 200), strings.Repeat("é", 150))))
	f.Fuzz(func(t *testing.T, b []byte) {
		budget := newBudget(fuzzedLimits)
		m := &memory{data: map[*content]string{}}
		ops, _, err := layerStream{packed: newBlob(bytes.NewReader(b), digestOf(b), int64(len(b))), diffID: plainDigest(b), budget: budget}.read(context.Background(), m)
		if err != nil {
			return
		}
		root, err := merge([][]op{ops}, budget)
		if err != nil {
			return
		}
		if _, err := unit.NewTree(root.entries()); err != nil {
			t.Errorf("the tree is no image: %v", err)
		}
	})
}

// FuzzRecord: what is read is written again as it was.
func FuzzRecord(f *testing.F) {
	r := record{boot: "b", device: 1, bytes: 2, left: LeftOut{1, 2, 3, 4}, entries: []unit.Entry{{Path: "/", Type: unit.Dir, Mode: 0o755}, {Path: "/a", Type: unit.File, Mode: 0o644}, {Path: "/ab", Type: unit.Link, Target: "a", Mode: 0o777}}, states: []state{{1, 2, 3}, {4, -5, 6}, {7, 8, 9}}}
	whole := r.encode()
	f.Add(whole[len(recordMagic) : len(whole)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		b := append([]byte(recordMagic), body...)
		sum, _ := sum(bytes.NewReader(b))
		b = append(b, sum[:]...)
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		again, err := parseRecord(r.encode())
		if err != nil {
			t.Fatalf("what was written isn't read: %v", err)
		}
		if !bytes.Equal(again.encode(), r.encode()) {
			t.Error("what was read is written otherwise")
		}
	})
}

// FuzzDocuments: manifests, configurations and lists of docker's.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"config":{"digest":"sha256:0","size":1},"layers":[{}]}`), "v1")
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"platform":{"os":"linux","architecture":"amd64"},"annotations":{"a":"b"}}]}`), "")
	f.Add([]byte(`{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["sha256:0"]},"config":{"Env":["A=b"]}}`), "@sha256:0")
	f.Add([]byte(`[{"Config":"a.json","RepoTags":["a:1"],"Layers":["l.tar"]}]`), "a")
	want := platform{OS: "linux", Architecture: "amd64"}
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		if m, err := parseManifest(b, ""); err == nil && m.isIndex() {
			if d, err := choose(m.Manifests, want); err == nil {
				_, _ = d.check()
			}
			_, _ = oneNamed(m.Manifests, name, want)
		}
		if c, err := parseConfig(b); err == nil {
			_, _ = c.diffIDs()
		}
		a, err := readArchive(context.Background(), bytes.NewReader(tarOf(t, file(dockerManifest, string(b)), file("l.tar", ""))), int64(len(b)+4096))
		if err == nil {
			_, _ = a.pickDocker(name, want)
		}
		_, _ = readArchive(context.Background(), bytes.NewReader(b), int64(len(b)))
	})
}

// FuzzReference: a reference of ours reads back as what it means.
func FuzzReference(f *testing.F) {
	for _, s := range []string{"dir:/a", "oci:/a:b", "oci:/a@sha256:00", "docker-archive:/a:b:c", "docker://a@sha256:0", "/a", "oci-archive:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseReference(s)
		if err == nil && r.transport == transportDocker && r.path == "" {
			t.Errorf("%q: has no path: %+v", s, r)
		}
		if _, err := cleanName(s, 10); err == nil {
			twice, _ := cleanName(s, 10)
			if again, err := cleanName(twice, 10); twice != "" && (err != nil || again != twice) {
				t.Errorf("%q: got %q, then %q (%v)", s, twice, again, err)
			}
		}
	})
}
