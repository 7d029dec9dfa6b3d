package host_test

import (
	"os"
	"testing"

	"github.com/joulebox/joulebox/host"
)

func TestDefaultEntry(t *testing.T) {
	for file, want := range map[string]string{"hello/hello": "_start", "cat/cat": "_start", "counter/counter": "_start", "spin/spin": "run", "eater/eater": "run"} {
		image, err := os.ReadFile("../examples/" + file + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		if got := host.DefaultEntry(image); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
		// However a module is cut short, looking at it ends and doesn't panic.
		for n := range image {
			if got := host.DefaultEntry(image[:n]); got != "_start" && got != want {
				t.Errorf("%s cut at %d: got %q", file, n, got)
			}
		}
	}
	// "run" as a memory is no function to call.
	memory := append([]byte("\x00asm\x01\x00\x00\x00"), 7, 7, 1, 3, 'r', 'u', 'n', 2, 0)
	if got := host.DefaultEntry(memory); got != "_start" {
		t.Errorf("a memory called run: got %q", got)
	}
	// A count that lies ends where the bytes do.
	lie := append([]byte("\x00asm\x01\x00\x00\x00"), 7, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f)
	if got := host.DefaultEntry(lie); got != "_start" {
		t.Errorf("a lying count: got %q", got)
	}
}
