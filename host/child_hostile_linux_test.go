package host

import (
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/hostspawn"
	"github.com/joulebox/joulebox/internal/jail/jailtest"
	"github.com/joulebox/joulebox/internal/wasm"
)

// evil is what a host process does in place of its unit, when a test tells it to.
type evil struct {
	Attack string
	Target jailtest.Target
	Do     string
}

const evilVariable = "EVIL="

// misbehave runs in the host process, where it is ready to run the unit: whoever
// has broken out of the engine stands there.
func misbehave(o *order) {
	for _, v := range o.Env {
		text, ok := strings.CutPrefix(v, evilVariable)
		if !ok {
			continue
		}
		var e evil
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			panic(err)
		}
		e.act(o)
	}
}

// act ends in a message to the supervisor that no honest process sends: it says
// what stood in the way.
func (e evil) act(o *order) {
	c := newChannel(hostedSocket, maxSetup, true)
	say := func(text string) { c.send(kindFault, &fault{text}) }
	if a, ok := jailtest.Find(e.Attack); ok {
		if e.Target.Inside >= 0 { // the first root
			e.Target.Inside = firstDirectory()
		}
		say(fmt.Sprint("tried: ", a.Do(e.Target)))
		os.Exit(0)
	}
	honest := ending{Cause: byte(wasm.Returned), Fuel: 10, Instructions: 10}
	switch e.Do {
	case "vanish":
		os.Exit(0)
	case "crash":
		panic("boom")
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
		time.Sleep(time.Hour)
	case "exhaust":
		var all [][]byte
		for {
			all = append(all, make([]byte, 64<<20))
			for i := range all[len(all)-1] {
				all[len(all)-1][i] = 1
			}
		}
	case "garbage":
		sendOnce(hostedSocket, []byte(strings.Repeat("\xff", 1000)), 0)
	case "half":
		sendOnce(hostedSocket, []byte{100, 0, 0, 0, byte(kindExit), 1, 2}, 0)
		os.Exit(0)
	case "huge":
		sendOnce(hostedSocket, []byte{0, 0, 0, 0x7f, byte(kindOutput)}, 0)
	case "wrong":
		c.send(kindReady, &ready{})
	case "trailing":
		c.send(kindExit, trailing{&honest})
	case "output of nothing":
		c.send(kindOutput, empty{})
	case "journal":
		c.output(streamJournal, []byte("entry"), nil)
	case "log flood":
		for range 100 {
			c.output(streamLog, make([]byte, 64<<10), nil)
		}
	case "kv":
		c.send(kindCall, &call{Ask: askGet, Name: []byte("key")})
	case "content":
		c.send(kindCall, &call{Ask: askContent, Name: make([]byte, 32), Most: 10})
	case "room":
		c.send(kindCall, &call{Ask: askEgress, Name: []byte("localhost:1"), Most: 1 << 31})
	case "egress":
		c.send(kindCall, &call{Ask: askEgress, Name: fmt.Appendf(nil, "127.0.0.1:%d", e.Target.TCP4), Most: 10})
		k, payload, err := c.receive()
		var r reply
		err = firstError(err, decode(payload, &r))
		say(fmt.Sprintf("answer: %#x %d %v", byte(k), int32(r.Code), err))
		os.Exit(0)
	case "input":
		c.send(kindStdin, empty{})
	default:
		e.lie(&honest)
		c.send(kindExit, &honest)
	}
	time.Sleep(time.Hour)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lie tells a story that can't be.
func (e evil) lie(end *ending) {
	switch e.Do {
	case "no cause":
		end.Cause = 0
	case "unknown cause":
		end.Cause = 200
	case "more than granted":
		end.Fuel = 1 << 62
	case "more instructions than units":
		end.Instructions = 11
	case "vectors that overflow":
		end.SIMD = 1 << 63
	case "vectors":
		end.SIMD = 6
	case "out of fuel too soon":
		end.Cause = byte(wasm.OutOfFuel)
	case "out of time too soon":
		end.Cause = byte(wasm.OutOfTime)
	case "code of a trap":
		end.Cause, end.Code = byte(wasm.Trapped), 3
	case "memory":
		end.Peak = 1 << 40
	case "input not given":
		end.Taken = 1
	case "usage":
		end.Usage[1] = 1 << 63
	case "unknown probing":
		end.Probing = []string{"everything"}
	case "probing twice":
		end.Probing = []string{probeEnergy, probeEnergy}
	case "denials":
		end.Denials = make([]Denial, 17)
	case "long text":
		end.Trap = strings.Repeat("x", 2000)
	default:
		panic("no such lie: " + e.Do)
	}
}

var lies = []string{"no cause", "unknown cause", "more than granted", "more instructions than units", "vectors that overflow", "vectors",
	"out of fuel too soon", "out of time too soon", "code of a trap", "memory", "input not given", "usage", "unknown probing",
	"probing twice", "denials", "long text"}

// trailing has a byte after the end.
type trailing struct{ message }

func (t trailing) fields(w *wire) {
	t.message.fields(w)
	b := byte(0)
	w.byte(&b)
}

func firstDirectory() int {
	for fd := 3; fd < 64; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			if name, err := nameOf(fd); err == nil && !strings.HasPrefix(name, "/proc") {
				return fd
			}
		}
	}
	return -1
}

