package rewrite

import (
	"encoding/base64"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strconv"
)

// script is a test script as wast2json writes it, its modules inlined or beside it.
type script struct {
	File     string    `json:"-"`
	Commands []command `json:"commands"`
}

type command struct {
	Type       string  `json:"type"`
	Line       int     `json:"line"`
	Name       string  `json:"name"`
	As         string  `json:"as"`
	Binary     string  `json:"binary_b64"`
	Filename   string  `json:"filename"`
	ModuleType string  `json:"module_type"`
	Action     action  `json:"action"`
	Expected   []value `json:"expected"`
	Text       string  `json:"text"`
}

type action struct {
	Type   string  `json:"type"`
	Module string  `json:"module"`
	Field  string  `json:"field"`
	Args   []value `json:"args"`
}

type value struct {
	Type     string `json:"type"`
	LaneType string `json:"lane_type"`
	Value    any    `json:"value"`
}

func readScript(file string) (*script, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &script{File: file}
	return s, json.Unmarshal(b, s)
}

// wasm is the command's module; nil if it has none in binary form.
func (s *script) wasm(c *command) []byte {
	if c.Binary != "" {
		return must(base64.StdEncoding.DecodeString(c.Binary))
	}
	if c.Filename == "" || filepath.Ext(c.Filename) != ".wasm" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(s.File), c.Filename))
	if err != nil {
		return nil
	}
	return b
}

// bits are the words that a value takes on wazero's stack; ok is false for what
// a number can't hold.
func (v value) bits() (words []uint64, ok bool) {
	switch x := v.Value.(type) {
	case string:
		if x == "null" {
			return []uint64{0}, true
		}
		n, err := strconv.ParseUint(x, 10, 64)
		if err != nil {
			return nil, false
		}
		if v.Type == "externref" || v.Type == "funcref" {
			n++ // zero is null
		}
		return []uint64{n}, true
	case []any:
		return v.lanes(x)
	}
	return nil, false
}

func (v value) lanes(x []any) ([]uint64, bool) {
	width := 128 / len(x)
	out := make([]uint64, 2)
	for k, lane := range x {
		n, err := strconv.ParseUint(lane.(string), 10, 64)
		if err != nil {
			return nil, false
		}
		n &= 1<<width - 1
		if width == 64 {
			n, _ = strconv.ParseUint(lane.(string), 10, 64)
		}
		out[k*width/64] |= n << (k * width % 64)
	}
	return out, true
}

// matches compares the words that came out, and returns how many it took.
func (v value) matches(got []uint64) (int, bool) {
	if x, ok := v.Value.([]any); ok {
		return 2, v.lanesMatch(x, got)
	}
	s, _ := v.Value.(string)
	switch s {
	case "nan:canonical", "nan:arithmetic":
		if v.Type == "f32" {
			return 1, got[0]&0x7fc00000 == 0x7fc00000
		}
		return 1, got[0]&0x7ff8000000000000 == 0x7ff8000000000000
	}
	want, ok := v.bits()
	if v.Type == "i32" || v.Type == "f32" { // the rest of the word is noise
		got[0] &= 1<<32 - 1
	}
	return 1, ok && want[0] == got[0]
}

func (v value) lanesMatch(x []any, got []uint64) bool {
	width := 128 / len(x)
	for k, lane := range x {
		bits := got[k*width/64] >> (k * width % 64)
		if width < 64 {
			bits &= 1<<width - 1
		}
		if _, ok := (value{Type: "f" + strconv.Itoa(width), Value: lane}).matches([]uint64{bits}); ok {
			continue
		}
		n, ok := value{Type: v.LaneType, Value: lane}.bits()
		if !ok || n[0]&(1<<(width-1)<<1-1) != bits {
			return false
		}
	}
	return true
}
