package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// parts is a layout made by hand, so that it can say anything.
type parts struct {
	t     testing.TB
	path  string
	blobs map[digest][]byte
}

func newParts(t testing.TB) *parts {
	t.Helper()
	p := &parts{t: t, path: filepath.Join(t.TempDir(), "layout"), blobs: map[digest][]byte{}}
	if err := os.MkdirAll(filepath.Join(p.path, "blobs/sha256"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.path, layoutFile), []byte(`{"imageLayoutVersion":"1.0.0"}`))
	return p
}

// put writes a blob under its digest, or under another.
func (p *parts) put(kind string, b []byte) map[string]any {
	d := digestOf(b)
	writeFile(p.t, filepath.Join(p.path, "blobs/sha256", d.hex()), b)
	return map[string]any{"mediaType": kind, "digest": string(d), "size": len(b)}
}

func (p *parts) json(v any) []byte {
	p.t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *parts) config(diffIDs ...string) map[string]any {
	want, _ := Options{}.platform()
	return p.put(ociConfig, p.json(map[string]any{"os": "linux", "architecture": want.Architecture, "rootfs": map[string]any{"type": "layers", "diff_ids": diffIDs}}))
}

func (p *parts) manifest(config map[string]any, layers ...map[string]any) map[string]any {
	return p.put(ociManifest, p.json(map[string]any{"schemaVersion": 2, "config": config, "layers": layers}))
}

func (p *parts) index(manifests ...map[string]any) {
	writeFile(p.t, filepath.Join(p.path, indexFile), p.json(map[string]any{"schemaVersion": 2, "manifests": manifests}))
}

// one is an image of one plain layer.
func (p *parts) one(layer []byte) (blob map[string]any) {
	blob = p.put("application/vnd.oci.image.layer.v1.tar", layer)
	p.index(p.manifest(p.config(string(digestOf(layer))), blob))
	return blob
}

// overwrite changes a blob and leaves it its name.
func (p *parts) overwrite(blob map[string]any, b []byte) {
	d := digest(blob["digest"].(string))
	writeFile(p.t, filepath.Join(p.path, "blobs/sha256", d.hex()), b)
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	return out.Bytes()
}

func with(m map[string]any, key string, v any) map[string]any {
	c := map[string]any{}
	for k, v := range m {
		c[k] = v
	}
	c[key] = v
	return c
}

