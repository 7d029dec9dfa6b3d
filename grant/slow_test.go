package grant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
)

// TestHumanStaysFast: a megabyte made to be slow to read is refused soon.
func TestHumanStaysFast(t *testing.T) {
	const size = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var keys strings.Builder
	for i := 0; keys.Len() < size-16; i++ {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for name, src := range map[string]string{
		"nested lists": fill("- "), "open brackets": fill("["), "open braces": fill("{"), "keys": fill("? "), "nested json": fill(`{"a":`),
		"comments": fill("#\n"), "colons": fill("a: "), "names": keys.String(), "list": "storage: {read: [" + fill("/a,")[:size-64] + "]}",
		"spaces": fill(" "), "tabs": fill("\t"), "quotes": fill(`"`), "stars": fill("*a "), "anchors": fill("&a "), "documents": fill("---\n"),
		"lines": "a: >\n" + fill(" x\n\n")[:size-64], "escapes": `"` + fill(`\u0041`)[:size-64] + `"`, "tags": fill("!a "),
	} {
		start := time.Now()
		_, err := grant.ParseHuman([]byte(src), budgets())
		d := time.Since(start)
		t.Logf("%s: %v: %.80v", name, d, err)
		if d > 5*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}
