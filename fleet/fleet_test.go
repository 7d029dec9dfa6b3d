package fleet

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

func id(text string, n int) joulebox.ID {
	return joulebox.Sum(binary.BigEndian.AppendUint64([]byte(text), uint64(n)))
}

func leaf(n int) Leaf { return Leaf{Item: id("item", n), Attestation: id("attestation", n)} }

// naiveRoot is §16 and RFC 6962 word by word, with nothing of the fast code.
func naiveRoot(t testing.TB, leaves []Leaf) joulebox.ID {
	if len(leaves) == 1 {
		text, err := jcs.Marshal(map[string]string{"item": leaves[0].Item.String(), "attestation": leaves[0].Attestation.String()})
		if err != nil {
			t.Fatal(err)
		}
		return blake3.Sum256(append([]byte{0}, text...))
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	l, r := naiveRoot(t, leaves[:k]), naiveRoot(t, leaves[k:])
	return blake3.Sum256(append(append([]byte{1}, l[:]...), r[:]...))
}

func TestAgainstTheDefinition(t *testing.T) {
	var all []Leaf
	b, tree := NewBuilder(), NewTree()
	for n := range 100 {
		all = append(all, leaf(n))
		if b.Append(all[n]) != nil || tree.Append(all[n]) != nil {
			t.Fatal("a leaf is refused")
		}
		want := Record{naiveRoot(t, all), uint64(n + 1)}
		one, err := b.Record()
		two, err2 := tree.Record()
		if err != nil || err2 != nil || one != want || two != want {
			t.Fatalf("%d leaves: got %v and %v, %v %v, want %v", n+1, one, two, err, err2, want)
		}
		for i := range all {
			p, err := tree.Prove(uint64(i), want.Count)
			if err != nil || p.Verify(all[i], want) != nil {
				t.Fatalf("leaf %d of %d: %v, %v", i, n+1, err, p.Verify(all[i], want))
			}
			if p.Verify(leaf(1000), want) == nil || p.Verify(Leaf{all[i].Attestation, all[i].Item}, want) == nil {
				t.Fatalf("leaf %d of %d: a foreign leaf verifies", i, n+1)
			}
		}
	}
}

// TestEveryChangeFails: a foreign item, another attestation, another place, size,
// hash or root.
func TestEveryChangeFails(t *testing.T) {
	tree := NewTree()
	for n := range 13 {
		_ = tree.Append(leaf(n))
	}
	r, err := tree.Record()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 13 {
		good, _ := tree.Prove(uint64(i), 13)
		for what, change := range map[string]func(p *Proof, l *Leaf, r *Record){
			"item":        func(_ *Proof, l *Leaf, _ *Record) { l.Item = id("foreign", 0) },
			"attestation": func(_ *Proof, l *Leaf, _ *Record) { l.Attestation[3] ^= 1 },
			"no item":     func(_ *Proof, l *Leaf, _ *Record) { l.Item = joulebox.ID{} },
			"index":       func(p *Proof, _ *Leaf, _ *Record) { p.Index ^= 1 },
			"far index":   func(p *Proof, _ *Leaf, _ *Record) { p.Index += 13 },
			"count":       func(p *Proof, _ *Leaf, _ *Record) { p.Count++ },
			"both counts": func(p *Proof, _ *Leaf, r *Record) { p.Count, r.Count = 1, 1 },
			"root":        func(_ *Proof, _ *Leaf, r *Record) { r.Root[0] ^= 1 },
			"no root":     func(_ *Proof, _ *Leaf, r *Record) { r.Root = joulebox.ID{} },
			"shorter":     func(p *Proof, _ *Leaf, _ *Record) { p.Path = p.Path[1:] },
			"longer":      func(p *Proof, _ *Leaf, _ *Record) { p.Path = append(p.Path, r.Root) },
			"a hash":      func(p *Proof, _ *Leaf, _ *Record) { p.Path[len(p.Path)-1][31] ^= 0x80 },
			"order":       func(p *Proof, _ *Leaf, _ *Record) { p.Path[0], p.Path[1] = p.Path[1], p.Path[0] },
		} {
			p, l, rec := Proof{good.Index, good.Count, append([]joulebox.ID{}, good.Path...)}, leaf(i), r
			change(&p, &l, &rec)
			if p.Verify(l, rec) == nil {
				t.Errorf("leaf %d verifies with another %s", i, what)
			}
		}
	}
}

// TestNodeIsNoLeaf: the bytes of a node, taken for a leaf's text or the other way
// round, hash to something else.
func TestNodeIsNoLeaf(t *testing.T) {
	l, r := leaf(0).Hash(), leaf(1).Hash()
	if joulebox.ID(blake3.Sum256(append(append([]byte{0}, l[:]...), r[:]...))) == node(l, r) {
		t.Error("a node hashes like a leaf")
	}
	text := leaf(0).AppendLine(nil)
	if joulebox.ID(blake3.Sum256(append([]byte{1}, text[:len(text)-1]...))) == leaf(0).Hash() {
		t.Error("a leaf hashes like a node")
	}
}

func TestEmptyFleet(t *testing.T) {
	if r, err := NewBuilder().Record(); err == nil {
		t.Errorf("a fleet of nothing is %v", r)
	}
	if r, err := NewTree().Record(); err == nil {
		t.Errorf("a fleet of nothing is %v", r)
	}
	if NewBuilder().Append(Leaf{Item: id("x", 0)}) == nil || NewTree().Append(Leaf{Attestation: id("x", 0)}) == nil {
		t.Error("a leaf without an id is taken")
	}
}

func TestGrowth(t *testing.T) {
	tree := NewTree()
	for n := range 40 {
		_ = tree.Append(leaf(n))
	}
	for m := uint64(1); m <= 40; m++ {
		for n := m; n <= 40; n++ {
			a, _ := tree.RecordAt(m)
			b, _ := tree.RecordAt(n)
			path, err := tree.ProveGrowth(m, n)
			if err != nil || VerifyGrowth(a, b, path) != nil {
				t.Fatalf("%d to %d: %v", m, n, err)
			}
			a.Root[0] ^= 1
			if VerifyGrowth(a, b, path) == nil {
				t.Fatalf("%d to %d: another beginning passes", m, n)
			}
		}
	}
	if _, err := tree.RecordAt(41); err == nil {
		t.Error("a record of leaves that aren't there")
	}
}

func TestSigned(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	other, _, _ := ed25519.GenerateKey(nil)
	tree := NewTree()
	for n := range 5 {
		_ = tree.Append(leaf(n))
	}
	r, _ := tree.Record()
	s, err := Sign(key, r)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := s.Canonical()
	read, err := ParseSigned(text)
	if err != nil || read.Verify(public) != nil || read.VerifyClaimed() != nil || read != s || read.Verify(other) == nil {
		t.Fatalf("got %+v, %v", read, err)
	}
	p, _ := tree.Prove(3, 5)
	m := Membership{leaf(3), p, s}
	proof, err := m.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseMembership(proof)
	if err != nil || back.Verify(public) != nil || back.Verify(other) == nil {
		t.Fatalf("the proof doesn't come back: %v, %v", err, back.Verify(public))
	}
	for _, c := range [][2]string{
		{`"count":5,"root"`, `"count":6,"root"`}, {`"count":5,"index"`, `"count":6,"index"`}, {`"index":3`, `"index":2`},
		{id("item", 3).String(), id("item", 2).String()}, {"sandbox.fleet/1", "sandbox.fleet/2"}, {"fleet-proof/1", "fleet-proof/2"},
		{`"path":[`, `"path":["` + r.Root.String() + `",`}, {`"index":3`, `"index":3,"x":1`}, {`"index":3,`, ``},
	} {
		if !bytes.Contains(proof, []byte(c[0])) {
			t.Fatalf("%s isn't there to be changed", c[0])
		}
		m, err := ParseMembership([]byte(strings.Replace(string(proof), c[0], c[1], 1)))
		if err == nil && m.Verify(public) == nil {
			t.Errorf("%s to %s: it verifies", c[0], c[1])
		}
	}
}

func TestLeavesList(t *testing.T) {
	var text []byte
	for n := range 20 {
		text = leaf(n).AppendLine(text)
	}
	// Another layout is the same leaf.
	text = fmt.Appendf(text, "{ \"item\": %q, \"attestation\": %q }\r\n", id("item", 20), id("attestation", 20))
	n := 0
	for l, err := range Leaves(bytes.NewReader(text)) {
		if err != nil || l != leaf(n) {
			t.Fatalf("leaf %d: got %v, %v", n, l, err)
		}
		n++
	}
	if n != 21 {
		t.Fatalf("got %d leaves", n)
	}
	line := string(leaf(0).AppendLine(nil))
	for _, bad := range []string{
		"\n", "{}\n", line[:len(line)-2], line + "x\n", strings.Replace(line, "b3:", "B3:", 1), strings.Replace(line, `"item"`, `"Item"`, 1),
		strings.Replace(line, "{", `{"x":1,`, 1), strings.Repeat(" ", maxLine) + line,
		strings.Replace(line, leaf(0).Item.String(), joulebox.ID{}.String(), 1),
		strings.Replace(line, `_`, `-`, 1) + line + "{",
	} {
		var last error
		for _, err := range Leaves(strings.NewReader(bad)) {
			last = err
		}
		if last == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"count":1,"root":"` + id("x", 0).String() + `","schema":"sandbox.fleet/1"}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := ParseRecord(src)
		if err != nil {
			return
		}
		once, err := r.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseRecord(once); err != nil || again != r {
			t.Errorf("%s came back as %v, %v", src, again, err)
		}
	})
}

func FuzzMembership(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	tree := NewTree()
	for n := range 3 {
		_ = tree.Append(leaf(n))
	}
	r, _ := tree.Record()
	s, _ := Sign(key, r)
	p, _ := tree.Prove(1, 3)
	text, _ := Membership{leaf(1), p, s}.Canonical()
	f.Add(text)
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := ParseMembership(src)
		if err != nil {
			return
		}
		once, err := m.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseMembership(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, _ := again.Canonical()
		if !bytes.Equal(once, twice) {
			t.Errorf("%s came back as %s", once, twice)
		}
		_ = m.Proof.Verify(m.Leaf, m.Fleet.Record)
	})
}

func FuzzLeaf(f *testing.F) {
	f.Add(leaf(0).AppendLine(nil))
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := parseLeaf(line)
		if err != nil {
			return
		}
		again, err := parseLeaf(bytes.TrimSuffix(l.AppendLine(nil), []byte("\n")))
		if err != nil || again != l {
			t.Errorf("%q came back as %v, %v", line, again, err)
		}
		var slow Leaf
		if jcs.Unmarshal(line, &slow) != nil || slow != l {
			t.Errorf("%q is read as %v, and strictly as %v", line, l, slow)
		}
	})
}
