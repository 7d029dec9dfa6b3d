//go:build amd64 || arm64

package cell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines checks what a script says, line by line.
func lines(t testing.TB, s Spec, want ...string) {
	t.Helper()
	end, out := run(t, s)
	exits(t, end, out, 0)
	if have := strings.TrimSuffix(out, "\n"); have != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", have, strings.Join(want, "\n"))
	}
}

// scriptOf tries each command and says which work.
func scriptOf(commands ...string) (script string) {
	for _, c := range commands {
		script += "(" + c + ") >/dev/null 2>&1 && echo yes || echo no\n"
	}
	return script + "exit 0"
}

func tree(t testing.TB) string {
	dir := folder(t)
	for _, d := range []string{"in", "in/sub", "out"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "in/a"), "text of a")
	write(t, filepath.Join(dir, "in/sub/b"), "#!/bin/sh\necho b")
	return dir
}

func TestReadOnly(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /data/a", "ls /data", "cat /data/sub/b", "echo x > /data/a", "touch /data/new", "rm /data/a", "mv /data/a /data/c",
		"chmod 777 /data/a", "ln /data/a /data/l", "ln -s a /data/l", "mkdir /data/d", "truncate -s 0 /data/a", "/data/sub/b", "sh /data/sub/b", "touch /data/../x"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data", Read: true}}
	lines(t, s, "yes", "yes", "yes", "no", "no", "no", "no", "no", "no", "no", "no", "no", "no", "yes", "no")
	s.Mounts[0].Exec = true
	s.Argv[2] = scriptOf("/data/sub/b")
	lines(t, s, "yes")
}

func TestWriteWithoutDelete(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /data/a", "echo x > /data/a", "touch /data/new", "mkdir /data/d", "ln -s a /data/link", "rm /data/a", "rm /data/new", "rmdir /data/d",
		"mv /data/new /data/newer", "mv /data/new /tmp/", "mv /tmp/. /data", "echo y > /tmp/y; mv -f /tmp/y /data/a", "mv -f /data/new /data/a", "ln -sf x /data/link"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data", Read: true, Write: true}}
	lines(t, s, "yes", "yes", "yes", "yes", "yes", "no", "no", "no", "no", "no", "no", "no", "no", "no")
	if b, err := os.ReadFile(dir + "/in/a"); err != nil || string(b) != "x\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestDelete(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("mv /data/a /data/c", "rm /data/c", "rm -r /data/sub", "rmdir /data"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data", Read: true, Write: true, Delete: true}}
	lines(t, s, "yes", "yes", "yes", "no")
	s.Argv[2] = scriptOf("touch /data/n", "echo > /data/f", "rm /data/f")
	write(t, dir+"/in/f", "kept")
	s.Mounts[0].Write = false
	lines(t, s, "no", "no", "yes")
}

func TestWriteOnly(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /out/a", "ls /out", "ls /out/sub", "echo x > /out/new", "cat /out/new", "echo y >> /out/a", "sh /out/sub/b"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/out", Write: true}}
	lines(t, s, "no", "no", "no", "yes", "no", "yes", "no")
	if b, err := os.ReadFile(dir + "/in/a"); err != nil || string(b) != "text of ay\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestNoAccessAtAll(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /data/a", "ls /data", "touch /data/n"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data"}}
	lines(t, s, "no", "no", "no")
}

func TestNestedMounts(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /data/a", "touch /data/x", "touch /data/sub/x", "rm /data/sub/x", "cat /data/out"))
	s.Mounts = []Mount{ // in the wrong order
		{File: file(t, dir+"/out"), Target: "/data/sub", Read: true, Write: true, Delete: true},
		{File: file(t, dir+"/in"), Target: "/data", Read: true},
	}
	lines(t, s, "yes", "no", "yes", "yes", "no")

	// A place that isn't there isn't made where the caller would see it.
	s.Mounts[0].Target = "/data/nowhere"
	if c, err := Start(context.Background(), s); err == nil {
		c.Wait()
		t.Error("it was started")
	} else {
		skipUnlessHere(t, err)
	}
	if entries, _ := os.ReadDir(dir + "/in"); len(entries) != 2 {
		t.Errorf("got %v: something was made", entries)
	}
}

