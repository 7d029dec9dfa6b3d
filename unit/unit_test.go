package unit_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/unit"
)

const wantBundles = 6

type steps struct {
	Steps struct {
		Unit   string `json:"unit_jcs"`
		UnitID string `json:"unit_id"`
		Grants string `json:"grants_id"`
		Image  string `json:"image_jcs"`
	} `json:"steps"`
	Bundle struct {
		Unit struct {
			ImageID string `json:"image_id"`
		} `json:"unit"`
	} `json:"bundle"`
}

// TestBundles: descriptors and image objects that another program minted have
// the same bytes and ids here.
func TestBundles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, "11-bundle"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < wantBundles {
		t.Fatalf("got %d bundle vectors, want at least %d", len(files), wantBundles)
	}
	images := 0
	for _, f := range files {
		name := filepath.Base(f)
		var v steps
		vectors.Load(t, "11-bundle", name, &v)
		u, err := unit.Parse([]byte(v.Steps.Unit))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, u, v.Steps.Unit, v.Steps.UnitID)
		if id, err := u.GrantsID(); err != nil || id.String() != v.Steps.Grants {
			t.Errorf("%s: grants id: got %v (%v), want %s", name, id, err, v.Steps.Grants)
		}
		if u.ImageID.String() != v.Bundle.Unit.ImageID {
			t.Errorf("%s: image id: got %v, want %s", name, u.ImageID, v.Bundle.Unit.ImageID)
		}
		if v.Steps.Image == "" {
			continue
		}
		images++
		im, err := unit.ParseImage([]byte(v.Steps.Image))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name+" image", im, v.Steps.Image, v.Bundle.Unit.ImageID)
	}
	if images < 2 {
		t.Errorf("got %d image objects, want at least 2", images)
	}
}

type object interface {
	Canonical() ([]byte, error)
	ID() (joulebox.ID, error)
}

func same(t *testing.T, name string, o object, text, id string) {
	t.Helper()
	if b, err := o.Canonical(); err != nil || string(b) != text {
		t.Errorf("%s:\n got %s (%v)\nwant %s", name, b, err, text)
	}
	if got, err := o.ID(); err != nil || got.String() != id {
		t.Errorf("%s: id: got %v (%v), want %s", name, got, err, id)
	}
}

// full uses every member.
const full = `{"challenge":"AAECAwQFBgc","entrypoint":["run","","é"],"grants":{"a":[]},"image_id":"b3:XJzIxT1Joxci9oVX4O8PEuwVIypPtDwoTpKyI2eSfpk","manifest":"b3:XJzIxT1Joxci9oVX4O8PEuwVIypPtDwoTpKyI2eSfpk","placement":{"boundary":"kernel","confidential":true,"contention":"sensitive","locality":{"jurisdiction":"DE","region":"eu"},"passthrough":["Gpu","Npu"],"trusted":true},"schema":"sandbox.unit/1"}`

func TestParseFull(t *testing.T) {
	u, err := unit.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := u.Canonical(); err != nil || string(b) != full {
		t.Errorf("got %s (%v)", b, err)
	}
	p := u.Placement
	if !p.Trusted || !p.IsSensitive() || p.Boundary != unit.Kernel || !p.Confidential || p.Locality.Region != "eu" || !slices.Equal(p.Passthrough, []joulebox.DeviceClass{joulebox.GPU, joulebox.NPU}) {
		t.Errorf("got %+v", p)
	}
	if string(u.Challenge) != "\x00\x01\x02\x03\x04\x05\x06\x07" || string(u.Grants) != `{"a":[]}` {
		t.Errorf("got %x, %s", u.Challenge, u.Grants)
	}
}