// TestLies are images whose parts aren't what they are said to be.
func TestLies(t *testing.T) {
	layer := tarOf(t, file("f", "1"))
	id := string(digestOf(layer))
	tarType := "application/vnd.oci.image.layer.v1.tar"
	for name, c := range map[string]struct {
		make func(p *parts)
		want string
	}{
		"another layer":          {func(p *parts) { p.overwrite(p.one(layer), tarOf(t, file("f", "2"))) }, "digest: got"},
		"a cut layer":            {func(p *parts) { p.overwrite(p.one(layer), layer[:1024]) }, "size: got 1024 bytes"},
		"a longer layer":         {func(p *parts) { p.overwrite(p.one(layer), append(layer[:len(layer):len(layer)], 0)) }, "size: got more than"},
		"a size too small":       {func(p *parts) { p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "size", 10))) }, "size: got more than 10"},
		"a size too large":       {func(p *parts) { p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "size", 1e6))) }, "size: got"},
		"a size below zero":      {func(p *parts) { p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "size", -5))) }, "want 0 or more"},
		"no size known":          {func(p *parts) { p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "size", -1))) }, "want 0 or more"},
		"another diff id":        {func(p *parts) { p.index(p.manifest(p.config(string(digestOf(nil))), p.put(tarType, layer))) }, "digest: got"},
		"too few diff ids":       {func(p *parts) { p.index(p.manifest(p.config(), p.put(tarType, layer))) }, "diff_ids: got 0, want 1"},
		"too many diff ids":      {func(p *parts) { p.index(p.manifest(p.config(id, id), p.put(tarType, layer))) }, "diff_ids: got 2, want 1"},
		"a diff id that is none": {func(p *parts) { p.index(p.manifest(p.config("sha256:12"), p.put(tarType, layer))) }, "diff_ids[0]"},
		"another config": {func(p *parts) {
			c := p.config(id)
			p.index(p.manifest(c, p.put(tarType, layer)))
			p.overwrite(c, []byte("{}"))
		}, "size: got 2"},
		"another manifest": {func(p *parts) {
			m := p.manifest(p.config(id), p.put(tarType, layer))
			p.index(m)
			p.overwrite(m, append(p.json(map[string]any{}), ' '))
		}, "size: got"},
		"no config of an image": {func(p *parts) {
			p.index(p.manifest(with(p.config(id), "mediaType", "application/vnd.cncf.helm.config.v1+json"), p.put(tarType, layer)))
		}, "something else than a container image"},
		"a layer elsewhere": {func(p *parts) {
			p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "urls", []string{"http://169.254.169.254/"})))
		}, "urls"},
		"a layer that is missing": {func(p *parts) {
			p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "digest", string(digestOf([]byte("x"))))))
		}, "no such file"},
		"a digest that leads out": {func(p *parts) {
			p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "digest", "sha256:../../../etc/passwd")))
		}, "64 lower case"},
		"another algorithm": {func(p *parts) {
			p.index(p.manifest(p.config(id), with(p.put(tarType, layer), "digest", "md5:d41d8cd98f00b204e9800998ecf8427e")))
		}, "64 lower case"},
		"an index and an image": {func(p *parts) {
			p.index(p.put(ociManifest, p.json(map[string]any{"schemaVersion": 2, "config": p.config(id), "layers": []any{}, "manifests": []any{}})))
		}, "an index and an image at once"},
		"an index as an image": {func(p *parts) {
			p.index(p.put(ociManifest, p.json(map[string]any{"schemaVersion": 2, "manifests": []any{}})))
		}, "mediaType"},
		"a doubled member":       {func(p *parts) { p.index(p.put(ociManifest, []byte(`{"schemaVersion":2,"layers":[],"layers":[]}`))) }, "duplicate"},
		"an old manifest":        {func(p *parts) { p.index(p.put(ociManifest, p.json(map[string]any{"schemaVersion": 1}))) }, "schemaVersion: got 1"},
		"an empty index":         {func(p *parts) { p.index() }, "no image"},
		"a document like a bomb": {func(p *parts) { p.index(with(p.put(ociManifest, nil), "size", 1<<40)) }, "document bytes"},
		"too many layers": {func(p *parts) {
			blob := p.put(tarType, layer)
			var blobs []map[string]any
			var ids []string
			for range defaultLayers + 1 {
				blobs, ids = append(blobs, blob), append(ids, id)
			}
			p.index(p.manifest(p.config(ids...), blobs...))
		}, "layers: got 257"},
		"indexes without an end": {func(p *parts) {
			at := p.manifest(p.config(id), p.put(tarType, layer))
			for range maxIndexes + 1 {
				at = p.put(ociIndex, p.json(map[string]any{"schemaVersion": 2, "manifests": []any{at}}))
			}
			p.index(at)
		}, "leads through 8 indexes"},
		"a pipe for a blob": {func(p *parts) {
			m := p.manifest(p.config(id), p.put(tarType, layer))
			p.index(m)
			name := filepath.Join(p.path, "blobs/sha256", digest(m["digest"].(string)).hex())
			if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o644)); err != nil {
				t.Fatal(err)
			}
		}, "is no file"},
		"a blob that leads out": {func(p *parts) {
			name := filepath.Join(p.path, "blobs/sha256", digest(p.one(layer)["digest"].(string)).hex())
			outside := writeFile(t, filepath.Join(t.TempDir(), "outside"), layer)
			if err := errors.Join(os.Remove(name), os.Symlink(outside, name)); err != nil {
				t.Fatal(err)
			}
		}, "escapes"},
		"another layout": {func(p *parts) {
			p.one(layer)
			writeFile(t, filepath.Join(p.path, layoutFile), []byte(`{"imageLayoutVersion":"2.0.0"}`))
		}, "imageLayoutVersion"},
	} {
		p := newParts(t)
		c.make(p)
		refused(t, name, "oci:"+p.path, options(t), c.want)
	}
}

// refused wants an image not to be opened, for one reason, and nothing to stay of it.
func refused(t *testing.T, name, ref string, o Options, want string) {
	t.Helper()
	r, err := Open(context.Background(), ref, o)
	if err == nil {
		t.Errorf("%s: opened: %s", name, shape(t, r))
		r.Close()
		return
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want an error with %q", name, err, want)
	}
	if _, err := os.Lstat(o.Store); err == nil {
		nothingLeft(t, o)
		if trees, err := os.ReadDir(filepath.Join(o.Store, treesDir)); err != nil || len(trees) > 0 {
			t.Errorf("%s: trees: %v (%v)", name, trees, err)
		}
	}
}

