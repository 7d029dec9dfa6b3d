package hostcall

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox/internal/toll"
)

// TestABIPage holds docs/abi.md to the code: other languages are written from it.
func TestABIPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/abi.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	var want []string
	for _, s := range signatures {
		want = append(want, fmt.Sprintf("| `%s(", s.name), fmt.Sprintf("` | `(%s) -> %s` |", spell(s.params), spell(s.result)))
	}
	for code, name := range codeNames {
		want = append(want, fmt.Sprintf("| %d | %s |", code, name))
	}
	for level, name := range levelNames {
		want = append(want, fmt.Sprintf("%d %s", level, name))
	}
	d := toll.Default()
	want = append(want,
		fmt.Sprintf("a key %d, a value %d, a path or endpoint %d, one transfer %d", MaxKey, MaxValue, MaxName, MaxTransfer),
		fmt.Sprintf("a log message %d", MaxLog),
		fmt.Sprintf("when it is %d, at the end when it is %d", Replace, Append),
		fmt.Sprintf("every call %d; a storage operation %d more; an egress %d more; and one for every %d bytes", d.Call, d.Storage, d.Connect, d.BytesPerUnit),
	)
	for _, w := range want {
		if !strings.Contains(page, w) {
			t.Errorf("docs/abi.md lacks %q", w)
		}
	}
}

func spell(params string) string {
	var list []string
	for _, c := range params {
		list = append(list, map[rune]string{'i': "i32", 'I': "i64"}[c])
	}
	return strings.Join(list, " ")
}

func TestHostFuncsHaveTheTypesOfThePage(t *testing.T) {
	funcs := HostFuncs()
	if len(funcs) != 8 {
		t.Errorf("got %d functions, want 8", len(funcs))
	}
	for i, f := range funcs {
		s := signatures[i]
		if f.Module != "sandbox" || f.Name != s.name || len(f.Params) != len(s.params) || len(f.Results) != 1 {
			t.Errorf("%s %s: got %d parameters and %d results", f.Module, f.Name, len(f.Params), len(f.Results))
		}
		for j, c := range s.params {
			if want := map[rune]api.ValueType{'i': api.ValueTypeI32, 'I': api.ValueTypeI64}[c]; f.Params[j] != want {
				t.Errorf("%s: parameter %d has another type", f.Name, j)
			}
		}
	}
}
