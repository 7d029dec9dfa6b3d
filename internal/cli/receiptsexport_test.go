package cli

import (
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"testing"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/store"
)

// A link says of every run what its bundle says, and nothing that isn't kept has
// a SHA-256.
func TestVectorsLinkStatement(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	judged := 0
	for _, name := range []string{"empty-s2.json", "gpu-measured-s5.json", "native-host-s3.json", "energy-breach.json", "ceilings-and-hashes.json", "sovereign-s7.json"} {
		var v struct{ Bundle jsontext.Value }
		vectors.Load(t, "11-bundle", name, &v)
		b, err := bundle.Parse(v.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		src, err := linkStatement(t.Context(), s, b)
		if err != nil {
			t.Fatal(name, err)
		}
		var d linkDocument
		if err := json.Unmarshal(src, &d, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(name, err)
		}
		judged++
		id, result := b.Statement().ID(), b.Result()
		_, hasCode := d.Predicate.Byproducts["return-value"]
		_, measured := d.Predicate.Byproducts["measured_uj"]
		if d.Type != intotoStatement || d.PredicateType != intotoLink || d.Subject[0].Digest["blake3"] != hex.EncodeToString(id[:]) ||
			d.Subject[0].Digest["sha256"] != sha256Hex(b.Statement().Core()) || d.Subject[1].Digest["blake3"] != hex.EncodeToString(result.Stdout[:]) ||
			hasCode != (result.ExitCode != nil) || measured != b.Receipt().Total().HasMeasured || d.Predicate.Environment["tier"] != b.Statement().Fields().Tier.String() {
			t.Errorf("%s: got %s", name, src)
		}
		if d.Subject[1].Digest["sha256"] != "" || len(d.Predicate.Command) == 0 || len(d.Predicate.Materials) < 2 {
			t.Errorf("%s: got %+v", name, d)
		}
	}
	vectors.AtLeast(t, "runs as links", judged, 6)
}