// TestParseRefuses changes one thing of a valid descriptor.
func TestParseRefuses(t *testing.T) {
	zero := "b3:" + strings.Repeat("A", 43)
	for _, c := range []struct{ old, new, want string }{
		{`"schema":"sandbox.unit/1"`, `"schema":"sandbox.unit/2"`, "schema"},
		{`,"schema":"sandbox.unit/1"`, ``, "schema"},
		{`"image_id":"b3:XJ`, `"image_id":"b3:X`, "id"},
		{`"image_id":"b3:XJzIxT1Joxci9oVX4O8PEuwVIypPtDwoTpKyI2eSfpk"`, `"image_id":"` + zero + `"`, "image_id"},
		{`"entrypoint":["run","","é"],`, ``, "entrypoint"},
		{`["run","","é"]`, `[]`, "entrypoint"},
		{`["run","","é"]`, `[""]`, "entrypoint"},
		{`["run","","é"]`, `["run","a\u0000b"]`, "NUL"},
		{`["run","","é"]`, `"run"`, "entrypoint"},
		{`"grants":{"a":[]},`, ``, "grants"},
		{`{"a":[]}`, `[]`, "grants"},
		{`{"a":[]}`, `{"a":null}`, "null"},
		{`{"a":[]}`, `{"a":1.5}`, "1.5"},
		{`"manifest":"b3:XJzIxT1Joxci9oVX4O8PEuwVIypPtDwoTpKyI2eSfpk"`, `"manifest":"` + zero + `"`, "manifest"},
		{`"AAECAwQFBgc"`, `""`, "challenge"},
		{`"AAECAwQFBgc"`, `"AAECAwQFBg"`, "got 7 bytes, want 8 to 64"},
		{`"AAECAwQFBgc"`, `"` + strings.Repeat("AAAA", 21) + strings.Repeat("A", 3) + `"`, "got 65 bytes"},
		{`"AAECAwQFBgc"`, `"AAECAwQFBgc="`, "unpadded"},
		{`"AAECAwQFBgc"`, `"AAECAwQFBgd"`, "unpadded"},
		{`"AAECAwQFBgc"`, `"AAECAwQFBgc\n"`, "unpadded"},
		{`"AAECAwQFBgc"`, `"AAEC+wQFBgc"`, "unpadded"},
		{`"kernel"`, `"vm"`, "boundary"},
		{`"boundary":"kernel"`, `"boundary":""`, "boundary"},
		{`"sensitive"`, `"high"`, "contention"},
		{`"contention":"sensitive",`, ``, "contention"},
		{`,"passthrough":["Gpu","Npu"]`, ``, "passthrough"},
		{`["Gpu","Npu"]`, `["Npu","Gpu"]`, "order"},
		{`["Gpu","Npu"]`, `["Gpu","Gpu"]`, "once"},
		{`["Gpu","Npu"]`, `["Cpu"]`, "accelerators"},
		{`["Gpu","Npu"]`, `["Fpga"]`, "device class"},
		{`"region":"eu"`, `"region":""`, "locality"},
		{`,"region":"eu"`, ``, "region"},
		{`"region":"eu"`, `"region":"eu","x":1`, "x"},
		{`"trusted":true}`, `"trusted":true,"extra":1}`, "extra"},
		{`"schema"`, `"Schema"`, "Schema"},
		{`"schema"`, `"extra":1,"schema"`, "extra"},
		{`"schema"`, `"schema":"sandbox.unit/1","schema"`, "schema"},
	} {
		src := strings.Replace(full, c.old, c.new, 1)
		if src == full {
			t.Fatalf("%q is not in the descriptor", c.old)
		}
		if u, err := unit.Parse([]byte(src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", c.new, u, err, c.want)
		}
	}
	start := strings.Index(full, `,"placement":`)
	end := strings.Index(full, `,"schema"`)
	for _, placement := range []string{
		`{"confidential":false,"contention":"none","passthrough":[],"trusted":false}`, `{}`, `null`, `[]`,
	} {
		src := full[:start] + `,"placement":` + placement + full[end:]
		if _, err := unit.Parse([]byte(src)); err == nil || !strings.Contains(err.Error(), "placement") {
			t.Errorf("%s: got %v, want it refused", placement, err)
		}
	}
}

func minimal() unit.Unit {
	return unit.Unit{ImageID: joulebox.Sum([]byte("module")), Entrypoint: []string{"run"}, Grants: []byte(`{"b":1, "a":2}`)}
}

// TestCanonicalOfValues: a default placement is left out however it is spelled,
// and grants are brought to canonical form.
func TestCanonicalOfValues(t *testing.T) {
	want := `{"entrypoint":["run"],"grants":{"a":2,"b":1},"image_id":"` + joulebox.Sum([]byte("module")).String() + `","schema":"sandbox.unit/1"}`
	for _, p := range []unit.Placement{{}, {Contention: "none"}, {Passthrough: []joulebox.DeviceClass{}}} {
		u := minimal()
		u.Placement = p
		if b, err := u.Canonical(); err != nil || string(b) != want {
			t.Errorf("%+v: got %s (%v), want %s", p, b, err, want)
		}
	}
	u := minimal()
	u.Placement.Trusted = true
	b, err := u.Canonical()
	if err != nil || !strings.Contains(string(b), `"placement":{"confidential":false,"contention":"none","passthrough":[],"trusted":true}`) {
		t.Errorf("got %s (%v)", b, err)
	}
}

func TestInvalidHasNoID(t *testing.T) {
	for name, edit := range map[string]func(*unit.Unit){
		"image_id":    func(u *unit.Unit) { u.ImageID = joulebox.ID{} },
		"entrypoint":  func(u *unit.Unit) { u.Entrypoint = nil },
		"UTF-8":       func(u *unit.Unit) { u.Entrypoint = []string{"a\xff"} },
		"grants":      func(u *unit.Unit) { u.Grants = nil },
		"unit":        func(u *unit.Unit) { u.Grants = []byte(`{"a":`) },
		"challenge":   func(u *unit.Unit) { u.Challenge = []byte("short") },
		"boundary":    func(u *unit.Unit) { u.Placement.Boundary = "x" },
		"passthrough": func(u *unit.Unit) { u.Placement.Passthrough = []joulebox.DeviceClass{99} },
		"locality":    func(u *unit.Unit) { u.Placement.Locality = &unit.Locality{Region: "eu"} },
	} {
		u := minimal()
		edit(&u)
		if id, err := u.ID(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, %v; want an error that names it", name, id, err)
		}
	}
}

// TestEveryMemberIsInTheID: changing any member gives another unit.
func TestEveryMemberIsInTheID(t *testing.T) {
	ids := map[joulebox.ID]string{}
	for name, edit := range map[string]func(*unit.Unit){
		"nothing":      func(*unit.Unit) {},
		"image_id":     func(u *unit.Unit) { u.ImageID = joulebox.Sum(nil) },
		"entrypoint":   func(u *unit.Unit) { u.Entrypoint = []string{"_start"} },
		"argument":     func(u *unit.Unit) { u.Entrypoint = []string{"run", ""} },
		"grants":       func(u *unit.Unit) { u.Grants = []byte(`{}`) },
		"manifest":     func(u *unit.Unit) { u.Manifest = joulebox.Sum(nil) },
		"challenge":    func(u *unit.Unit) { u.Challenge = make([]byte, 8) },
		"trusted":      func(u *unit.Unit) { u.Placement.Trusted = true },
		"contention":   func(u *unit.Unit) { u.Placement.Contention = unit.Sensitive },
		"machine":      func(u *unit.Unit) { u.Placement.Boundary = unit.Machine },
		"kernel":       func(u *unit.Unit) { u.Placement.Boundary = unit.Kernel },
		"passthrough":  func(u *unit.Unit) { u.Placement.Passthrough = []joulebox.DeviceClass{joulebox.GPU} },
		"confidential": func(u *unit.Unit) { u.Placement.Confidential = true },
		"locality":     func(u *unit.Unit) { u.Placement.Locality = &unit.Locality{Region: "a", Jurisdiction: "b"} },
	} {
		u := minimal()
		edit(&u)
		id, err := u.ID()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if other, taken := ids[id]; taken {
			t.Errorf("%s and %s have one id", name, other)
		}
		ids[id] = name
	}
}

// FuzzUnitParse: what parses re-encodes to one canonical form, which parses to
// the same.
func FuzzUnitParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"schema":"sandbox.unit/1","image_id":"b3:XJzIxT1Joxci9oVX4O8PEuwVIypPtDwoTpKyI2eSfpk","entrypoint":["run"],"grants":{}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		u, err := unit.Parse(src)
		if err != nil {
			return
		}
		stable(t, src, u, func(b []byte) (object, error) { return unit.Parse(b) })
	})
}
