package seal

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

func TestHead(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	for _, want := range []Head{{LedgerLog, joulebox.Sum([]byte("x")), 7}, {AuditLog, joulebox.ID{}, 0}} {
		o, err := SignHead(key, want)
		if err != nil {
			t.Fatal(err)
		}
		text, err := o.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		got, back, err := ParseHead(text, want.Log)
		if err != nil || got != want || back.Seal.Verify(back.Core, public) != nil {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if _, _, err := ParseHead(text, PoolLog); err == nil {
			t.Error("a head of another log is taken")
		}
		longer := strings.Replace(string(text), `"length":`, `"length":1`, 1)
		if _, o, err := ParseHead([]byte(longer), want.Log); err == nil && o.Seal.Verify(o.Core, public) == nil {
			t.Error("another length verifies")
		}
	}
	if _, err := SignHead(key, Head{Log: "diary"}); err == nil {
		t.Error("a log that there isn't has a head")
	}
}
