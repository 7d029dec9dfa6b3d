package netstack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/egress"
)

// insideEnv has the test binary be a unit: it sets its network up, hands the device
// out, and does what it is told over descriptor 3.
const insideEnv = "NETSTACK_TEST_INSIDE"

// outsideToo is such a process in the host's network, for comparison.
const outsideToo = "none"

func TestMain(m *testing.M) {
	if os.Getenv(insideEnv) != "" {
		if err := beUnit(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type order struct{ Op, Args []string }
type answered struct{ Out, Err string }

func beUnit() error {
	if os.Getenv(insideEnv) != outsideToo {
		if err := writeFiles(); err != nil {
			return err
		}
	}
	var files []*os.File
	if config := os.Getenv(insideEnv); config != outsideToo {
		var err error
		if files, err = Setup([]byte(config)); err != nil {
			return err
		}
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd())) // and blocking from here on, as others hand it
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(append(fds, 3)...), nil, 0); err != nil {
		return err
	}
	if err := closeFiles(files); err != nil {
		return err
	}
	control := os.NewFile(3, "control")
	in, out := json.NewDecoder(bufio.NewReader(control)), json.NewEncoder(control)
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			return nil
		}
		var a answered
		text, err := ops[o.Op[0]](o.Args)
		a.Out = text
		if err != nil {
			a.Err = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// writeFiles puts the resolver's files in place, as a cell's view has them.
func writeFiles() error {
	const at = "/mnt"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	for name, text := range map[string]string{"resolv.conf": ResolvConf(), "hosts": Hosts("unit"), "nsswitch.conf": NSSwitch()} {
		file := filepath.Join(at, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, "/etc/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("/etc/%s: %w", name, err)
		}
	}
	return nil
}

// world is what is outside: names, and servers of this process behind addresses that
// look public.
type world struct {
	mu      sync.Mutex
	names   map[string][]string
	servers map[string]string // address outside to address of a server here
	asked   []string
	dialed  []string
	hang    bool
}

func (w *world) Lookup(_ context.Context, name string) (list []netip.Addr, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	for _, a := range w.names[name] {
		list = append(list, netip.MustParseAddr(a))
	}
	if list == nil {
		err = errors.New("no such host")
	}
	return list, err
}

func (w *world) dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, to.String())
	server, hang := w.servers[to.String()], w.hang
	w.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if server == "" {
		return nil, syscall.ECONNREFUSED
	}
	var d net.Dialer
	return d.DialContext(ctx, network, server)
}

func (w *world) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return w.dial(ctx, "tcp", to)
}

func (w *world) DialUDP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return w.dial(ctx, "udp", to)
}

// reached gives the addresses that were dialled.
func (w *world) reached() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}

// unit is a process in a network of its own, and the stack that serves it.
type unit struct {
	testing.TB
	*Stack
	cmd     *exec.Cmd
	control net.Conn
	in      *json.Decoder
	out     *json.Encoder
	mu      sync.Mutex
	flows   []Flow
}

// who a unit is to the host.
type who struct {
	name  string
	user  bool // a user namespace
	as    int  // the host's user behind root in there
	valid func() bool
}

var everyone = []who{
	{"an ordinary user", true, 65534, func() bool { return os.Geteuid() == 0 }},
	{"this user", true, os.Geteuid(), func() bool { return true }},
	{"root", false, 0, func() bool { return os.Geteuid() == 0 }},
}

func enforcer(t testing.TB, outbound []string, inbound bool) *grant.Enforcer {
	t.Helper()
	set := grant.Empty(grant.Compute{EnergyBudgetUJ: 1, CPUTimeMS: 1, MemoryBytes: 1})
	set.Network = grant.Network{Outbound: outbound, Inbound: inbound}
	e, err := grant.NewEnforcer(set)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// start makes a unit of the usual kind.
func start(t testing.TB, w Network, outbound ...string) *unit {
	t.Helper()
	return startAs(t, everyone[1], Config{Network: w, Outbound: outbound})
}

func startAs(t testing.TB, who who, c Config) *unit {
	t.Helper()
	slices.Sort(c.Outbound)
	u := &unit{TB: t}
	if c.Rules == nil {
		c.Rules = enforcer(t, c.Outbound, false)
	}
	if c.Network == nil {
		c.Network = egress.Host{}
	}
	c.Record = func(f Flow) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.flows = append(u.flows, f)
	}
	config, err := SetupConfig(c.Outbound)
	if err != nil {
		t.Fatal(err)
	}
	if u.Stack, err = New(u.spawn(who, config), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.stop() })
	return u
}

