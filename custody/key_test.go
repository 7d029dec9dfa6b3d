package custody

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/joulebox/joulebox"
)

func TestFirstUseMakesTheKeyOnce(t *testing.T) {
	dir := state(t)
	if _, err := Open(DefaultReference); !errors.Is(err, ErrNoKey) {
		t.Fatalf("got %v, want ErrNoKey", err)
	}
	k, made, err := Ensure(DefaultReference, false)
	opened(t, k, err)
	again, madeAgain, err := Ensure(DefaultReference, true)
	opened(t, again, err)
	if !made || madeAgain || again.HostID() != k.HostID() {
		t.Fatalf("made: got %t, then %t, hosts %v and %v; want it made once", made, madeAgain, k.HostID(), again.HostID())
	}
	if a, b := next(t, k), next(t, again); a != 1 || b != 2 {
		t.Fatalf("got numbers %d and %d, want 1 and 2", a, b)
	}
	for name, mode := range map[string]fs.FileMode{
		"": 0o700, "keys": 0o700, "keys/host": 0o700, "keys/host/key": 0o600, "keys/host/sequence": 0o600, "keys/host.pub": 0o600,
	} {
		s, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || s.Mode().Perm() != mode {
			t.Errorf("%s: got %v, %v, want mode %04o", name, s, err, mode)
		}
	}
}

func TestNewNeverOverwrites(t *testing.T) {
	state(t)
	k, err := New("file:other")
	opened(t, k, err)
	if _, err := New("file:other"); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v, want fs.ErrExist", err)
	}
	same, err := Open("file:other")
	if opened(t, same, err).HostID() != k.HostID() {
		t.Fatal("the key was replaced")
	}
}

func TestSignature(t *testing.T) {
	state(t)
	k, err := New("file:")
	opened(t, k, err)
	public := k.Public().(ed25519.PublicKey)
	signature, err := k.Sign(nil, []byte("message"), crypto.Hash(0))
	if err != nil || !ed25519.Verify(public, []byte("message"), signature) {
		t.Fatalf("got %x, %v, want a signature", signature, err)
	}
	if k.HostID() != joulebox.Sum(public) {
		t.Fatal("the host id isn't the address of the public key")
	}
	if _, err := k.Sign(nil, make([]byte, 64), crypto.SHA512); err == nil {
		t.Fatal("a digest was signed as a message")
	}
}

func TestKeyFileIsWhatOtherToolsRead(t *testing.T) {
	dir := state(t)
	k, err := New("file:")
	opened(t, k, err)
	block, rest := pem.Decode(must(os.ReadFile(dir + "/keys/host/key"))(t))
	if block == nil || block.Type != "PRIVATE KEY" || len(rest) > 0 {
		t.Fatalf("got %v and %d bytes more, want one PRIVATE KEY", block, len(rest))
	}
	private := must(x509.ParsePKCS8PrivateKey(block.Bytes))(t).(ed25519.PrivateKey)
	if !k.public.Equal(private.Public()) {
		t.Fatal("another key is in the file")
	}
	pub := string(must(os.ReadFile(dir + "/keys/host.pub"))(t))
	if pub != hex.EncodeToString(k.public)+"\n" {
		t.Fatalf("host.pub: got %q, want the public key in hex", pub)
	}
}

func TestCloseWipesTheKey(t *testing.T) {
	state(t)
	k, err := New("file:")
	opened(t, k, err)
	private := k.private
	next(t, k)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(private, make([]byte, len(private))) {
		t.Fatal("the private key is still in memory")
	}
	if _, err := k.Sign(nil, nil, crypto.Hash(0)); !errors.Is(err, ErrClosed) {
		t.Fatalf("sign: got %v, want ErrClosed", err)
	}
	if _, err := k.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Fatalf("next: got %v, want ErrClosed", err)
	}
	if _, err := k.Info(); !errors.Is(err, ErrClosed) {
		t.Fatalf("info: got %v, want ErrClosed", err)
	}
}

