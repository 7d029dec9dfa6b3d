package rootfs

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

const (
	somePasswd = "root:x:0:0:root:/root:/bin/sh\nshort:x:7\napp:x:101:102:App:/srv:/bin/false\n5:x:55:56::/:\nfive:x:5:6::/:\nbad:x:-1:0::/:\nhuge:x:1:99999999999::/:"
	someGroup  = "root:x:0:\nstaff:x:50:app\nbad:x:x:"
)

func TestFindUser(t *testing.T) {
	for _, c := range []struct {
		text     string
		uid, gid uint32
		err      string
	}{
		{"root", 0, 0, ""},
		{"app", 101, 102, ""},
		{"101", 101, 102, ""},
		{"5", 55, 56, ""}, // a name that is a number goes first
		{"1234", 1234, 0, ""},
		{"app:staff", 101, 50, ""},
		{"app:7", 101, 7, ""},
		{"1234:staff", 1234, 50, ""},
		{":staff", 0, 50, ""},
		{"nobody", 0, 0, `the user "nobody"`},
		{"short", 0, 0, `the user "short"`},
		{"app:none", 0, 0, `the group "none"`},
		{"app:", 0, 0, `the group ""`},
		{"app:bad", 0, 0, "the group"},
		{"bad", 0, 0, `the entry of "bad"`},
		{"huge", 0, 0, `the entry of "huge"`},
		{"-1", 0, 0, "the user"},
		{"4294967295", 0, 0, "the user"},
		{"+1", 0, 0, "the user"},
	} {
		uid, gid, err := findUser(c.text, []byte(somePasswd), []byte(someGroup))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: got %d:%d and %v, want %q", c.text, uid, gid, err, c.err)
			}
			continue
		}
		if err != nil || uid != c.uid || gid != c.gid {
			t.Errorf("%q: got %d:%d (%v), want %d:%d", c.text, uid, gid, err, c.uid, c.gid)
		}
	}
}

// FuzzFindUser: what an image says of itself never makes its program the superuser,
// but for a list, or a user, that says so.
func FuzzFindUser(f *testing.F) {
	f.Add("app:staff", somePasswd, someGroup)
	f.Add("7", "a:b:7:0:c:d:e", "")
	f.Fuzz(func(t *testing.T, text, passwd, group string) {
		uid, _, err := findUser(text, []byte(passwd), []byte(group))
		user, _, _ := strings.Cut(text, ":")
		if err == nil && uid == 0 && strings.Trim(user, "0") != "" && !strings.Contains(passwd, user) {
			t.Errorf("%q is the superuser by %q", text, passwd)
		}
	})
}
