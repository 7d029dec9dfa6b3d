package custody

import (
	"crypto"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox"
)

// refused checks that a key can be shown and signs nothing.
func refused(t *testing.T, reference, changed string) {
	t.Helper()
	k, err := Open(reference)
	opened(t, k, err)
	if copied := wantError[*CopiedError](t, "check", k.Check()); copied.Changed != changed {
		t.Errorf("got %q changed, want %q", copied.Changed, changed)
	}
	_, err = k.Sign(nil, nil, crypto.Hash(0))
	wantError[*CopiedError](t, "sign", err)
	_, err = k.Next(t.Context())
	wantError[*CopiedError](t, "next", err)
	if info := must(k.Info())(t); info.State != Copied || info.Reason == "" {
		t.Errorf("got %+v, want it shown as copied", info)
	}
}

func TestCopySignsNothing(t *testing.T) {
	dir := state(t)
	original, err := New("file:")
	opened(t, original, err)
	next(t, original)
	there := filepath.Join(t.TempDir(), "copy")
	copyTree(t, dir, there)
	refused(t, "file:"+there+"/keys/host", "folder")
	t.Setenv("JOULEBOX_STATE", there)
	refused(t, "file:", "folder")
	t.Setenv("JOULEBOX_STATE", dir)
	if n := next(t, original); n != 2 {
		t.Fatalf("the original gave %d, want 2", n)
	}
}

func TestRestoredBackupSignsNothing(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		dir := state(t)
		k, err := New("file:")
		opened(t, k, err)
		backup := filepath.Join(t.TempDir(), "backup")
		copyTree(t, dir, backup)
		next(t, k)
		k.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		copyTree(t, backup, dir) // often with the inode numbers of before
		k, err = Open("file:")
		wantError[*CopiedError](t, "check", opened(t, k, err).Check())
	})
	t.Run("the counter alone", func(t *testing.T) {
		dir := state(t)
		k, err := New("file:")
		opened(t, k, err)
		sequence := dir + "/keys/host/sequence"
		old := must(os.ReadFile(sequence))(t)
		next(t, k)
		k.Close()
		if err := errors.Join(os.WriteFile(sequence+".tmp", old, 0o600), os.Rename(sequence+".tmp", sequence)); err != nil {
			t.Fatal(err)
		}
		refused(t, "file:", "file")
	})
}

func TestMovedFolderGoesOn(t *testing.T) {
	dir := state(t)
	k, err := New("file:")
	opened(t, k, err)
	next(t, k)
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if n := next(t, k); n != 2 {
		t.Fatalf("the open key gave %d, want 2", n)
	}
	t.Setenv("JOULEBOX_STATE", dir+"-moved")
	again, err := Open("file:")
	if n := next(t, opened(t, again, err)); n <= 2 {
		t.Fatalf("got %d, want a number beyond 2", n)
	}
}

func TestAnotherMachine(t *testing.T) {
	state(t)
	k, err := New("file:")
	opened(t, k, err).Close()
	v := must(openVault("file:"))(t)
	for _, c := range []struct {
		name    string
		here    machine
		changed string
	}{
		{"the same", v.here, ""},
		{"another", machine{mark("machine", "x"), v.here.boot}, "machine"},
		{"one that doesn't say", machine{boot: v.here.boot}, ""},
		{"started anew", machine{v.here.id, mark("boot", "y")}, ""},
	} {
		v.here = c.here
		k, err := v.openKey()
		if err != nil {
			t.Fatal(err)
		}
		var copied *CopiedError
		if errors.As(k.Check(), &copied) != (c.changed != "") || copied != nil && copied.Changed != c.changed {
			t.Errorf("%s: got %v, want %q changed", c.name, k.Check(), c.changed)
		}
		k.Close()
	}
}

