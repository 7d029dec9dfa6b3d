package nvgpu

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"slices"
	"strings"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/jose"
)

// maxBundle is far more than the tokens of a machine are.
const maxBundle = 4 << 20

// maxDevices is more GPUs and switches than a machine has.
const maxDevices = 256

// tokens is a bundle whose signatures weren't checked yet.
type tokens struct {
	overall *jose.Token
	names   []string // of the devices, sorted
	device  map[string]*jose.Token
	text    map[string]string // the devices' tokens as they were handed in
}

// parse reads a bundle: a pair of ["JWT", token] and {name: token…}.
func parse(src []byte) (*tokens, error) {
	bad := func(format string, args ...any) error { return evidence.Refuse(evidence.Malformed, format, args...) }
	if len(src) > maxBundle {
		return nil, bad("got %d bytes, want at most %d", len(src), maxBundle)
	}
	var pair [2]jsontext.Value
	var overall [2]string
	t := &tokens{device: map[string]*jose.Token{}}
	if err := json.Unmarshal(bytes.TrimRight(src, "\n"), &pair); err != nil {
		return nil, bad("want an array of an overall token and the devices': %v", err)
	}
	if json.Unmarshal(pair[0], &overall) != nil || overall[0] != "JWT" || pair[1].Kind() != '{' || json.Unmarshal(pair[1], &t.text) != nil {
		return nil, bad(`want ["JWT", token] and an object of tokens by device`)
	}
	if len(t.text) == 0 || len(t.text) > maxDevices {
		return nil, bad("got %d devices, want 1 to %d", len(t.text), maxDevices)
	}
	var err error
	if t.overall, err = jose.Parse(overall[1], jose.ES384); err != nil {
		return nil, err
	}
	t.names = slices.Sorted(maps.Keys(t.text))
	for _, name := range t.names {
		if name == "" || strings.TrimFunc(name, plain) != "" {
			return nil, bad("a device is named %q", name)
		}
		if t.device[name], err = jose.Parse(t.text[name], jose.ES384); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// plain is what a device's name is made of.
func plain(r rune) bool {
	return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// all are the tokens by name, the overall one first.
func (t *tokens) all() (names []string, list []*jose.Token) {
	names, list = []string{"overall"}, []*jose.Token{t.overall}
	for _, n := range t.names {
		names, list = append(names, n), append(list, t.device[n])
	}
	return names, list
}