func evilTrial(t *testing.T, e evil) *trial {
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{image: returns(0), config: BrokerConfig{Env: []string{evilVariable + string(text)}}}
}

// prey is what a supervisor has and a host process must not get: a key, records,
// a way to the network.
func prey(t *testing.T) jailtest.Target {
	dir := t.TempDir()
	secret := filepath.Join(dir, "keys", "host", "key")
	if err := os.MkdirAll(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("the key"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := jailtest.Target{Secret: secret, Outside: dir, Inside: -1, Unix: filepath.Join(dir, "socket"), Victim: os.Getpid()}
	for _, at := range [][2]string{{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"unix", target.Unix}, {"unix", "@" + target.Unix}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			continue
		}
		t.Cleanup(func() { l.Close() })
		switch a, _ := l.Addr().(*net.TCPAddr); at[0] {
		case "tcp4":
			target.TCP4 = a.Port
		case "tcp6":
			target.TCP6 = a.Port
		}
	}
	return target
}

// TestHostileProcess has a host process, in the place where a broken engine would
// leave a unit, try to reach the key, the records, the supervisor, the network and
// the kernel. Each attempt is one run.
func TestHostileProcess(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	target := prey(t)
	for _, storage := range []bool{false, true} {
		for _, a := range jailtest.Attacks() {
			if a.Storage && !storage {
				continue
			}
			t.Run(fmt.Sprintf("storage %t/%s", storage, a.Name), func(t *testing.T) {
				e := evil{Attack: a.Name, Target: target}
				if storage {
					e.Target.Inside = 0
				}
				u := evilTrial(t, e)
				if storage {
					u.config.Grants = everything("/data", "/data/**")
					u.config.Mounts = []Mount{{Guest: "/data", Host: t.TempDir()}}
				}
				u.on(t, t.Context(), x)
				if a.Deadly {
					if u.err != nil || u.exit.Outcome != joulebox.Terminated(joulebox.VMEscape) {
						t.Errorf("got %+v, %v, want the run to end as an escape", u.exit, u.err)
					}
				} else if u.err == nil || !strings.Contains(u.err.Error(), "tried: ") || strings.Contains(u.err.Error(), "tried: <nil>") {
					t.Errorf("got %+v, %v", u.exit, u.err)
				}
			})
		}
	}
	if b, err := os.ReadFile(target.Secret); err != nil || string(b) != "the key" {
		t.Errorf("the key is now %q, %v", b, err)
	}
}

// TestLies: what can't be is an error and no record.
func TestLies(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	for _, lie := range append(lies, "garbage", "huge", "wrong", "trailing", "output of nothing", "journal", "log flood", "kv", "content",
		"room", "input") {
		t.Run(lie, func(t *testing.T) {
			u := evilTrial(t, evil{Do: lie}).on(t, t.Context(), x)
			if u.err == nil || !strings.Contains(u.err.Error(), "nonsense") {
				t.Errorf("got %+v, %v", u.exit, u.err)
			}
		})
	}
}

// TestEgressOfALiar: what the process says that it has decided counts for nothing.
func TestEgressOfALiar(t *testing.T) {
	u := evilTrial(t, evil{Do: "egress", Target: prey(t)}).on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if u.err == nil || !strings.Contains(u.err.Error(), "answer: 0x3 1 ") {
		t.Errorf("got %+v, %v, want it denied", u.exit, u.err)
	}
	if u.usage.ConnectionsDenied != 1 {
		t.Errorf("usage %+v", u.usage)
	}
}

// TestDeaths: a process that dies without saying how its run ended leaves an
// error, and never a made-up record.
func TestDeaths(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	for how, want := range map[string]string{
		"vanish": "died without saying", "crash": "boom", "kill": "signal: killed", "half": "died without saying",
	} {
		u := evilTrial(t, evil{Do: how}).on(t, t.Context(), x)
		if u.err == nil || !strings.Contains(u.err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %q", how, u.exit, u.err, want)
		}
	}
}

// TestHang: a process that doesn't end its run in time is ended.
func TestHang(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	u := evilTrial(t, evil{Do: "hang"})
	u.change = func(l *Limits) { l.Wall = 100 * time.Millisecond }
	start := time.Now()
	u.on(t, t.Context(), x)
	if u.err != nil || u.exit.Outcome != joulebox.Terminated(joulebox.BreachTime) || time.Since(start) > 3*wallGrace {
		t.Errorf("got %+v, %v after %v", u.exit, u.err, time.Since(start))
	}
}

func TestExhaustedMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory has no bound")
	}
	u := evilTrial(t, evil{Do: "exhaust"}).on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if u.err != nil || u.exit.Outcome != joulebox.Terminated(joulebox.BreachMemory) {
		t.Errorf("got %+v, %v", u.exit, u.err)
	}
}