func TestMoved(t *testing.T) {
	m, b, v, other := mark("machine", "1"), mark("boot", "1"), mark("volume", "1"), mark("other", "1")
	was := place{m, b, v, 5, node{10, 100}, node{11, 110}}
	for _, c := range []struct {
		name string
		now  place
		want string
	}{
		{"same", was, ""},
		{"machine", place{other, b, v, 5, was.folder, was.file}, "machine"},
		{"machine unknown", place{joulebox.ID{}, b, v, 5, was.folder, was.file}, ""},
		{"folder inode", place{m, b, v, 5, node{12, 100}, was.file}, "folder"},
		{"folder born later, same inode", place{m, b, v, 5, node{10, 101}, was.file}, "folder"},
		{"birth unknown", place{m, b, v, 5, node{10, 0}, node{11, 0}}, ""},
		{"file inode", place{m, b, v, 5, was.folder, node{12, 110}}, "file"},
		{"volume", place{m, b, other, 5, was.folder, was.file}, "volume"},
		{"device in the same start", place{m, b, v, 6, was.folder, was.file}, "device"},
		{"device after a restart", place{m, other, v, 6, was.folder, was.file}, ""},
		{"device says nothing", place{m, b, v, 0, was.folder, was.file}, ""},
		{"start unknown", place{m, joulebox.ID{}, v, 6, was.folder, was.file}, ""},
	} {
		if got := was.moved(c.now); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if kept := was.seenFrom(place{boot: other}); kept.machine != m || kept.volume != v || kept.boot != other {
		t.Errorf("got %+v: what isn't known now was forgotten", kept)
	}
}

func TestMachineMark(t *testing.T) {
	good := "3d1219c7c4c5404aaa1f6d2a48adfda4"
	if machineMark(good+"\n").IsZero() || machineMark(good) != machineMark(good+"\n") {
		t.Error("a machine id isn't known")
	}
	for _, none := range []string{"", "uninitialized\n", "00000000000000000000000000000000", good[:31], good + "0", "3D1219C7C4C5404AAA1F6D2A48ADFDA4"} {
		if !machineMark(none).IsZero() {
			t.Errorf("%q is taken for a machine id", none)
		}
	}
}

func TestAdopt(t *testing.T) {
	dir := state(t)
	original, err := New("file:")
	opened(t, original, err)
	for range 300 {
		next(t, original)
	}
	if _, err := Adopt("file:"); err == nil {
		t.Fatal("a key that isn't a copy was adopted")
	}
	there := filepath.Join(t.TempDir(), "copy")
	copyTree(t, dir, there)
	t.Setenv("JOULEBOX_STATE", there)
	k, err := Adopt("file:")
	if n := next(t, opened(t, k, err)); n < adoptJump || k.HostID() != original.HostID() {
		t.Fatalf("got number %d of %v, want one far beyond of %v", n, k.HostID(), original.HostID())
	}
	again, err := Open("file:")
	if n := next(t, opened(t, again, err)); n <= adoptJump {
		t.Fatalf("got %d after adopting, want it to go on", n)
	}
}

func TestRotate(t *testing.T) {
	state(t)
	if _, err := Rotate("file:"); !errors.Is(err, ErrNoKey) {
		t.Fatalf("got %v, want ErrNoKey", err)
	}
	old, err := New("file:")
	opened(t, old, err)
	for range 3 {
		next(t, old)
	}
	k, err := Rotate("file:")
	if n := next(t, opened(t, k, err)); n != 1 || k.HostID() == old.HostID() {
		t.Fatalf("got number %d of %v, want 1 of a new host", n, k.HostID())
	}
	// The process that has the old key open notices at its next reservation.
	for range maxBlock {
		if _, err = old.Next(t.Context()); err != nil {
			break
		}
	}
	wantError[*RetiredError](t, "next", err)
	_, err = old.Sign(nil, nil, crypto.Hash(0))
	wantError[*RetiredError](t, "sign", err)

	retired := must(RetiredKeys("file:"))(t)
	if len(retired) != 1 || retired[0].HostID != old.HostID() || !retired[0].Public.Equal(old.public) || retired[0].State != Retired {
		t.Fatalf("got %+v, want the old key", retired)
	}
	kept, err := Open("file:" + retired[0].Path)
	wantError[*RetiredError](t, "the kept key", opened(t, kept, err).Check())
	if current := must(Show("file:"))(t); current.HostID != k.HostID() || current.State != Active || current.NextSequence != 2 {
		t.Fatalf("got %+v, want the new key", current)
	}
}

func TestRotateTheSameBackupTwice(t *testing.T) {
	dir := state(t)
	k, err := New("file:")
	opened(t, k, err)
	backup := filepath.Join(t.TempDir(), "backup")
	copyTree(t, dir, backup)
	for range 2 {
		k, err := Rotate("file:")
		opened(t, k, err).Close()
		if err := os.RemoveAll(dir + "/keys/host"); err != nil {
			t.Fatal(err)
		}
		copyTree(t, backup+"/keys/host", dir+"/keys/host")
	}
	k2, err := Rotate("file:")
	opened(t, k2, err)
	if retired := must(RetiredKeys("file:"))(t); len(retired) != 3 {
		t.Fatalf("got %d retired keys, want the first one three times", len(retired))
	}
}
