package rewrite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

func seeds(f *testing.F) {
	for _, p := range []string{"testdata/guests/*.wasm", "testdata/bench/*.wasm"} {
		for _, name := range must(filepath.Glob(p)) {
			f.Add(must(os.ReadFile(name)))
		}
	}
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
}

// FuzzScan: never a panic, never slow, and what it accepts the engine accepts.
// (The other way round is TestMutants' matter: the engine's decoder allocates by
// what a module claims, so it can't be given just anything.)
func FuzzScan(f *testing.F) {
	seeds(f)
	rt := interpreter()
	f.Fuzz(func(t *testing.T, b []byte) {
		begin := time.Now()
		_, err := Scan(b, DefaultLimits())
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("%d bytes took %v", len(b), d)
		}
		if err != nil {
			return
		}
		if e := compiles(rt, b); e != nil && !engineOnly(e) {
			t.Errorf("accepted; the engine says %v", e)
		}
	})
}

// interpreter validates without compiling.
func interpreter() wazero.Runtime {
	return wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
}

// compiles is the engine's verdict. Its validator panics on some modules, which
// counts as a refusal here.
func compiles(rt wazero.Runtime, b []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	cm, err := rt.CompileModule(context.Background(), b)
	if err == nil {
		err = cm.Close(context.Background())
	}
	return err
}

// engineOnly are refusals of the engine's own: it reads name sections, which
// the standard says to ignore when they are broken.
func engineOnly(err error) bool { return strings.Contains(err.Error(), "section custom") }

// TestMutants changes each byte of each small guest in ten ways and holds Scan's
// verdict against the engine's. Scan may be stricter in two ways only.
func TestMutants(t *testing.T) {
	rt := interpreter()
	n, refused := 0, 0
	for _, file := range must(filepath.Glob("testdata/guests/*.wasm")) {
		b := must(os.ReadFile(file))
		for i := 8; i < len(b); i++ {
			for _, x := range []byte{b[i] ^ 1, b[i] ^ 2, b[i] ^ 4, b[i] ^ 0x80, b[i] + 1, 0, 0x0b, 0x40, 0x6f, 0x7f} {
				m := slices.Clone(b)
				m[i] = x
				_, err := Scan(m, DefaultLimits())
				if err != nil && claimsMuch(err) {
					continue
				}
				n++
				e := compiles(rt, m)
				if err != nil {
					refused++
				}
				if (err == nil) != (e == nil) && !(err == nil && engineOnly(e)) && !(e == nil && stricter(err)) {
					t.Errorf("%s, byte 0x%x set to 0x%x: got %v, the engine says %v", file, i, x, err, e)
				}
			}
		}
	}
	if n < 12_000 || refused < n/4 {
		t.Errorf("%d mutants, %d refused: want 12000 and a quarter of them", n, refused)
	}
}

// stricter: the engine reads constants whose unused bits aren't the sign's, and long forms of
// vector instructions as other instructions.
func stricter(err error) bool {
	return strings.Contains(err.Error(), "integer takes more than") || strings.Contains(err.Error(), "shortest form")
}

// claimsMuch: the engine might allocate what the module claims.
func claimsMuch(err error) bool {
	for _, why := range []string{"got a count", "got a size", "want at most"} {
		if strings.Contains(err.Error(), why) {
			return true
		}
	}
	return false
}

// FuzzMeter: what is rewritten validates, and does and counts the same as the
// plain way.
func FuzzMeter(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		out, _, err := Meter(b, Options{})
		if err != nil {
			return
		}
		if _, err := decodeModule(out, wideLimits(), true, nil); err != nil {
			t.Fatalf("the metered module is invalid: %v", err)
		}
		runTrial(t, b)
	})
}