// TestSupervisorKilled kills -9 a supervisor whose unit runs: its process goes too.
func TestSupervisorKilled(t *testing.T) {
	needJail(t)
	if os.Getenv("JOULEBOX_TEST_SUPERVISOR") != "" {
		u := &trial{image: spins(), change: func(l *Limits) { l.Wall = time.Minute }}
		u.on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
		t.Fatalf("it ended: %+v, %v", u.exit, u.err)
	}
	parent := exec.Command("/proc/self/exe", "-test.run=^TestSupervisorKilled$")
	parent.Env = append(os.Environ(), "JOULEBOX_TEST_SUPERVISOR=1")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := waitFor(t, func() string { return childNamed(parent.Process.Pid, hostspawn.Name) })
	time.Sleep(200 * time.Millisecond) // into the run
	parent.Process.Kill()
	parent.Wait()
	waitFor(t, func() string {
		if text, err := os.ReadFile("/proc/" + child + "/stat"); err == nil && !strings.Contains(string(text), ") Z ") {
			return ""
		}
		return "gone"
	})
}

func waitFor(t *testing.T, f func() string) string {
	t.Helper()
	for range 1000 {
		if s := f(); s != "" {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nothing within 10 s")
	return ""
}

// childNamed finds a process by its parent and its first argument.
func childNamed(parent int, name string) string {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, n := range names {
		text, _ := os.ReadFile(n)
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if len(fields) < 2 || fields[1] != fmt.Sprint(parent) {
			continue
		}
		if args, _ := os.ReadFile(filepath.Join(filepath.Dir(n), "cmdline")); strings.HasPrefix(string(args), name+"\x00") {
			return filepath.Base(filepath.Dir(n))
		}
	}
	return ""
}

// TestProcessOfAnOrdinaryUser runs the tests of this file as nobody, when this is
// the superuser.
func TestProcessOfAnOrdinaryUser(t *testing.T) {
	needJail(t)
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	dir, err := os.MkdirTemp("", "joulebox-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.short", "-test.run=^(TestHostileProcess|TestLies|TestDeaths|TestHang|TestSupervisorKilled)$")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
