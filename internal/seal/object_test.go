package seal

import (
	"crypto/ed25519"
	"testing"
)

// FuzzObject: what is read writes the same bytes again, and its core is what was
// signed.
func FuzzObject(f *testing.F) {
	public, key, _ := ed25519.GenerateKey(nil)
	core := []byte(`{"a":1}`)
	s, err := Sign(key, core)
	if err != nil {
		f.Fatal(err)
	}
	text, err := Object{core, s}.Canonical()
	if err != nil {
		f.Fatal(err)
	}
	o, err := ParseObject(text)
	if err != nil || o.Seal.Verify(o.Core, public) != nil {
		f.Fatalf("what was signed doesn't come back: %v", err)
	}
	f.Add(text)
	f.Add([]byte(`{"core":{},"seal":{}}`))
	f.Add([]byte(`{"core":7,"seal":{"content_sha256_hex":"","signature_hex":"","public_key_hex":""}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		o, err := ParseObject(src)
		if err != nil {
			return
		}
		once, err := o.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseObject(once); err != nil || string(again.Core) != string(o.Core) || again.Seal != o.Seal {
			t.Errorf("%s came back as %v, %v", src, again, err)
		}
	})
}
