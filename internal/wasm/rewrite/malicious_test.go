package rewrite

import (
	"encoding/json/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

// verdicts are what other validators said of a folder of hostile modules.
type verdict struct {
	File string `json:"file"`
	V8   bool   `json:"v8_validates"`
}

func verdicts(t *testing.T, folder string) []verdict {
	b := vectors.Read(t, group, filepath.Join("malicious", folder, "cases.json"))
	var list []verdict
	if json.Unmarshal(b, &list) == nil {
		return list
	}
	var d struct {
		Cases []verdict `json:"cases"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d.Cases
}

// refusedAnyway are valid modules that are beyond a limit or want a proposal.
var refusedAnyway = map[string]string{
	"table-min-10000000.wasm": "want at most 1048576",
	"2131.wasm":               "threads",
}

// TestMaliciousVectors: what V8 refuses is refused, what it accepts is accepted
// and metered, and the exceptions have a name.
func TestMaliciousVectors(t *testing.T) {
	n := map[bool]int{}
	for _, folder := range []string{"crafted", "wamr-issues", "wazero-fuzz"} {
		for _, v := range verdicts(t, folder) {
			b := vectors.Read(t, group, filepath.Join("malicious", folder, v.File))
			out, info, err := Meter(b, Options{})
			n[err == nil]++
			if why := refusedAnyway[v.File]; why != "" {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: got %v, want a refusal that says %q", v.File, err, why)
				}
				continue
			}
			if (err == nil) != v.V8 {
				t.Errorf("%s: got %v, want valid to be %v", v.File, err, v.V8)
			}
			if err != nil {
				continue
			}
			if _, err := decodeModule(out, wideLimits(), true, nil); err != nil {
				t.Errorf("%s: the metered module is invalid: %v", v.File, err)
			}
			if info.Functions < 10_000 { // the rest only takes the engine's time
				runTrial(t, b)
			}
		}
	}
	if n[true] != 105 || n[false] != 40 {
		t.Errorf("got %d accepted and %d refused, want 105 and 40", n[true], n[false])
	}
}

// wideLimits admit what metering adds.
func wideLimits() Limits {
	l := DefaultLimits()
	l.Params, l.Results, l.Nesting = l.Params+2, l.Results+1, 4*l.Nesting
	l.BodyBytes, l.AllLocalJoins = 8*l.BodyBytes, 8*l.AllLocalJoins
	l.LabelValues, l.AllLabelValues = 8*l.LabelValues, 8*l.AllLabelValues
	l.LocalJoins *= 8
	return l
}
