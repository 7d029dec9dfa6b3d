package execwatch

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

// The test binary is also the process that watches, the one that stands still
// until it is watched, and the programs that attack from inside.
func TestMain(m *testing.M) {
	switch mode := os.Getenv(modeVariable); {
	case mode == "watch":
		exit(watchMain())
	case mode == "init":
		exit(initMain())
	case mode == "gate":
		exit(gateMain())
	case strings.HasPrefix(mode, "attack:"):
		exit(attacks[strings.TrimPrefix(mode, "attack:")]())
	}
	os.Exit(runTests(m))
}

const modeVariable = "JOULEBOX_EXECWATCH_TEST"

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(0)
}

// self is a copy of the test binary that an ordinary user may run, in a directory
// that they may write to.
var self, scratch string

func runTests(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "execwatch-*"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(scratch)
	self = filepath.Join(scratch, "self")
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(self, program, 0o755)
	}
	if err = firstOf(err, os.Chmod(scratch, 0o777)); err != nil {
		panic(err)
	}
	return m.Run()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// The descriptors that a tree inherits.
const (
	markerFD = 3 // programs that run write here
	gateFD   = 4 // the one that stands still reads here
	readyFD  = 5 // and says here that it does
)

// order is what the watching process is told.
type order struct {
	Way         string // "trace", "attach", "traceme", "fanotify", "reap"
	Allow, Deny []joulebox.ID
	Sealed      bool
	// Confine is what the process that stands still takes from itself: a mechanism.
	Confine Mechanism
	// Slow has each decision take its time.
	Slow bool
	// Forget has nothing cached.
	Forget bool
	// View says that all is read-only but Dir, which is noexec.
	View      bool
	Args, Env []string
	Attack    string // what Args[0] does, if it is this binary
	Dir       string
}

// told is what it tells.
type told struct {
	Records []Record
	Status  syscall.WaitStatus
	Ends    int
	Err     string
}

// slow is how long a slow decision takes.
const slow = 500 * time.Millisecond

func (o order) decide(e Exec) Verdict {
	if o.Slow {
		time.Sleep(slow)
	}
	switch {
	case slices.Contains(o.Deny, e.Hash):
		return Verdict{Reason: "denied"}
	case len(o.Allow) > 0 && !slices.Contains(o.Allow, e.Hash):
		return Verdict{Reason: "not on the list"}
	}
	return Verdict{Allowed: true, Reason: "allowed"}
}

func gateMain() error {
	var b [1]byte
	if _, err := unix.Write(readyFD, b[:]); err != nil {
		return err
	}
	unix.CloseOnExec(readyFD)
	if n, err := unix.Read(gateFD, b[:]); n != 1 {
		return fmt.Errorf("gate: %d bytes, %v", n, err)
	}
	unix.CloseOnExec(gateFD)
	if m := os.Getenv("CONFINE"); m != "" {
		runtime.LockOSThread()
		if err := firstOf(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), Confine(Mechanism(m), os.Getenv("SEALED") != "")); err != nil {
			return err
		}
	}
	env := environment()
	if attack := os.Getenv("ATTACK"); attack != "" {
		env = append(env, modeVariable+"=attack:"+attack)
	}
	return unix.Exec(os.Args[1], os.Args[1:], env)
}

// environment is this process's without its mode.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, modeVariable+"=") })
}