// TestOthersCanRead spoils one thing at a time.
func TestOthersCanRead(t *testing.T) {
	chmod := func(mode fs.FileMode) func(string) error {
		return func(path string) error { return os.Chmod(path, mode) }
	}
	link := func(path string) error {
		if err := os.Rename(path, path+".real"); err != nil {
			return err
		}
		return os.Symlink(path+".real", path)
	}
	chown := func(path string) error { return os.Lchown(path, 12345, -1) }
	fifo := func(path string) error { return errors.Join(os.Remove(path), mkfifo(path)) }
	for _, c := range []struct {
		name, path string
		spoil      func(string) error
		want       string
	}{
		{"folder open to the group", "keys/host", chmod(0o750), "chmod 700"},
		{"folder open to others", "keys/host", chmod(0o701), "chmod 700"},
		{"key open to the group", "keys/host/key", chmod(0o640), "chmod 600"},
		{"key open to others", "keys/host/key", chmod(0o604), "chmod 600"},
		{"counter open to others", "keys/host/sequence", chmod(0o602), "chmod 600"},
		{"folder is a link", "keys/host", link, "no link"},
		{"key is a link", "keys/host/key", link, "symbolic link"},
		{"counter is a link", "keys/host/sequence", link, "symbolic link"},
		{"folder of another user", "keys/host", chown, "owner 12345"},
		{"key of another user", "keys/host/key", chown, "owner 12345"},
		{"counter of another user", "keys/host/sequence", chown, "owner 12345"},
		{"key is a pipe", "keys/host/key", fifo, "regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := state(t)
			k, err := New("file:")
			opened(t, k, err).Close()
			if err := c.spoil(filepath.Join(dir, c.path)); errors.Is(err, fs.ErrPermission) {
				t.Skip("only root can give files away")
			} else if err != nil {
				t.Fatal(err)
			}
			for what, open := range map[string]func() (*Key, error){
				"open": func() (*Key, error) { return Open("file:") },
				"ensure": func() (*Key, error) {
					k, _, err := Ensure("file:", false)
					return k, err
				},
			} {
				if _, err := open(); err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "too many levels") {
					t.Fatalf("%s: got %v, want it refused with %q", what, err, c.want)
				}
			}
		})
	}
}

func TestLostKeyIsNeverReplacedSilently(t *testing.T) {
	for name, lose := range map[string]string{"the key": "keys/host/key", "the folder": "keys/host"} {
		t.Run(name, func(t *testing.T) {
			dir := state(t)
			k, err := New("file:")
			opened(t, k, err)
			if err := os.RemoveAll(filepath.Join(dir, lose)); err != nil {
				t.Fatal(err)
			}
			_, err = Open("file:")
			wantError[*LostError](t, "open", err)
			_, made, err := Ensure("file:", false)
			wantError[*LostError](t, "ensure", err)
			if lose == "keys/host" {
				_, err = New("file:")
				if lost := wantError[*LostError](t, "new", err); lost.HostID != k.HostID() {
					t.Errorf("got host %v, want %v", lost.HostID, k.HostID())
				}
			}
			if made {
				t.Fatal("a lost key was replaced")
			}
			rotated, err := Rotate("file:")
			if opened(t, rotated, err).HostID() == k.HostID() {
				t.Fatal("the new host has the old one's id")
			}
		})
	}
	t.Run("records without a key", func(t *testing.T) {
		state(t)
		_, made, err := Ensure("file:", true)
		wantError[*LostError](t, "ensure", err)
		if made {
			t.Fatal("a key was made beside records of another one")
		}
	})
}