func (u *unit) spawn(who who, config []byte) (files []*os.File) {
	u.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		u.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer theirs.Close()
	defer ours.Close()
	u.cmd = exec.Command("/proc/self/exe")
	u.cmd.Env = append(os.Environ(), insideEnv+"="+string(config), "GODEBUG=netdns=go")
	u.cmd.ExtraFiles = []*os.File{theirs}
	u.cmd.Stderr = os.Stderr
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if config == nil {
		u.cmd.Env = append(u.cmd.Env, insideEnv+"="+outsideToo)
	} else {
		u.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNET | unix.CLONE_NEWNS
	}
	if who.user {
		u.cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		u.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: who.as, Size: 1}}
		u.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: who.as, Size: 1}}
		u.cmd.SysProcAttr.Credential = &syscall.Credential{NoSetGroups: true}
	}
	if err := u.cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			u.Skipf("no user namespaces: %v", err)
		}
		u.Fatal(err)
	}
	theirs.Close()
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4*16))
	_, n, _, _, err := unix.Recvmsg(pair[0], b, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		u.cmd.Wait()
		u.Fatalf("the unit handed nothing out: %v", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		u.Fatal(err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		u.Fatal(err)
	}
	if u.control, err = net.FileConn(ours); err != nil {
		u.Fatal(err)
	}
	u.in, u.out = json.NewDecoder(u.control), json.NewEncoder(u.control)
	unix.Close(fds[len(fds)-1]) // which only was there so that there is one
	for _, fd := range fds[:len(fds)-1] {
		files = append(files, os.NewFile(uintptr(fd), "handed out"))
	}
	return files
}

func (u *unit) stop() {
	u.end()
	if err := u.Close(); err != nil {
		u.Errorf("close: %v", err)
	}
}

// end ends the unit's processes.
func (u *unit) end() {
	if u.control != nil {
		u.control.Close()
		u.cmd.Process.Kill()
		u.cmd.Wait()
		u.control = nil
	}
}

// do has the unit do something.
func (u *unit) do(op string, args ...string) (string, error) {
	u.Helper()
	u.control.SetDeadline(time.Now().Add(2 * time.Minute))
	if err := u.out.Encode(order{[]string{op}, args}); err != nil {
		u.Fatal(err)
	}
	var a answered
	if err := u.in.Decode(&a); err != nil {
		u.Fatalf("%s %q: %v", op, args, err)
	}
	if a.Err != "" {
		return a.Out, errors.New(a.Err)
	}
	return a.Out, nil
}

// gets fails the test unless the unit gets that.
func (u *unit) gets(want, op string, args ...string) {
	u.Helper()
	got, err := u.do(op, args...)
	if err != nil || !strings.Contains(got, want) {
		u.Errorf("%s %.200q: got %.200q, %v, want %q", op, args, got, err, want)
	}
}

// fails fails the test unless the unit's try fails like that.
func (u *unit) fails(want, op string, args ...string) {
	u.Helper()
	got, err := u.do(op, args...)
	if err == nil || !strings.Contains(err.Error(), want) {
		u.Errorf("%s %.200q: got %.200q, %v, want an error with %q", op, args, got, err, want)
	}
}

// denied fails the test unless there is a record of a denial like that.
func (u *unit) denied(protocol, endpoint, reason, grant string) {
	u.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range u.flows {
		if !f.Allowed && f.Protocol == protocol && f.Endpoint == endpoint && strings.Contains(f.Reason, reason) && f.Grant == grant {
			return
		}
	}
	u.Errorf("got %+v, want a denial of %s %s because of %q that %q would allow", u.flows, protocol, endpoint, reason, grant)
}

// eventually waits for what follows in time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("never: %s", what)
			return
		}
	}
}