func watchMain() error {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return err
	}
	var answer told
	if err := o.watch(&answer); err != nil {
		answer.Err = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func (o order) options(t *told) Options {
	var mu sync.Mutex
	cache := NewCache()
	if o.Forget {
		cache.known = nil
	}
	return Options{Decide: o.decide, Sealed: o.Sealed, Cache: cache, Record: func(r Record) {
		mu.Lock()
		defer mu.Unlock()
		if len(t.Records) < 5000 {
			t.Records = append(t.Records, r)
		}
	}}
}

func (o order) gateEnvironment() []string {
	env := append(append(environment(), o.Env...), modeVariable+"=gate", "ATTACK="+o.Attack, "CONFINE="+string(o.Confine))
	if o.Sealed {
		env = append(env, "SEALED=1")
	}
	return env
}

// gated starts a process that stands still until released.
func (o order) gated() (*os.Process, func() error, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	ready, says, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer ready.Close()
	p, err := os.StartProcess("/proc/self/exe", append([]string{"gate"}, o.Args...), &os.ProcAttr{
		Dir:   o.Dir,
		Env:   o.gateEnvironment(),
		Files: []*os.File{os.Stdin, os.Stderr, os.Stderr, os.NewFile(markerFD, "marker"), r, says},
	})
	says.Close()
	if err == nil { // it is in the execve that made it until it says otherwise
		_, err = ready.Read(make([]byte, 1))
	}
	return p, func() error {
		_, err := w.Write([]byte{1})
		return firstOf(err, w.Close())
	}, err
}

func (o order) watch(t *told) error {
	if o.Way == "attach" || o.Way == "fanotify" || o.Way == "starter" {
		return o.watchFromOutside(t)
	}
	options, main := o.options(t), 0
	options.Ended = func(pid int, status syscall.WaitStatus, _ syscall.Rusage) {
		if t.Ends++; pid == main {
			t.Status = status
		}
	}
	start := func() (Started, error) {
		if o.Way != "traceme" {
			p, release, err := o.gated()
			if err == nil {
				main = p.Pid
			}
			return Started{main, release}, err
		}
		p, err := os.StartProcess(o.Args[0], o.Args, &os.ProcAttr{
			Dir: o.Dir, Env: append(append(environment(), o.Env...), modeVariable+"=attack:"+o.Attack),
			Files: []*os.File{os.Stdin, os.Stderr, os.Stderr, os.NewFile(markerFD, "marker")},
			Sys:   &syscall.SysProcAttr{Ptrace: true},
		})
		if err == nil {
			main = p.Pid
		}
		return Started{PID: main}, err
	}
	if o.Way == "reap" {
		return Reap(start, options.Ended)
	}
	return Trace(start, options)
}

// initMain is the first process of a cell: it starts a process that stands still,
// says which, releases it when it is told to, and says how it ended.
func initMain() error {
	var o order
	messages := json.NewDecoder(os.Stdin)
	if err := messages.Decode(&o); err != nil {
		return err
	}
	if o.View {
		if err := seal(o.Dir); err != nil {
			return err
		}
	}
	if o.Way == "starter" {
		return o.starterMain(messages)
	}
	main, says := 0, json.NewEncoder(os.Stdout)
	var end syscall.WaitStatus
	err := Reap(func() (Started, error) {
		p, release, err := o.gated()
		if err != nil {
			return Started{}, err
		}
		main = p.Pid
		return Started{main, func() error {
			var watched bool
			return firstOf(says.Encode(main), messages.Decode(&watched), release())
		}}, nil
	}, func(pid int, status syscall.WaitStatus, _ syscall.Rusage) {
		if pid == main {
			end = status
		}
	})
	return firstOf(err, says.Encode(end))
}

// ownMounts gives a child mounts of its own, an ordinary user's in a namespace of
// users where they are the superuser.
func ownMounts() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

// seal makes all mounts read-only but dir, which it makes noexec.
func seal(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	list, err := process(os.Getpid()).mounts()
	defer closeMounts(list)
	if err != nil {
		return err
	}
	for _, m := range list {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(m.fd, &fs); err != nil {
			return err
		}
		flags := uintptr(fs.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME)
		if m.at == dir {
			flags |= unix.MS_NOEXEC
		} else {
			flags |= unix.MS_RDONLY
		}
		if err := unix.Mount("", m.at, "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""); err != nil {
			return fmt.Errorf("sealing %s: %w", m.at, err)
		}
	}
	return nil
}

// starterMain is a first process that is itself who is watched, and starts the unit
// as its child.
func (o order) starterMain(messages *json.Decoder) error {
	var watched bool
	says := json.NewEncoder(os.Stdout)
	if err := firstOf(says.Encode(os.Getpid()), messages.Decode(&watched)); err != nil {
		return err
	}
	if o.Confine != "" {
		runtime.LockOSThread()
		if err := firstOf(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0), Confine(o.Confine, o.Sealed)); err != nil {
			return err
		}
	}
	pid, err := syscall.ForkExec(o.Args[0], o.Args, &syscall.ProcAttr{
		Dir: o.Dir, Env: append(append(environment(), o.Env...), modeVariable+"=attack:"+o.Attack),
		Files: []uintptr{0, 2, 2, markerFD}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return firstOf(says.Encode(126<<8), nil)
	}
	var end syscall.WaitStatus
	err = Reap(func() (Started, error) { return Started{PID: pid}, nil }, func(ended int, status syscall.WaitStatus, _ syscall.Rusage) {
		if ended == pid {
			end = status
		}
	})
	return firstOf(err, says.Encode(end))
}

func (o order) watchFromOutside(t *told) error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(environment(), modeVariable+"=init")
	if o.Way == "fanotify" || o.View {
		cmd.SysProcAttr = ownMounts()
	}
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{os.NewFile(markerFD, "marker")}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := firstOf(err1, err2, cmd.Start()); err != nil {
		return err
	}
	defer cmd.Process.Kill()
	var pid int
	says, messages := json.NewEncoder(in), json.NewDecoder(out)
	if err := firstOf(says.Encode(o), messages.Decode(&pid)); err != nil {
		return err
	}
	start := startPtrace
	if o.Way == "fanotify" {
		start = startFanotify
	}
	w, err := start(pid, o.options(t))
	if err != nil {
		return err
	}
	return firstOf(says.Encode(true), messages.Decode(&t.Status), cmd.Wait(), w.Close())
}

