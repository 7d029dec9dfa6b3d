package custody

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// somePublic is a public key that follows from a number.
func somePublic(n int) ed25519.PublicKey {
	seed := bytes.Repeat([]byte{byte(n)}, ed25519.SeedSize)
	return ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
}

func TestTrust(t *testing.T) {
	dir := state(t)
	trust := must(OpenTrust(""))(t)
	if len(trust.Keys()) != 0 {
		t.Fatal("a list that isn't there isn't empty")
	}
	for n, name := range []string{"alice", "bob@example.com", "ci-2"} {
		if err := trust.Add(name, somePublic(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := trust.Remove("bob@example.com"); err != nil {
		t.Fatal(err)
	}
	again := must(OpenTrust(""))(t)
	want := []TrustedKey{{"alice", somePublic(0)}, {"ci-2", somePublic(2)}}
	if !slices.EqualFunc(again.Keys(), want, func(a, b TrustedKey) bool { return a.Name == b.Name && a.Public.Equal(b.Public) }) {
		t.Fatalf("got %v, want %v", again.Keys(), want)
	}
	if k, ok := again.Lookup(somePublic(2)); !ok || k.Name != "ci-2" || k.HostID() != HostID(somePublic(2)) {
		t.Fatalf("got %v, %t, want ci-2", k, ok)
	}
	if k, ok := again.Lookup(somePublic(1)); ok {
		t.Fatalf("a removed key is still trusted, as %v", k)
	}
	text := string(must(os.ReadFile(dir + "/trusted-keys"))(t))
	if want := fmt.Sprintf("joulebox-trust 1\n%x alice\n%x ci-2\n", []byte(somePublic(0)), []byte(somePublic(2))); text != want {
		t.Fatalf("got %q, want %q", text, want)
	}
}

func TestTrustRefuses(t *testing.T) {
	state(t)
	trust := must(OpenTrust(""))(t)
	if err := trust.Add("alice", somePublic(1)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, name string
		public     ed25519.PublicKey
	}{
		{"a name twice", "alice", somePublic(2)},
		{"a key twice", "bob", somePublic(1)},
		{"no name", "", somePublic(2)},
		{"a name with a space", "a b", somePublic(2)},
		{"a name with a newline", "a\nb", somePublic(2)},
		{"a name that looks like a flag", "-rf", somePublic(2)},
		{"a long name", strings.Repeat("a", 65), somePublic(2)},
		{"a short key", "bob", somePublic(2)[:31]},
		{"a key of small order", "bob", make(ed25519.PublicKey, 32)},
	} {
		if err := trust.Add(c.name, c.public); err == nil {
			t.Errorf("%s was added", c.what)
		}
	}
	if err := trust.Remove("carol"); err == nil {
		t.Error("a name that isn't there was removed")
	}
	if len(trust.Keys()) != 1 {
		t.Fatalf("got %v, want alice alone", trust.Keys())
	}
}

func TestTrustFileOpenToOthers(t *testing.T) {
	dir := state(t)
	trust := must(OpenTrust(""))(t)
	if err := trust.Add("alice", somePublic(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "trusted-keys")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTrust(""); err != nil {
		t.Fatalf("a list that others can read: %v", err)
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTrust(""); err == nil {
		t.Fatal("a list that others can write is believed")
	}
	if err := trust.Add("bob", somePublic(2)); err == nil {
		t.Fatal("a list that others can write was added to")
	}
}

func TestTrustIsAddedToByMany(t *testing.T) {
	state(t)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			trust, err := OpenTrust("")
			if err == nil {
				err = trust.Add(fmt.Sprint("host", n), somePublic(n))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := must(OpenTrust(""))(t).Keys(); len(got) != 8 {
		t.Fatalf("got %d keys, want all 8", len(got))
	}
}

func TestParsePublic(t *testing.T) {
	good := hex.EncodeToString(somePublic(1))
	if got, err := ParsePublic(good); err != nil || !got.Equal(somePublic(1)) {
		t.Fatalf("got %x, %v", got, err)
	}
	for _, bad := range []string{"", good[:63], good + "0", good[:62], strings.ToUpper(good), "zz" + good[2:], " " + good[1:], strings.Repeat("00", 32)} {
		if got, err := ParsePublic(bad); err == nil {
			t.Errorf("%q: got %x, want it refused", bad, got)
		}
	}
}
