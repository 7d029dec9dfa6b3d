package early

import (
	"strings"
	"testing"
)

func TestNeeded(t *testing.T) {
	for line, want := range map[string]bool{
		"joulebox":                                      false,
		"joulebox run":                                  false,
		"joulebox run a.wasm":                           true,
		"joulebox run --quiet a.wasm x":                 true,
		"joulebox run --quiet -- a.wasm x":              true,
		"joulebox run --quiet -- ./x":                   true,
		"joulebox run --quiet -- ls":                    false,
		"joulebox verify run":                           false,
		"joulebox --x run a.wasm":                       false,
		"joulebox-host":                                 false,
		"joulebox explain a.wasm in run":                false,
		"joulebox run --host-process=in-process a.wasm": false,
		"joulebox run --host-process in-process a.wasm": false,
	} {
		if got := needed(strings.Fields(line)); got != want {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}

func TestTakenOnce(t *testing.T) {
	if Take() != nil {
		t.Error("a test needs no host process")
	}
}

func TestContains(t *testing.T) {
	for _, c := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"a", "a"}, {"ab", "b"}, {"ab", "c"}, {"in-proces", "in-process"}, {"xin-processx", "in-process"}} {
		if got, want := contains(c[0], c[1]), strings.Contains(c[0], c[1]); got != want {
			t.Errorf("%q in %q: got %v", c[1], c[0], got)
		}
	}
}