// user is who watches and runs.
type user struct {
	name string
	id   uint32
}

func users() []user {
	if os.Geteuid() == 0 {
		return []user{{"root", 0}, {"nobody", 65534}}
	}
	return []user{{"user", uint32(os.Geteuid())}}
}

// run has a tree watched, and gives what was told and what the programs wrote.
func (o order) run(t testing.TB, u user) (told, string) {
	t.Helper()
	answer, marks := o.tell(t, u)
	if answer.Err != "" {
		t.Fatalf("watching: %s", answer.Err)
	}
	return answer, marks
}

func (o order) tell(t testing.TB, u user) (told, string) {
	t.Helper()
	answer, marks := o.attempt(t, u)
	if answer == nil {
		t.Fatal("the watching process ended without a word")
	}
	return *answer, marks
}

// attempt gives nil when the process that watches has come to an end.
func (o order) attempt(t testing.TB, u user) (*told, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{modeVariable + "=watch", "PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"} // else a process under the race detector ends late
	cmd.Stdin = strings.NewReader(string(in))
	var out, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.ExtraFiles = []*os.File{w}
	if u.id != uint32(os.Geteuid()) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.id, Gid: u.id}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	marks := make(chan string)
	go func() {
		var b strings.Builder
		buffer := make([]byte, 4096)
		for {
			n, err := r.Read(buffer)
			b.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		marks <- b.String()
	}()
	err = cmd.Wait()
	written := <-marks
	if stderr.Len() > 0 {
		t.Logf("stderr: %s", stderr.String())
	}
	var answer told
	if jsonErr := json.Unmarshal([]byte(out.String()), &answer); err != nil || jsonErr != nil {
		t.Logf("watching: %v, %v", err, jsonErr)
		return nil, written
	}
	return &answer, written
}

// ways are how a tree can be watched by a user.
func ways(u user) []string {
	list := []string{"trace", "attach", "starter", "traceme"}
	if u.id == 0 {
		list = append(list, "fanotify")
	}
	return list
}

// everyWay runs a test as each user in each way.
func everyWay(t *testing.T, test func(t *testing.T, u user, way string)) {
	for _, u := range users() {
		for _, way := range ways(u) {
			t.Run(u.name+"/"+way, func(t *testing.T) { test(t, u, way) })
		}
	}
}
