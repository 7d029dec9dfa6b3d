package evidence_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/evidence"
)

// Every member of a policy is on the page about policies.
func TestPolicyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var walk func(reflect.Type)
	walk = func(v reflect.Type) {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || !strings.HasSuffix(v.PkgPath(), "/evidence") {
			return
		}
		for f := range v.Fields() {
			name := f.Tag.Get("json")
			if name == "-" {
				continue
			}
			seen++
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("the page doesn't name %s", name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[evidence.Policy]())
	if seen < 60 {
		t.Errorf("only %d members were looked for", seen)
	}
}