// TestStreams are layers that are what they are said to be, and no good.
func TestStreams(t *testing.T) {
	plain := tarOf(t, file("f", strings.Repeat("1", 600)))
	longer := append(plain[:len(plain):len(plain)], "more"...)
	zeros := make([]byte, ratioFrom+(8<<20))
	big := tarOf(t, file("zeros", string(zeros)))
	bomb, zbomb := gzipped(t, big), packZstd(t, big)
	limit := func(l Limits) Options { o := options(t); o.Limits = l; return o }
	for name, c := range map[string]struct {
		packed, plain []byte
		o             Options
		want          string
	}{
		"something after the end":  {longer, longer, options(t), "follows the end"},
		"a second archive":         {append(plain[:len(plain):len(plain)], plain...), append(plain[:len(plain):len(plain)], plain...), options(t), "follows the end"},
		"cut within a file":        {plain[:700], plain[:700], options(t), "unexpected EOF"},
		"cut within a header":      {plain[:300], plain[:300], options(t), "unexpected EOF"},
		"no archive":               {[]byte("hello"), []byte("hello"), options(t), "unexpected EOF"},
		"garbage":                  {bytes.Repeat([]byte("x"), 1024), bytes.Repeat([]byte("x"), 1024), options(t), "invalid tar header"},
		"cut gzip":                 {gzipped(t, plain)[:40], plain, options(t), "unexpected EOF"},
		"something after gzip":     {append(gzipped(t, plain), "more than a header"...), plain, options(t), "invalid header"},
		"cut zstd":                 {packZstd(t, plain)[:20], plain, options(t), "unexpected EOF"},
		"something after zstd":     {append(packZstd(t, plain), "more"...), plain, options(t), "magic"},
		"xz":                       {append([]byte{0xfd, '7', 'z', 'X', 'Z', 0}, plain...), plain, options(t), "xz"},
		"a gzip bomb":              {bomb, big, options(t), "ratio"},
		"a zstd bomb":              {zbomb, big, options(t), "ratio"},
		"a file over the limit":    {plain, plain, limit(Limits{FileBytes: 599}), "file bytes: got 600"},
		"files over the limit":     {plain, plain, limit(Limits{Bytes: 599}), "bytes: got 600"},
		"entries over the limit":   {tarOf(t, dir("a"), dir("b"), dir("c")), nil, limit(Limits{Entries: 2}), "entries: got 3"},
		"implied folders count":    {tarOf(t, dir("a/b/c/d")), nil, limit(Limits{Entries: 3}), "entries: got 4"},
		"depth over the limit":     {tarOf(t, dir("a/b/c")), nil, limit(Limits{Depth: 2}), "depth: got 3"},
		"a claim of 8 EiB":         {claim(t, 1<<62), nil, options(t), "file bytes"},
		"a claim within the limit": {claim(t, 1<<30), nil, options(t), "unexpected EOF"},
	} {
		if c.plain == nil {
			c.plain = c.packed
		}
		p := newParts(t)
		p.index(p.manifest(p.config(string(digestOf(c.plain))), p.put("application/vnd.oci.image.layer.v1.tar+gzip", c.packed)))
		refused(t, name, "oci:"+p.path, c.o, c.want)
	}
}

func packZstd(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}

