package jcs

import (
	"encoding/json/jsontext"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

type inner struct {
	N uint8    `json:"n"`
	L []string `json:"l"`
}

type outer struct {
	A string                 `json:"a"`
	B inner                  `json:"b"`
	M map[string]uint32      `json:"m,omitempty"`
	O string                 `json:"o,omitempty"`
	T joulebox.Tier          `json:"t"`
	R jsontext.Value         `json:"r,omitzero"`
	P *inner                 `json:"p,omitempty"`
	E []inner                `json:"e,omitempty"`
	W joulebox.Outcome       `json:"w,omitzero"`
	D []joulebox.DeviceClass `json:"d,omitempty"`
}

func TestUnmarshal(t *testing.T) {
	const in = ` {"t":"S2", "r":{"y":1,"x":"\u0041"},"b":{"l":[],"n":7},"a":"x","m":{"k":1},"d":["Cpu"],"w":"Failed"} `
	var got outer
	if err := Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	want := outer{A: "x", B: inner{N: 7, L: []string{}}, M: map[string]uint32{"k": 1}, T: joulebox.S2,
		R: jsontext.Value(`{"x":"A","y":1}`), W: joulebox.Failed, D: []joulebox.DeviceClass{joulebox.CPU}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	const b, ts = `"b":{"n":1,"l":[]}`, `,"t":"S0"}`
	for name, c := range map[string]struct {
		in, pointer, words string
		line, column       int
	}{
		"missing":            {"{\"a\":\"x\",\n \"b\":{\"n\":1}" + ts, "/b/l", `missing member "l"; add it`, 2, 6},
		"missing at top":     {"\n {" + b + ts, "/a", `missing member "a"`, 2, 2},
		"missing in array":   {`{"a":"x",` + b + `,"e":[{"n":1,"l":[]},{"l":[]}]` + ts, "/e/1/n", `missing member "n"`, 1, 49},
		"unknown":            {`{"a":"x",` + b + `,"zz":1` + ts, "/zz", `unknown member "zz"`, 1, 29},
		"case":               {`{"A":"x",` + b + ts, "/A", `unknown member "A"`, 1, 2},
		"empty and left out": {`{"a":"x","o":"",` + b + ts, "/o", "never written", 1, 14},
		"type":               {`{"a":1,` + b + ts, "/a", "got a number, want a string", 1, 6},
		"array for object":   {`[]`, "", "got an array, want an object", 1, 1},
		"boolean":            {`{"a":true,` + b + ts, "/a", "got a boolean, want a string", 1, 6},
		"out of range":       {`{"a":"é","b":{"n":256,"l":[]}` + ts, "/b/n", "8 bits", 1, 19},
		"in an array":        {`{"a":"x","b":{"n":1,"l":["y", 2]}` + ts, "/b/l/1", "got a number, want a string", 1, 31},
		"text type":          {`{"a":"x",` + b + `,"t":"S9"}`, "/t", `got "S9", want S0 to S7`, 1, 33},
		"json type":          {`{"a":"x",` + b + `,"w":"Done"` + ts, "/w", `outcome: got "Done"`, 1, 33},
		"null":               {`{"a":null,` + b + ts, "/a", "null is not allowed", 1, 6},
		"duplicate":          {`{"a":"x","a":"y",` + b + ts, "/a", "duplicate", 1, 10},
		"trailing":           {`{"a":"x",` + b + ts + `,`, "", "follows the value", 1, 38},
	} {
		var v outer
		err := Unmarshal([]byte(c.in), &v)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: got %v, want an *Error", name, err)
		} else if e.Pointer != c.pointer || e.Line != c.line || e.Column != c.column || !strings.Contains(e.Msg, c.words) {
			t.Errorf("%s: got %v (pointer %q), want line %d, column %d, %q, %q", name, e, e.Pointer, c.line, c.column, c.pointer, c.words)
		}
	}
}

// A value that held something before is caught: what isn't in the text must not be
// in the object.
func TestUnmarshalIntoUsedValue(t *testing.T) {
	v := struct {
		A string `json:"a,omitempty"`
		B string `json:"b"`
	}{A: "left over"}
	if err := Unmarshal([]byte(`{"b":"x"}`), &v); err == nil || !strings.Contains(err.Error(), `missing member "a"`) {
		t.Errorf("got %v, want a missing member", err)
	}
}
