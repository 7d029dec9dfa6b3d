package grant_test

import (
	"encoding/json/v2"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/vectors"
)

// bundleVectors are minted by another program in another language.
const wantBundles = 6

// TestGrantsOfBundles parses the grants of every bundle vector and wants the
// same canonical bytes and id; so does the compiled enforcer's set.
func TestGrantsOfBundles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, "11-bundle"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < wantBundles {
		t.Fatalf("got %d bundle vectors, want at least %d", len(files), wantBundles)
	}
	for _, f := range files {
		var v struct {
			Steps struct {
				JCS string `json:"grants_jcs"`
				ID  string `json:"grants_id"`
			} `json:"steps"`
		}
		vectors.Load(t, "11-bundle", filepath.Base(f), &v)
		s, err := grant.Parse([]byte(v.Steps.JCS))
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		checkIdentity(t, filepath.Base(f), s, v.Steps.JCS, v.Steps.ID)
		// Members in another order and with blanks are the same object.
		loose := reindent(t, v.Steps.JCS)
		s2, err := grant.Parse(loose)
		if err != nil {
			t.Errorf("%s reindented: %v", f, err)
			continue
		}
		checkIdentity(t, filepath.Base(f)+" reindented", s2, v.Steps.JCS, v.Steps.ID)
	}
}

func checkIdentity(t *testing.T, name string, s grant.Set, wantJCS, wantID string) {
	t.Helper()
	b, err := s.Canonical()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if string(b) != wantJCS {
		t.Errorf("%s: canonical:\n got %s\nwant %s", name, b, wantJCS)
	}
	id, err := s.ID()
	if err != nil || id.String() != wantID {
		t.Errorf("%s: id: got %v (%v), want %s", name, id, err, wantID)
	}
	if _, err := grant.NewEnforcer(s); err != nil {
		t.Errorf("%s: enforcer: %v", name, err)
	}
}

func reindent(t *testing.T, s string) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	// Go's map order is random, which is what is wanted here.
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("\n  "), append(b, '\n')...)
}
