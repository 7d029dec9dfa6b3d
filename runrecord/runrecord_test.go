package runrecord

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/joulebox/joulebox"
)

func id(text string) joulebox.ID { return joulebox.Sum([]byte(text)) }

func snapshot(n int) Snapshot {
	return Snapshot{FS: id(fmt.Sprint("fs", n)), Memory: id(fmt.Sprint("memory", n)), Manifest: id("manifest")}
}

func executed(n int) Segment {
	return Segment{Kind: Executed, Attestation: id(fmt.Sprint("attestation", n))}
}

// parked is a run that was suspended n times and resumed in between.
func parked(t testing.TB, n int) *Record {
	t.Helper()
	r, err := New(id("unit"), id("grants"), RunID{1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if i > 0 {
			add(t, r, Segment{Kind: Resumed, Snapshot: snapshot(i - 1), Idle: 10})
		}
		add(t, r, executed(i))
		add(t, r, Segment{Kind: Suspended, Snapshot: snapshot(i)})
	}
	return r
}

func add(t testing.TB, r *Record, s Segment) {
	t.Helper()
	if err := r.Append(s); err != nil {
		t.Fatal(err)
	}
}

// TestChainByHand: preimages from raw digests and canonical text.
func TestChainByHand(t *testing.T) {
	unit, grants := id("unit"), id("grants")
	head := blake3.Sum256([]byte("sandbox.run-record/1" + string(unit[:]) + string(grants[:])))
	s := snapshot(0)
	for _, text := range []string{
		`{"run":"AQAAAAAAAAAAAAAAAAAAAA","type":"Started"}`,
		`{"attestation_id":"` + id("attestation0").String() + `","type":"Executed"}`,
		`{"snapshot":{"fs":"` + s.FS.String() + `","manifest":"` + s.Manifest.String() + `","memory":"` + s.Memory.String() + `"},"type":"Suspended"}`,
		`{"idle_uj":10,"snapshot":{"fs":"` + s.FS.String() + `","manifest":"` + s.Manifest.String() + `","memory":"` + s.Memory.String() + `"},"type":"Resumed"}`,
	} {
		head = blake3.Sum256([]byte("sandbox.run-record/1" + string(head[:]) + text))
	}
	r := parked(t, 1)
	add(t, r, Segment{Kind: Resumed, Snapshot: s, Idle: 10})
	if r.Head() != joulebox.ID(head) || r.Len() != 4 {
		t.Errorf("got %s, want %s", r.Head(), joulebox.ID(head))
	}
}

// TestGenesisBindsTheRun: a record can't be spliced across units, grants or runs.
func TestGenesisBindsTheRun(t *testing.T) {
	heads := map[joulebox.ID]string{}
	for _, c := range []struct {
		unit, grants string
		run          RunID
	}{{"unit", "grants", RunID{1}}, {"other", "grants", RunID{1}}, {"unit", "other", RunID{1}}, {"unit", "grants", RunID{2}}, {"grants", "unit", RunID{1}}} {
		r, err := New(id(c.unit), id(c.grants), c.run)
		if err != nil {
			t.Fatal(err)
		}
		add(t, r, executed(0))
		if before := heads[r.Head()]; before != "" {
			t.Errorf("%v has the head of %s", c, before)
		}
		heads[r.Head()] = fmt.Sprint(c)
	}
	if _, err := New(joulebox.ID{}, id("grants"), RunID{1}); err == nil {
		t.Error("a record without a unit")
	}
	if _, err := New(id("unit"), id("grants"), RunID{}); err == nil {
		t.Error("a record without a run")
	}
}

// TestResumeIsRefused: every way in which what is offered isn't what was parked.
func TestResumeIsRefused(t *testing.T) {
	r := parked(t, 2)
	good := Offer{id("unit"), id("grants"), snapshot(1)}
	if err := r.MayResume(good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(o *Offer){
		"unit":     func(o *Offer) { o.Unit = id("x") },
		"grants":   func(o *Offer) { o.Grants = id("x") },
		"fs":       func(o *Offer) { o.Snapshot.FS = id("x") },
		"memory":   func(o *Offer) { o.Snapshot.Memory = joulebox.ID{} },
		"manifest": func(o *Offer) { o.Snapshot.Manifest = id("drifted") },
	} {
		o := good
		change(&o)
		err := r.MayResume(o)
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "want b3:") {
			t.Errorf("%s: got %v, want both addresses", what, err)
		}
	}
	var bad *SnapshotError
	if err := r.Append(Segment{Kind: Resumed, Snapshot: snapshot(0)}); !errors.As(err, &bad) || bad.Recorded != snapshot(1) {
		t.Errorf("an older snapshot: got %v", err)
	}
	add(t, r, Segment{Kind: Resumed, Snapshot: snapshot(1), Idle: 5})
	if err := r.MayResume(good); !errors.Is(err, ErrNotSuspended) {
		t.Errorf("a snapshot resumes twice: %v", err)
	}
	if idle, err := r.Idle(); idle != 15 || err != nil {
		t.Errorf("got %d idle, %v, want 15", idle, err)
	}
}

func TestOrderOfSegments(t *testing.T) {
	for what, c := range map[string]struct {
		after []Segment
		next  Segment
	}{
		"a second start":           {nil, Segment{Kind: Started, Run: RunID{2}}},
		"resumed and not parked":   {nil, Segment{Kind: Resumed, Snapshot: snapshot(0)}},
		"suspended and not run":    {nil, Segment{Kind: Suspended, Snapshot: snapshot(0)}},
		"run while parked":         {[]Segment{executed(0), {Kind: Suspended, Snapshot: snapshot(0)}}, executed(1)},
		"suspended while parked":   {[]Segment{executed(0), {Kind: Suspended, Snapshot: snapshot(0)}}, Segment{Kind: Suspended, Snapshot: snapshot(0)}},
		"an attestation twice":     {[]Segment{executed(0)}, executed(0)},
		"nothing":                  {nil, Segment{}},
		"no attestation":           {nil, Segment{Kind: Executed}},
		"an attestation elsewhere": {[]Segment{executed(0)}, Segment{Kind: Suspended, Snapshot: snapshot(0), Attestation: id("x")}},
		"no manifest":              {[]Segment{executed(0)}, Segment{Kind: Suspended, Snapshot: Snapshot{FS: id("x")}}},
		"idle elsewhere":           {nil, Segment{Kind: Executed, Attestation: id("x"), Idle: 1}},
	} {
		r := parked(t, 0)
		for _, s := range c.after {
			add(t, r, s)
		}
		head, n := r.Head(), r.Len()
		if err := r.Append(c.next); err == nil || r.Head() != head || r.Len() != n {
			t.Errorf("%s: got %v, and %d segments", what, err, r.Len())
		}
	}
}

// TestClones: any number of records may go on beside a parked run, each its own;
// resuming the run itself in two places is found.
func TestClones(t *testing.T) {
	origin := parked(t, 1)
	one, err := Clone(origin, RunID{2})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Clone(origin, RunID{3})
	if err != nil {
		t.Fatal(err)
	}
	if s := one.Segments()[0]; s.Origin != origin.Head() || s.Snapshot != snapshot(0) || one.Head() == two.Head() {
		t.Errorf("got %+v", s)
	}
	if _, err := Clone(origin, RunID{1}); err == nil {
		t.Error("a clone with the origin's name")
	}
	if _, err := Clone(one, RunID{4}); err == nil {
		t.Error("a clone of a run that isn't parked")
	}
	a, b := parked(t, 1), parked(t, 1)
	add(t, a, Segment{Kind: Resumed, Snapshot: snapshot(0), Idle: 10})
	var c Claims
	for _, r := range []*Record{origin, one, two, a, a, origin} {
		if err := c.Add(r); err != nil {
			t.Errorf("no conflict: got %v", err)
		}
	}
	add(t, b, Segment{Kind: Resumed, Snapshot: snapshot(0), Idle: 11})
	var twice *ResumedTwiceError
	if err := c.Add(b); !errors.As(err, &twice) || twice.Suspension != origin.Head() {
		t.Errorf("a run that went on twice: got %v", err)
	}
	// The same resumption and then another interval is one run's beginning and end.
	longer := parked(t, 1)
	add(t, longer, Segment{Kind: Resumed, Snapshot: snapshot(0), Idle: 10})
	add(t, longer, executed(7))
	if err := c.Add(longer); err != nil {
		t.Errorf("the same run, later: %v", err)
	}
}

func fileOf(t testing.TB, r *Record, key ed25519.PrivateKey) []byte {
	t.Helper()
	var b bytes.Buffer
	header, err := r.Header()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%s\n", header)
	again, _ := empty(r.unit, r.grants)
	for _, s := range r.Segments() {
		text, _ := s.Canonical()
		fmt.Fprintf(&b, "%s\n", text)
		add(t, again, s)
		if s.Kind == Suspended {
			head, err := again.SignHead(key)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", head)
		}
	}
	return b.Bytes()
}

func TestFile(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	r := parked(t, 3)
	text := fileOf(t, r, key)
	f, err := Parse(text)
	if err != nil || f.Record.Head() != r.Head() || len(f.Heads) != 3 || f.Unsigned() != 0 {
		t.Fatalf("got %v", err)
	}
	for _, h := range f.Heads {
		if h.VerifyClaimed() != nil || h.object.Seal.Verify(h.object.Core, public) != nil {
			t.Error("a head doesn't verify")
		}
	}
	kept := f.Heads[2]
	lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	cut, err := Parse(bytes.Join(lines[:8], nil))
	if err != nil || !errors.Is(cut.Check(kept), ErrTruncated) {
		t.Errorf("a record that was cut short: got %v, %v", err, cut)
	}
	// A tail behind the last head is there, and unsigned.
	add(t, r, Segment{Kind: Resumed, Snapshot: snapshot(2), Idle: 1})
	tail, _ := r.Segments()[r.Len()-1].Canonical()
	f, err = Parse(append(slices.Clone(text), append(tail, '\n')...))
	if err != nil || f.Unsigned() != 1 {
		t.Errorf("got %v, %d unsigned", err, f.Unsigned())
	}
}

// TestTamperedFiles: whichever line is taken out, doubled, moved or changed, the
// file doesn't parse or isn't the record that was signed.
func TestTamperedFiles(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	r := parked(t, 4)
	lines := bytes.SplitAfter(bytes.TrimSuffix(fileOf(t, r, key), []byte("\n")), []byte("\n"))
	rapid.Check(t, func(t *rapid.T) {
		changed := slices.Clone(lines)
		i := rapid.IntRange(0, len(lines)-2).Draw(t, "i") // the last line is a head
		how := rapid.IntRange(0, 3).Draw(t, "how")
		switch how {
		case 0:
			changed = slices.Delete(changed, i, i+1)
		case 1:
			changed = slices.Insert(changed, i, changed[i])
		case 2:
			j := rapid.IntRange(0, len(lines)-2).Draw(t, "j")
			changed[i], changed[j] = changed[j], changed[i]
		case 3:
			line := slices.Clone(changed[i])
			line[rapid.IntRange(0, len(line)-2).Draw(t, "at")] ^= byte(1 << rapid.IntRange(0, 6).Draw(t, "bit"))
			changed[i] = line
		}
		f, err := Parse(bytes.Join(changed, nil))
		if err != nil {
			return
		}
		if f.Record.Head() != r.Head() || f.Record.Len() != r.Len() {
			t.Fatalf("it parses as another record, of %d segments", f.Record.Len())
		}
		whole := true
		for _, h := range f.Heads {
			whole = whole && h.VerifyClaimed() == nil
		}
		if how == 3 && whole {
			t.Fatalf("a bit of %q is another, and all of it verifies", changed[i])
		}
	})
}

func FuzzSegment(f *testing.F) {
	for _, s := range []Segment{{Kind: Started, Run: RunID{1}}, {Kind: Started, Run: RunID{1}, Origin: id("x"), Snapshot: snapshot(0)}, executed(0), {Kind: Suspended, Snapshot: snapshot(0)}, {Kind: Resumed, Snapshot: snapshot(1), Idle: 0}} {
		text, err := s.Canonical()
		if err != nil {
			f.Fatal(err)
		}
		if back, err := ParseSegment(text); err != nil || back != s {
			f.Fatalf("%s came back as %+v, %v", text, back, err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := ParseSegment(src)
		if err != nil {
			return
		}
		once, err := s.Canonical()
		if err != nil {
			t.Fatalf("%s is read and can't be written: %v", src, err)
		}
		if again, err := ParseSegment(once); err != nil || again != s {
			t.Errorf("%s came back as %+v, %v", src, again, err)
		}
	})
}

func FuzzFile(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	f.Add(fileOf(f, parked(f, 2), key))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse(src)
		if err != nil {
			return
		}
		again, err := Parse(fileOf(t, file.Record, key))
		if err != nil || again.Record.Head() != file.Record.Head() {
			t.Errorf("%q came back as %v", src, err)
		}
	})
}