// claim is a header for a file that doesn't come.
func claim(t testing.TB, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "f", Size: size, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchives are archives of images that lie.
func TestArchives(t *testing.T) {
	layer := tarOf(t, file("f", "1"))
	p := newParts(t)
	conf := p.json(map[string]any{"os": "linux", "architecture": mustPlatform(t).Architecture, "rootfs": map[string]any{"type": "layers", "diff_ids": []string{string(digestOf(layer))}}})
	confName := digestOf(conf).hex() + ".json"
	list := func(layers ...string) tarEntry {
		return file(dockerManifest, string(p.json([]any{map[string]any{"Config": confName, "RepoTags": []string{"a:1"}, "Layers": layers}})))
	}
	c, l := file(confName, string(conf)), file("l.tar", string(layer))
	secret := writeFile(t, filepath.Join(t.TempDir(), "secret"), layer)
	for name, a := range map[string]struct {
		archive []byte
		want    string
	}{
		"a layer that leads out":        {tarOf(t, list("x"), c, link("x", secret)), "links to"},
		"a layer that leads out by ..":  {tarOf(t, list("x"), c, link("x", strings.Repeat("../", 20)+secret[1:])), "does not exist"},
		"a name that leads out":         {tarOf(t, list("../../.."+secret), c), `without ".."`},
		"links in a circle":             {tarOf(t, list("x"), c, link("x", "y"), link("y", "x")), "more than 40 links"},
		"a name that comes twice":       {tarOf(t, list("l.tar"), c, l, file("./l.tar", "other")), "comes twice"},
		"another config":                {tarOf(t, list("l.tar"), file(confName, "{}"), l), "digest: got"},
		"no config":                     {tarOf(t, list("l.tar"), l), "does not exist"},
		"no layer":                      {tarOf(t, list("l.tar"), c), "does not exist"},
		"another layer":                 {tarOf(t, list("l.tar"), c, file("l.tar", string(tarOf(t, file("f", "2"))))), "digest: got"},
		"a device":                      {tarOf(t, list("l.tar"), c, l, special("d", '3', 1, 3)), "type"},
		"no image":                      {tarOf(t, l), "is no image"},
		"a cut archive":                 {tarOf(t, list("l.tar"), c, l)[:3000], "unexpected EOF"},
		"something after the archive":   {append(tarOf(t, list("l.tar"), c, l), tarOf(t, l)...), "follows the end"},
		"text":                          {[]byte("hello"), "unexpected EOF"},
		"a list like a bomb":            {tarOf(t, file(dockerManifest, strings.Repeat(" ", maxDocument+1))), "document bytes"},
		"two images without a name":     {tarOf(t, file(dockerManifest, `[{"RepoTags":["a:1"]},{"RepoTags":["b:1"]}]`)), `name one of ["a:1" "b:1"]`},
		"a config named by no digest":   {tarOf(t, file(dockerManifest, `[{"Config":"config.json","Layers":[]}]`), file("config.json", "{}")), "isn't named by its digest"},
		"an archive that is packed bad": {gzipped(t, tarOf(t, list("l.tar"), c, l))[:100], "unexpected EOF"},
	} {
		path := writeFile(t, filepath.Join(t.TempDir(), "a.tar"), a.archive)
		refused(t, name, path, options(t), a.want)
	}
	// A layer that is a link to another within the archive is what docker itself wrote.
	good := writeFile(t, filepath.Join(t.TempDir(), "good.tar"), tarOf(t, list("b/x"), c, l, link("b/x", "../l.tar")))
	if got := shape(t, open(t, good, options(t))); got != "f=1" {
		t.Errorf("got %s", got)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "a pipe", "docker-archive:"+pipe, options(t), "is no file")
	refused(t, "a pipe by its path", pipe, options(t), "neither a directory nor a file")
}

func mustPlatform(t testing.TB) platform {
	t.Helper()
	p, err := Options{}.platform()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNothingOutside attacks with what layers can say, in a store beside which lies
// what is wanted.
func TestNothingOutside(t *testing.T) {
	outside := t.TempDir()
	target := writeFile(t, filepath.Join(outside, "target"), []byte("mine"))
	up := strings.Repeat("../", 30)
	for name, layers := range map[string][]entries{
		"write through an absolute link": {{link("l", outside), file("l/target", "evil")}},
		"write through a relative link":  {{link("l", up+outside[1:]), file("l/target", "evil")}},
		"write through a file's link":    {{link("l", target), file("l", "evil")}},
		"write in the next layer":        {{link("l", outside)}, {file("l/target", "evil")}},
		"whiteout through a link":        {{link("l", outside)}, {file("l/.wh.target", "")}},
		"opaque through a link":          {{link("l", outside)}, {file("l/.wh..wh..opq", "")}},
		"a folder over a link":           {{link("l", outside), dir("l"), file("l/target", "evil")}},
		"a mode through a link":          {{link("l", target)}, {moded(dir("l"), 0o777)}},
		"links upon links":               {{link("a", "/"), link("a/b", outside), link("c", "a/b"), file("c/target", "evil")}},
		"a link swapped between":         {{dir("d"), file("d/target", "1")}, {link("d", outside)}, {file("d/target", "evil")}},
	} {
		var all [][]byte
		for _, l := range layers {
			all = append(all, tarOf(t, l...))
		}
		p := newParts(t)
		var ids []string
		var blobs []map[string]any
		for _, l := range all {
			ids, blobs = append(ids, string(digestOf(l))), append(blobs, p.put("", l))
		}
		p.index(p.manifest(p.config(ids...), blobs...))
		if r, err := Open(context.Background(), "oci:"+p.path, options(t)); err == nil {
			checkOnDisk(t, r)
			r.Close()
		}
		b, err := os.ReadFile(target)
		info, _ := os.Stat(outside)
		left, _ := os.ReadDir(outside)
		if err != nil || string(b) != "mine" || len(left) != 1 || info.Mode().Perm() == 0o777 {
			t.Errorf("%s: outside is %q, %v, %v (%v)", name, b, left, info.Mode(), err)
		}
		if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v (%v)", name, info, err)
		}
	}
}

// TestHardLinkToTheHost: a hard link can name only what the image has.
func TestHardLinkToTheHost(t *testing.T) {
	p := newParts(t)
	p.one(tarOf(t, link("l", "/etc"), hard("h", "l/passwd")))
	refused(t, "a hard link through a link", "oci:"+p.path, options(t), "no such file before it")
}

func (p *parts) String() string { return fmt.Sprintf("layout %s", p.path) }
