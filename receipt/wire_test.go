package receipt

import (
	"bytes"
	"crypto/ed25519"
	"math"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/dcbor"
)

func mustMarshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := dcbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sample(t testing.TB) *Receipt {
	t.Helper()
	r, err := New(unitID, joulebox.S5, 1<<53+1, [NonceSize]byte{9}, []Energy{Measured(joulebox.CPU, 1, 2), Measured(joulebox.GPU, 10, 20)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A core with one member changed to something that its type allows and §6
// doesn't is refused, and the error names the member.
func TestParseNamesTheMember(t *testing.T) {
	five := uint64(5)
	for _, c := range []struct {
		want string
		edit func(*wireCore)
	}{
		{"jc_receipt", func(w *wireCore) { w.Profile = "sandbox/2" }},
		{"nonce", func(w *wireCore) { w.Nonce = w.Nonce[:15] }},
		{"nonce", func(w *wireCore) { w.Nonce = append(w.Nonce, 0) }},
		{"tier", func(w *wireCore) { w.Tier = "S8" }},
		{"tier", func(w *wireCore) { w.Tier = "s5" }},
		{"unit_id", func(w *wireCore) { w.UnitID = w.UnitID[:45] }},
		{"unit_id", func(w *wireCore) { w.UnitID = joulebox.ID{}.String() }},
		{"total.estimated_uj: got 21", func(w *wireCore) { w.Total.Estimated-- }},
		{"total.measured_uj: is absent", func(w *wireCore) { w.Total.Measured = nil }},
		{"total.measured_uj: got 5", func(w *wireCore) { w.Total.Measured = &five }},
		{"device class", func(w *wireCore) { w.Devices[0].Class = "CPU" }},
		{"provenance", func(w *wireCore) { w.Devices[0].Provenance = "Guess" }},
		{"order of §2.3", func(w *wireCore) { w.Devices[0], w.Devices[1] = w.Devices[1], w.Devices[0] }},
		{"measured_uj of Gpu", func(w *wireCore) { w.Devices[1].Measured = nil }},
		{"no record", func(w *wireCore) { w.Devices = []wireDevice{} }},
	} {
		w := wireOf(sample(t))
		c.edit(&w)
		_, err := ParseCore(mustMarshal(t, w))
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("got error %v, want it to name %q", err, c.want)
		}
	}
}

// A member more, less or of another type is refused, at every depth.
func TestParseWantsTheClosedSet(t *testing.T) {
	type pair = map[string]any
	core := func() pair {
		return pair{
			"tier": "S2", "nonce": make([]byte, 16), "total": pair{"estimated_uj": 1}, "unit_id": unitID.String(), "sequence": 1,
			"devices": []any{pair{"class": "Cpu", "provenance": "Estimator", "estimated_uj": 1}}, "jc_receipt": Profile,
		}
	}
	if _, err := ParseCore(mustMarshal(t, core())); err != nil {
		t.Fatalf("the whole core: %v", err)
	}
	refused := 0
	refuse := func(what string, c pair) {
		t.Helper()
		refused++
		if _, err := ParseCore(mustMarshal(t, c)); err == nil {
			t.Errorf("accepted a core with %s", what)
		}
	}
	for name := range core() {
		c := core()
		delete(c, name)
		refuse("no "+name, c)
		for _, other := range []any{7, "x", []byte{1}, []any{1}, pair{"x": 1}} {
			c = core()
			c[name] = other
			if name != "sequence" || other != 7 {
				refuse(name+" of another type", c)
			}
		}
	}
	c := core()
	c["extra"] = 1
	refuse("an extra member", c)
	c = core()
	c["total"] = pair{"estimated_uj": 1, "extra": 1}
	refuse("an extra member in total", c)
	c = core()
	c["devices"] = []any{pair{"class": "Cpu", "provenance": "Estimator"}}
	refuse("a record without its estimate", c)
	if refused < 7+7*5-1+3 {
		t.Errorf("judged %d cores", refused)
	}
}

func TestSequenceTakesAll64Bits(t *testing.T) {
	for _, n := range []uint64{0, 23, 24, 1 << 32, 1<<53 + 1, math.MaxUint64} {
		r, err := New(unitID, joulebox.S0, n, [NonceSize]byte{}, []Energy{Estimated(joulebox.CPU, 0)})
		if err != nil {
			t.Fatal(err)
		}
		read, err := ParseCore(r.Core())
		if err != nil {
			t.Fatal(err)
		}
		if read.Sequence() != n {
			t.Errorf("sequence: got %d, want %d", read.Sequence(), n)
		}
	}
}

func TestSealAndOpen(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	pub := key.Public().(ed25519.PublicKey)
	r := sample(t)
	envelope, err := r.Seal(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range [][]byte{envelope, envelope[1:]} { // with tag 18 and without
		read, err := Open(e, pub)
		if err != nil {
			t.Fatal(err)
		}
		if read.ID() != r.ID() || !bytes.Equal(read.Core(), r.Core()) || read.Nonce() != r.Nonce() || read.Tier() != r.Tier() || read.UnitID() != r.UnitID() {
			t.Error("what was opened isn't what was sealed")
		}
	}
	if _, err := Open(envelope, other.Public().(ed25519.PublicKey)); err == nil {
		t.Error("opened under another key")
	}
	for i := range envelope {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(envelope)
			bad[i] ^= flip
			if _, err := Open(bad, pub); err == nil {
				t.Errorf("opened with byte %d changed", i)
			}
		}
	}
	if _, err := Parse(envelope); err != nil {
		t.Error(err)
	}
}

// What a caller is handed can't change the receipt.
func TestReceiptDoesNotAlias(t *testing.T) {
	r := sample(t)
	id := r.ID()
	r.Core()[0] ^= 0xff
	r.Devices()[0] = Energy{}
	if joulebox.Sum(r.Core()) != id || r.Devices()[0].Provenance() != HwShunt {
		t.Error("a caller's write reached the receipt")
	}
}

// FuzzReceipt: what parses encodes to the same bytes, and so does what New
// makes of its parts, but for the measured figure beside a model that no maker
// writes.
func FuzzReceipt(f *testing.F) {
	f.Add(sample(f).Core())
	one, _ := New(unitID, joulebox.S2, 1, [NonceSize]byte{}, []Energy{Estimated(joulebox.CPU, 0)})
	f.Add(one.Core())
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, core []byte) {
		r, err := ParseCore(core)
		if err != nil {
			return
		}
		again, err := New(r.UnitID(), r.Tier(), r.Sequence(), r.Nonce(), r.Devices())
		if err != nil {
			t.Fatalf("parsed and can't be built: %v", err)
		}
		if !bytes.Equal(again.Core(), core) {
			t.Errorf("encoded again:\n got %x\nfrom %x", again.Core(), core)
		}
	})
}