func TestMountedFile(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /data/deep/a", "ls /data/deep/b", "echo x > /data/deep/a", "rm /data/deep/a", "mv /data/deep/a /tmp", "cat /data/deep/../deep/a"))
	s.Mounts = []Mount{{File: file(t, dir+"/in/a"), Target: "/data/deep/a", Read: true}}
	lines(t, s, "yes", "no", "no", "no", "no", "yes")
	s.Mounts[0].Write = true
	lines(t, s, "yes", "no", "yes", "no", "no", "yes")
	if b, err := os.ReadFile(dir + "/in/a"); err != nil || string(b) != "x\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestHidden(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cat /data/a", "ls /data/sub", "cat /data/sub/b", "touch /data/sub/c", "rm /data/a", "mv /data/sub /data/other", "ls /data", "rm -r /data/sub"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data", Read: true, Write: true, Delete: true}}
	s.Hidden = []string{"/data/a", "/data/sub", "/data/absent"}
	lines(t, s, "no", "no", "no", "no", "no", "no", "yes", "no")
	if b, err := os.ReadFile(dir + "/in/sub/b"); err != nil || len(b) == 0 {
		t.Errorf("got %q, %v", b, err)
	}
}

// Links in what is granted lead nowhere outside.
func TestLinksOutside(t *testing.T) {
	dir := tree(t)
	write(t, dir+"/secret", "secret")
	for name, to := range map[string]string{"up": "../secret", "abs": dir + "/secret", "proc": "/proc/1/root" + dir + "/secret"} {
		if err := os.Symlink(to, dir+"/in/"+name); err != nil {
			t.Fatal(err)
		}
	}
	s := shell(scriptOf("cat /data/up", "cat /data/abs", "cat /data/proc", "cat /data/../secret", "ln /data/a /tmp/a", "cd /data/sub; cat ../../secret"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data", Read: true, Write: true, Delete: true}}
	lines(t, s, "no", "no", "no", "no", "no", "no")
}

func TestFileIsReplaced(t *testing.T) {
	dir := tree(t)
	f := file(t, dir+"/in/a")
	if err := os.Rename(dir+"/in/sub/b", dir+"/in/a"); err != nil {
		t.Fatal(err)
	}
	s := shell("true")
	s.Mounts = []Mount{{File: f, Target: "/data", Read: true}}
	if c, err := Start(context.Background(), s); err == nil {
		c.Wait()
		t.Error("another file was mounted than the one that was handed over")
	} else {
		skipUnlessHere(t, err)
	}
}

func TestNoExec(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("cp /bin/true /tmp/t && /tmp/t", "cp /bin/true /dev/shm/t && /dev/shm/t", "cp /bin/true /home/unit/t && /home/unit/t", "cp /bin/true /data/t && /data/t",
		"/bin/true", "cp /bin/true /run/t && /run/t", "/lib64/ld-linux-x86-64.so.2 /tmp/t"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/data", Read: true, Write: true, Exec: true}}
	lines(t, s, "yes", "yes", "yes", "yes", "yes", "yes", "yes")
	os.Remove(dir + "/in/t")
	s.NoExec = true
	lines(t, s, "no", "no", "no", "no", "yes", "no", "no")
}

func TestLaidFiles(t *testing.T) {
	s := shell("cat /etc/resolv.conf /opt/x/y; echo z > /opt/x/y; exit 0")
	s.Files = []File{{"/etc/resolv.conf", []byte("nameserver 10.0.0.1\n")}, {"/opt/x/y", []byte("here\n")}}
	end, out := run(t, s)
	exits(t, end, out, 0)
	if !strings.HasPrefix(out, "nameserver 10.0.0.1\nhere\n") {
		t.Errorf("got %q", out)
	}
}

func TestPinnedProgram(t *testing.T) {
	dir := folder(t)
	write(t, dir+"/script", "#!/bin/sh\necho first; dirname $0; exit 3")
	f := file(t, dir+"/script")
	s := Spec{Path: "/opt/bin/script", Argv: []string{"/opt/bin/script"}, Program: f, Stdout: nil, Limits: Limits{Memory: 64 << 20}, UID: 1000, GID: 1000,
		Mounts: []Mount{{File: file(t, dir), Target: "/opt/bin", Read: true, Write: true, Delete: true, Exec: true}}}
	end, out := run(t, s)
	exits(t, end, out, 3)
	if out != "first\n/opt/bin\n" {
		t.Errorf("got %q", out)
	}
	// What it writes over itself it doesn't run.
	write(t, dir+"/script", "#!/bin/sh\nrm -f $0; echo 'exit 9' > $0; echo 'exit 9' > /opt/bin/other; mv -f /opt/bin/other $0; echo last; exit 4\n")
	end, out = run(t, s)
	exits(t, end, out, 4)
	if b, err := os.ReadFile(dir + "/script"); err != nil || !strings.Contains(string(b), "last") {
		t.Errorf("got %q, %v", b, err)
	}
	// A program where the unit sees nothing else.
	s = Spec{Path: "/opt/true", Argv: []string{"true"}, Program: file(t, "/bin/true"), UID: 1000, GID: 1000}
	end, out = run(t, s)
	exits(t, end, out, 0)
}

// rootfs is a folder with a shell.
func rootfs(t testing.TB) string {
	dir := folder(t)
	s := shell("ldd /bin/sh | grep -o '/[^ ]*'; ldd /bin/cat | grep -o '/[^ ]*'")
	_, out := run(t, s)
	for _, name := range append(strings.Fields(out), "/bin/sh", "/bin/cat", "/bin/ls", "/usr/bin/id", "/bin/rm", "/bin/mkdir", "/bin/touch") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir+filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir+name, string(b))
	}
	_, out = run(t, shell("ldd /bin/ls /usr/bin/id | grep -o '/[^ ]*[.]so[^ ]*'"))
	for _, name := range strings.Fields(out) {
		if b, err := os.ReadFile(name); err == nil {
			os.MkdirAll(dir+filepath.Dir(name), 0o755)
			write(t, dir+name, string(b))
		}
	}
	if err := os.MkdirAll(dir+aptSettings, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/etc/mark", "mark\n")
	os.Symlink("/nowhere/resolv.conf", dir+"/etc/resolv.conf")
	return dir
}

func TestRootFolder(t *testing.T) {
	dir := rootfs(t)
	before := listing(t, dir)
	s := shell("cat /etc/mark; id -u; cat /etc/resolv.conf; [ -c /dev/null ] && echo dev; [ -d /proc/self ] && echo proc; touch /etc/x 2>/dev/null || echo refused; touch /tmp/x && echo tmp; [ -e /usr/lib/os-release ] && echo host; exit 0")
	s.UID, s.GID = 0, 0
	s.Root.Dir = file(t, dir)
	s.Files = []File{{"/etc/resolv.conf", []byte("none\n")}}
	lines(t, s, "mark", "0", "none", "dev", "proc", "refused", "tmp")

	s.Root.Writable = true
	s.Argv[2] = "touch /etc/x /usr/new && echo made; rm /etc/mark && echo removed; mkdir /root/d /srv && ls /srv; ls /etc/x; exit 0"
	end, out := run(t, s)
	exits(t, end, out, 0)
	if !strings.HasPrefix(out, "made\nremoved\n") || !strings.HasSuffix(out, "/etc/x\n") {
		t.Errorf("got %q", out)
	}
	// apt isn't to try to be someone else.
	s.Argv[2] = "cat " + aptSettings + "/*"
	lines(t, s, `APT::Sandbox::User "root";`)
	// With a mount that may do less, the rest still may.
	write(t, dir+"/../granted", "x")
	s.Mounts = []Mount{{File: file(t, dir+"/usr"), Target: "/data", Read: true, Write: true}}
	s.Argv[2] = "touch /etc/y && echo made; rm /data/bin/id 2>/dev/null || echo kept; ls /data >/dev/null && echo listed; exit 0"
	lines(t, s, "made", "kept", "listed")
	if after := listing(t, dir); after != before {
		t.Errorf("the folder has changed: %s, want %s", after, before)
	}
}

func listing(t testing.TB, dir string) (list string) {
	t.Helper()
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil {
			list += strings.TrimPrefix(name, dir) + " " + info.Mode().String() + "\n"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPrivateFolders(t *testing.T) {
	s := shell("cd /tmp && ls -A; echo x > mine; ls /home; ls -A /home/unit; ls -A /run; ls -A /sys; ls -A /dev/shm; echo $HOME")
	write(t, filepath.Join(os.TempDir(), "joulebox-cell-test"), "")
	defer os.Remove(filepath.Join(os.TempDir(), "joulebox-cell-test"))
	lines(t, s, "unit", "")
	if _, err := os.Stat(filepath.Join(os.TempDir(), "mine")); err == nil {
		t.Error("the unit's file is in the host's folder")
	}
}

// A mount in one of the unit's own folders has the rights that it was given, and
// not those of the folder.
func TestMountInPrivateFolder(t *testing.T) {
	dir := tree(t)
	s := shell(scriptOf("touch /tmp/own", "cat /tmp/granted/a", "echo x > /tmp/granted/a", "rm /tmp/granted/a", "cp /bin/true /tmp/t && /tmp/t", "mv /tmp/granted/a /tmp/b"))
	s.Mounts = []Mount{{File: file(t, dir+"/in"), Target: "/tmp/granted", Read: true}}
	lines(t, s, "yes", "yes", "no", "no", "yes", "no")
	s.Mounts[0].Write = true
	lines(t, s, "no", "yes", "yes", "no", "no", "no") // the kernel can't have both, so it's the stricter
	s.Mounts[0].Delete = true
	lines(t, s, "yes", "yes", "yes", "yes", "yes", "no")
	s.Mounts[0] = Mount{File: file(t, dir+"/out"), Target: "/tmp/granted", Write: true, Delete: true}
	s.Argv[2] = scriptOf("touch /tmp/granted/new", "ls /tmp/granted", "cat /tmp/granted/new", "rm /tmp/granted/new")
	lines(t, s, "yes", "no", "no", "yes")
}

// Nothing of the host's view is left, wherever the root is from.
func TestHostViewIsGone(t *testing.T) {
	dir := file(t, rootfs(t))
	for _, root := range []Root{{}, {Dir: dir}, {Dir: dir, Writable: true}} {
		s := shell("while read -r id parent dev root at rest; do [ \"$at\" = / ] && echo \"$root\"; case \"$at\" in /sys/*|/boot*|*/cgroup*) echo left $at;; esac; done < /proc/self/mountinfo; exit 0")
		s.Root = root
		lines(t, s, "/")
	}
}

// TestHomeWithinAMount: a granted folder that holds where the home would be takes its
// place.
func TestHomeWithinAMount(t *testing.T) {
	dir := folder(t)
	if err := os.Mkdir(dir+"/unit", 0o755); err != nil {
		t.Fatal(err)
	}
	s := shell("test -d /home/unit && ! touch /home/unit/x 2>/dev/null")
	s.Mounts = []Mount{{File: file(t, dir), Target: "/home", Read: true}}
	s.Hold = func(int) error { return nil }
	end, out := run(t, s)
	exits(t, end, out, 0)
}
