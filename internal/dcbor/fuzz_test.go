package dcbor

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

var seeds = []string{
	"00", "a26161016162820203", "a2200001 00", "bf61610161629f0203ffff", "fb3ff0000000000000", "c249010000000000000000", "5f42010243030405ff",
	"7f61616161ff", "d28443a10127a04100", "a201001801 00", "9bffffffffffffffff", "f97e01", "c48221196ab3", "818181818181", "3bffffffffffffffff", "f8ff",
	"a6626964782e62333a61616161616161616161616161616161616161616161616161616161616161616161616161616161616e01", "",
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		if b, err := hex.DecodeString(s); err == nil {
			f.Add(b)
		}
	}
	joule := uint64(1) << 40
	for _, v := range []any{core{Raw: []byte{1}, Parts: []part{{Joule: &joule}}, Text: "x"}, claims{Nonce: []byte{9}, Private: map[string]any{"a": "b"}}} {
		b, err := Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzUnmarshal: what parses re-encodes to the same bytes, whatever it parses into.
func FuzzUnmarshal(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{new(core), new(claims), new([]uint64), new(map[string]uint64), new(map[int64]string), new([]byte), new(string), new(any)} {
			if err := Unmarshal(b, v); err != nil {
				continue
			}
			again, err := Marshal(v)
			if err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%T: %x re-encodes to %x, %v", v, b, again, err)
			}
		}
	})
}

// FuzzCheck: what passes is its own canonical form, and the lenient decoder agrees
// that it is well formed.
func FuzzCheck(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		err := Check(b)
		if e, ok := err.(*Error); err != nil && (!ok || e.Offset < 0 || e.Offset > len(b)) {
			t.Fatalf("%x: refused without a place: %v", b, err)
		}
		if err != nil {
			return
		}
		if again, err := Canonical(b); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x passes and its canonical form is %x, %v", b, again, err)
		}
		if err := oracle.Wellformed(b); err != nil {
			t.Fatalf("%x passes, the library says %v", b, err)
		}
	})
}

// FuzzCanonical: a fixed point that decodes to what the input decodes to; nothing
// that isn't well formed gets through, and little that is gets refused.
func FuzzCanonical(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		wellFormed := oracle.Wellformed(b) == nil
		out, err := Canonical(b)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Offset < 0 || e.Offset > len(b) {
				t.Fatalf("%x: refused without a place: %v", b, err)
			}
			return
		}
		if !wellFormed {
			t.Fatalf("%x is not well formed (%v) and became %x", b, oracle.Wellformed(b), out)
		}
		again, err := Canonical(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%x is no fixed point: %x, %v", out, again, err)
		}
		var before, after any
		if oracle.Unmarshal(b, &before) != nil || oracle.Unmarshal(out, &after) != nil {
			return // maps with keys that Go maps can't have
		}
		// The library sorts and shortens too; bignums it does not reduce inside of any.
		one, err1 := oracleEnc.Marshal(before)
		two, err2 := oracleEnc.Marshal(after)
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Fatalf("%x and its canonical form %x decode differently: %x, %v and %x, %v", b, out, one, err1, two, err2)
		}
	})
}

var (
	oracle = must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: 2*MaxDepth + 2, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1,
		IntDec: cbor.IntDecConvertNone, BigIntDec: cbor.BigIntDecodeValue, TimeTagToAny: cbor.TimeTagToRFC3339Nano,
	}.DecMode())
	oracleEnc = must(cbor.CoreDetEncOptions().EncMode())
)