func TestDamage(t *testing.T) {
	for name, spoil := range map[string]func(host string) error{
		"no counter":     func(h string) error { return os.Remove(h + "/sequence") },
		"empty counter":  func(h string) error { return os.Truncate(h+"/sequence", 0) },
		"longer counter": func(h string) error { return os.Truncate(h+"/sequence", counterFile+1) },
		"empty key":      func(h string) error { return os.Truncate(h+"/key", 0) },
		"key cut short":  func(h string) error { return os.Truncate(h+"/key", 100) },
		"both slots":     func(h string) error { return os.WriteFile(h+"/sequence", make([]byte, counterFile), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := state(t)
			old, err := New("file:")
			opened(t, old, err).Close()
			if err := spoil(dir + "/keys/host"); err != nil {
				t.Fatal(err)
			}
			_, err = Open("file:")
			wantError[*DamagedError](t, "open", err)
			_, err = Adopt("file:")
			wantError[*DamagedError](t, "adopt", err)
			k, err := Rotate("file:")
			if n := next(t, opened(t, k, err)); n != 1 || k.HostID() == old.HostID() {
				t.Fatalf("got number %d of %v, want 1 of a new host", n, k.HostID())
			}
		})
	}
}

func TestCounterOfAnotherKey(t *testing.T) {
	dir := state(t)
	for _, ref := range []string{"file:a", "file:b"} {
		k, err := New(ref)
		opened(t, k, err).Close()
	}
	key := must(os.ReadFile(dir + "/keys/a/key"))(t)
	if err := os.WriteFile(dir+"/keys/b/key", key, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open("file:b")
	wantError[*DamagedError](t, "open", err)
	k, _, err := Ensure("file:b", true)
	opened(t, k, err)
	_, err = k.Next(t.Context())
	wantError[*DamagedError](t, "next", err)
	_, err = k.Sign(nil, nil, crypto.Hash(0))
	wantError[*DamagedError](t, "sign", err)
	wantError[*DamagedError](t, "check", k.Check())
}

func TestConcurrentUse(t *testing.T) {
	state(t)
	k, err := New("file:")
	opened(t, k, err)
	var mu sync.Mutex
	seen := map[uint64]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				n, err := k.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				signature, err := k.Sign(nil, []byte{byte(n)}, crypto.Hash(0))
				if err != nil || !ed25519.Verify(k.public, []byte{byte(n)}, signature) {
					t.Errorf("signature: %v", err)
				}
				mu.Lock()
				if seen[n] {
					t.Errorf("number %d came twice", n)
				}
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 1600 || !seen[1] || !seen[1600] {
		t.Fatalf("got %d numbers, want 1 to 1600 of one process without a gap", len(seen))
	}
}

func TestReferences(t *testing.T) {
	dir := state(t)
	for ref, want := range map[string]string{
		"file:":            dir + "/keys/host",
		"file:build-2":     dir + "/keys/build-2",
		"file:/etc/jb/key": "/etc/jb/key",
	} {
		if got, err := pathOf(ref); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", ref, got, err, want)
		}
	}
	for _, ref := range []string{"", "host", "agent:", "tpm:0x81000001", "pkcs11:token", "http://x", "FILE:", "file:../x", "file:a/b", "file:.hidden", "file:/", "file:/a/../b", "file:/a/", "file:x\x00"} {
		if got, err := pathOf(ref); err == nil {
			t.Errorf("%q: got %q, want it refused", ref, got)
		}
	}
}

func TestStateDir(t *testing.T) {
	t.Setenv("JOULEBOX_STATE", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/home/ann")
	for _, c := range []struct{ state, xdg, want string }{
		{"", "", "/home/ann/.local/state/joulebox"},
		{"", "/var/state", "/var/state/joulebox"},
		{"", "relative", "/home/ann/.local/state/joulebox"},
		{"/srv/jb/", "/var/state", "/srv/jb"},
	} {
		t.Setenv("JOULEBOX_STATE", c.state)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		if got, err := StateDir(); err != nil || got != c.want {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
	t.Setenv("JOULEBOX_STATE", "here")
	if got, err := StateDir(); err == nil {
		t.Errorf("got %q, want a relative JOULEBOX_STATE refused", got)
	}
}
