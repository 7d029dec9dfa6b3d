package bundle_test

import (
	"bytes"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/seal"
	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/journal"
)

// refused reports whether a changed text is refused: it doesn't parse, or it is
// invalid, even to one who trusts the signer. The third way out is no change at
// all: another layout of the same bundle.
func refused(text, original []byte, o bundle.Options) bool {
	b, err := bundle.Parse(text)
	if err != nil {
		return true
	}
	return b.Verify(o).Verdict == bundle.Invalid || bytes.Equal(b.Marshal(), original)
}

// substitutes are other bytes for c: neighbours, the other case, and bytes with
// a meaning in JSON and base64url.
func substitutes(c byte) []byte {
	return []byte{c ^ 1, c ^ 0x20, c + 1, 'A', '"'}
}

// Every single byte of every bundle's text, replaced by several others: each
// one is refused.
func TestEveryByteIsBound(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			original, o := v.parse(t).Marshal(), v.options()
			judged := 0
			for i, c := range original {
				subs := substitutes(c)
				if testing.Short() {
					subs = subs[:1]
				}
				for _, s := range subs {
					if s == c {
						continue
					}
					judged++
					changed := bytes.Clone(original)
					changed[i] = s
					if !refused(changed, original, o) {
						t.Fatalf("byte %d, %q, replaced by %q: accepted: %s", i, c, s, around(changed, i))
					}
				}
			}
			vectors.AtLeast(t, "changed bytes", judged, len(original))
		})
	}
}

// The same over the layout that the vectors come in: bytes between tokens may
// change, and then nothing has.
func TestEveryByteIsBoundInAnyLayout(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			original, o := v.parse(t).Marshal(), v.options()
			for i, c := range v.Bundle {
				changed := bytes.Clone(v.Bundle)
				changed[i] = c ^ 1
				if !refused(changed, original, o) {
					t.Fatalf("byte %d, %q, replaced: accepted: %s", i, c, around(changed, i))
				}
			}
		})
	}
}

// Every text with one byte less or doubled is refused.
func TestEveryByteIsNeeded(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			original, o := v.parse(t).Marshal(), v.options()
			stride := 1
			if testing.Short() {
				stride = 7
			}
			for i := 0; i < len(original); i += stride {
				if !refused(append(bytes.Clone(original[:i]), original[i+1:]...), original, o) {
					t.Errorf("byte %d removed: accepted: %s", i, around(original, i))
				}
				if !refused(append(bytes.Clone(original[:i+1]), original[i:]...), original, o) {
					t.Errorf("byte %d doubled: accepted: %s", i, around(original, i))
				}
			}
		})
	}
}

func around(text []byte, i int) string { return string(text[max(0, i-30):min(len(text), i+30)]) }

// The same for bundles of our own with the members that the vectors lack, so
// that it holds where the vectors are missing.
func TestEveryByteOfOurOwnIsBound(t *testing.T) {
	r := honest()
	core := must[[]byte](t)(jcs.Strict([]byte(`{"schema":"sandbox.env-manifest/1","image":"x"}`)))
	r.manifest = &bundle.Manifest{Core: core, Seal: must[attestation.Seal](t)(seal.Sign(testKey(3), core))}
	r.unit.Manifest, r.unit.Challenge = joulebox.Sum(core), []byte("12345678")
	r.image, r.tier, r.unit.Entrypoint = hostImage(), joulebox.S3, []string{"/bin/true"}
	r.journal = sampleJournal(t)
	r.fields.JournalRoot, _, _ = journal.Root(r.journal)
	original, o := r.bundle(t).Marshal(), pinned(r.key)
	for i, c := range original {
		changed := bytes.Clone(original)
		changed[i] = c ^ 1
		if !refused(changed, original, o) {
			t.Errorf("byte %d, %q, replaced: accepted: %s", i, c, around(changed, i))
		}
	}
}
