//go:build amd64 || arm64

package jail

import (
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail/jailtest"
)

const attackerName = "joulebox-jail-attacker"

func TestMain(m *testing.M) {
	if os.Args[0] == attackerName {
		attacker()
	}
	os.Exit(m.Run())
}

// plot is what an attacker is told.
type plot struct {
	Target jailtest.Target
	Attack string
	Free   bool // stay out of jail
}

// attacker goes to jail and then tries one thing. What it says on stdout is what
// stood in the way.
func attacker() {
	runtime.LockOSThread()
	var p plot
	if err := json.UnmarshalRead(os.Stdin, &p); err != nil {
		fmt.Println("plot:", err)
		os.Exit(3)
	}
	profile := Profile{Parent: p.Target.Victim, OpenFiles: 64}
	if p.Target.Inside >= 0 {
		profile.Paths = []Path{{FD: p.Target.Inside, Access: Read | Write | Delete}}
	}
	CloseInherited(0, 1, 2, p.Target.Inside)
	if !p.Free {
		if err := goIn(profile); err != nil {
			fmt.Println("jail:", err)
			os.Exit(4)
		}
	}
	attack, ok := jailtest.Find(p.Attack)
	switch {
	case p.Attack == "":
		fmt.Println("nothing:", honest(p))
	case !ok:
		fmt.Println("no such attack")
	default:
		fmt.Println("tried:", attack.Do(p.Target))
	}
	os.Exit(0)
}

func goIn(p Profile) error {
	_, err := Enter(p)
	return err
}

// honest is what a jailed process still can do.
func honest(p plot) error {
	done := make(chan int)
	for i := range 32 { // more threads than there are now
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			done <- len(make([]byte, i<<10))
		}()
	}
	for range 32 {
		<-done
	}
	runtime.GC()
	if p.Target.Inside < 0 {
		return nil
	}
	fd, err := unix.Openat(p.Target.Inside, "a", unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make: %w", err)
	}
	if _, err := unix.Write(fd, []byte("text")); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := unix.Ftruncate(fd, 1); err != nil {
		return fmt.Errorf("truncate: %w", err)
	}
	if err := unix.Mkdirat(p.Target.Inside, "d", 0o700); err != nil {
		return fmt.Errorf("mkdir: %w", err)
	}
	if err := unix.Renameat2(p.Target.Inside, "a", p.Target.Inside, "d/b", 0); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	if err := unix.Unlinkat(p.Target.Inside, "d/b", 0); err != nil {
		return fmt.Errorf("unlink: %w", err)
	}
	return unix.Unlinkat(p.Target.Inside, "d", unix.AT_REMOVEDIR)
}

// user runs a child as someone.
type user struct {
	name string
	cred *syscall.Credential
}

func users() []user {
	list := []user{{name: fmt.Sprintf("uid %d", os.Geteuid())}}
	if os.Geteuid() == 0 {
		list = append(list, user{"uid 65534", &syscall.Credential{Uid: 65534, Gid: 65534}})
	}
	return list
}

// scene is what there is to attack. All of it would be had without the jail.
func scene(t *testing.T, u user) jailtest.Target {
	t.Helper()
	dir, err := os.MkdirTemp("", "joulebox-jail-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	target := jailtest.Target{
		Secret: filepath.Join(dir, "out", "key"), Outside: filepath.Join(dir, "out"), Inside: -1,
		Unix: filepath.Join(dir, "out", "socket"), Victim: os.Getpid(),
	}
	for _, d := range []string{dir, target.Outside, filepath.Join(dir, "in")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(target.Secret, []byte("the key"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target.Secret, 0o666); err != nil {
		t.Fatal(err)
	}
	target.TCP4, target.TCP6 = port(listen(t, "tcp4", "127.0.0.1:0")), port(listen(t, "tcp6", "[::1]:0"))
	listen(t, "unix", target.Unix)
	listen(t, "unix", "@"+target.Unix)
	return target
}

func listen(t *testing.T, network, addr string) net.Listener {
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func port(l net.Listener) int {
	if l == nil {
		return 0
	}
	return l.Addr().(*net.TCPAddr).Port
}

// stage runs an attacker and says how it ended.
func stage(t *testing.T, u user, p plot, storage bool) (said string, ended syscall.WaitStatus) {
	t.Helper()
	dir := filepath.Dir(p.Target.Outside)
	var files []*os.File
	if storage {
		files = append(files, openDir(t, filepath.Join(dir, "in")))
		p.Target.Inside = 3
	}
	in, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	// The death signal comes when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{attackerName}
	cmd.Stdin, cmd.ExtraFiles = strings.NewReader(string(in)), files
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // a race detector waits a second otherwise
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.cred}
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func openDir(t *testing.T, name string) *os.File {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { f.Close() })
	return f
}

func needJail(t *testing.T) {
	t.Helper()
	if err := Missing(Survey(), true); err != nil {
		t.Skip(err)
	}
}

func TestHonestProcessLives(t *testing.T) {
	needJail(t)
	for _, u := range users() {
		for _, storage := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, storage %t", u.name, storage), func(t *testing.T) {
				said, ended := stage(t, u, plot{Target: scene(t, u)}, storage)
				if said != "nothing: <nil>" || ended.ExitStatus() != 0 {
					t.Errorf("got %q, status %#x", said, ended)
				}
			})
		}
	}
}

// TestAttacksWorkOutside makes sure that it is the jail that attacks fail at.
func TestAttacksWorkOutside(t *testing.T) {
	needJail(t)
	for _, u := range users() {
		worked, all := 0, jailtest.Outward()
		for _, a := range all {
			said, _ := stage(t, u, plot{Target: scene(t, u), Attack: a.Name, Free: true}, true)
			if said == "tried: <nil>" || a.Deadly {
				worked++
			} else {
				t.Logf("%s: %s: %s", u.name, a.Name, said)
			}
		}
		if worked < len(all)*3/4 {
			t.Errorf("%s: %d of %d attacks work without the jail: the rest proves nothing about it", u.name, worked, len(all))
		}
	}
}

func TestAttacksFail(t *testing.T) {
	needJail(t)
	attacks := jailtest.Attacks()
	if len(attacks) < 80 {
		t.Fatalf("%d attacks", len(attacks))
	}
	for _, u := range users() {
		for _, storage := range []bool{false, true} {
			target := scene(t, u)
			for _, a := range attacks {
				if a.Storage && !storage {
					continue
				}
				t.Run(fmt.Sprintf("%s, storage %t/%s", u.name, storage, a.Name), func(t *testing.T) {
					said, ended := stage(t, u, plot{Target: target, Attack: a.Name}, storage)
					judge(t, a, said, ended)
				})
			}
			if b, err := os.ReadFile(target.Secret); err != nil || string(b) != "the key" {
				t.Errorf("%s: the secret is now %q, %v", u.name, b, err)
			}
		}
	}
}

// judge wants an attack to have been stopped in the way that it is meant to be.
func judge(t *testing.T, a jailtest.Attack, said string, ended syscall.WaitStatus) {
	t.Helper()
	if a.Deadly {
		if !ended.Signaled() || ended.Signal() != syscall.SIGSYS {
			t.Errorf("got status %#x after %q, want the process to be ended by SIGSYS", ended, said)
		}
		return
	}
	if ended.ExitStatus() != 0 || !strings.HasPrefix(said, "tried: ") || said == "tried: <nil>" {
		t.Errorf("got status %#x, %q", ended, said)
	}
	if testing.Verbose() {
		t.Log(said)
	}
}
