package supervisor_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
	"github.com/joulebox/joulebox/unit"
)

// treeOf makes an image of files.
func treeOf(t *testing.T, files map[string][]byte) *host.Tree {
	t.Helper()
	var entries []unit.Entry
	contents := map[joulebox.ID]host.Content{}
	for p, data := range files {
		id := joulebox.Sum(data)
		entries = append(entries, unit.Entry{Path: p, Type: unit.File, Mode: 0o444, B3: id})
		contents[id] = host.Bytes(data)
	}
	image, err := unit.NewTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := host.NewTree(image, contents)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func ofTree(tree *host.Tree, entrypoint ...string) func(*supervisor.Request) {
	return func(r *supervisor.Request) { r.Image, r.Tree, r.Entrypoint = nil, tree, entrypoint }
}

// A module that is one file of a tree runs where a module alone does. Its record
// carries the image object, and a stranger verifies it; all files are kept.
func TestModuleOfATreeRuns(t *testing.T) {
	h := newHouse(t)
	files := map[string][]byte{"/bin/prog.wasm": returns(0), "/lib/data": []byte("data")}
	tree := treeOf(t, files)
	record := h.run(t, request(nil, ofTree(tree, "/bin/prog.wasm", "x")), host.BrokerConfig{})
	if got := record.Exit.Outcome; got != joulebox.Completed {
		t.Fatalf("outcome %s", got)
	}
	b, err := bundle.Parse(record.Bundle.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if report := h.verify(t, record.Bundle.Marshal()); report.Verdict != bundle.Valid {
		t.Errorf("verdict %s: %v", report.Verdict, report.Failures())
	}
	if b.Image() == nil || b.Unit().ImageID != tree.ID() || b.Statement().Fields().Tier != joulebox.S2 {
		t.Errorf("image %v, id %s, tier %s", b.Image(), b.Unit().ImageID, b.Statement().Fields().Tier)
	}
	for p, data := range files {
		if kept, err := h.store.Get(t.Context(), joulebox.Sum(data)); err != nil || !bytes.Equal(kept, data) {
			t.Errorf("%s isn't kept: %v", p, err)
		}
	}
}

// The same module alone, and one file more in the tree, are other images.
func TestTreeImageCoversEveryFile(t *testing.T) {
	h := newHouse(t)
	ids := map[joulebox.ID]string{}
	for name, r := range map[string]supervisor.Request{
		"alone": request(returns(0)),
		"tree":  request(nil, ofTree(treeOf(t, map[string][]byte{"/a.wasm": returns(0)}), "/a.wasm")),
		"more":  request(nil, ofTree(treeOf(t, map[string][]byte{"/a.wasm": returns(0), "/b": nil}), "/a.wasm")),
		"other": request(nil, ofTree(treeOf(t, map[string][]byte{"/a.wasm": returns(0), "/b": {1}}), "/a.wasm")),
	} {
		p, err := h.Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		if same, ok := ids[p.Unit.ImageID]; ok {
			t.Errorf("%s and %s have one image id", same, name)
		}
		ids[p.Unit.ImageID] = name
	}
}

// What isn't a module of the tree is native code, which this host has no tier for.
func TestNativeProgramOfATreeIsDeclined(t *testing.T) {
	h := newHouse(t)
	tree := treeOf(t, map[string][]byte{"/a.wasm": returns(0), "/bin/true": []byte("\x7fELF")})
	for _, entry := range []string{"/bin/true", "/none.wasm", "run"} {
		_, err := h.Plan(request(nil, ofTree(tree, entry)))
		var declined *supervisor.DeclinedError
		if !errors.As(err, &declined) || declined.Tier != joulebox.S3 {
			t.Errorf("%s: got %v, want S3 declined", entry, err)
		}
	}
}

// A grant can't put other files where the record says that the image's were.
func TestGrantsOverTheImageAreRefused(t *testing.T) {
	h := newHouse(t)
	r := request(nil, ofTree(treeOf(t, map[string][]byte{"/app/a.wasm": returns(0)}), "/app/a.wasm"))
	r.Grants.Storage.Read = []string{"/app/**"}
	p, err := h.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), p, host.BrokerConfig{}); err == nil || !strings.Contains(err.Error(), "over the unit's own image") {
		t.Errorf("got %v", err)
	}
}

// Content that changes under a run is tampering, and its record says so.
func TestContentThatChangesIsTampering(t *testing.T) {
	h := newHouse(t)
	data := []byte("data")
	tree := treeOf(t, map[string][]byte{"/a.wasm": returns(0), "/b": data})
	p, err := h.Plan(request(nil, ofTree(tree, "/a.wasm")))
	if err != nil {
		t.Fatal(err)
	}
	data[0]++
	record, err := h.Run(t.Context(), p, host.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if got := record.Exit.Outcome; got != joulebox.Terminated(joulebox.ImageMutation) {
		t.Errorf("outcome %s, want image_mutation", got)
	}
}
