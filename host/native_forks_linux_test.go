package host

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
)

// forkAlone makes processes that run nothing else until no more go.
func forkAlone() error {
	for made := 0; ; made++ {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if pid == 0 && errno == 0 {
			for {
				_, _, _ = unix.RawSyscall(unix.SYS_PPOLL, 0, 0, 0) // forever
			}
		}
		if errno != 0 {
			fmt.Println(made, errno)
			return nil
		}
	}
}

// TestNativeForks: process.max_processes bounds what is forked, and the record says so.
func TestNativeForks(t *testing.T) {
	run, b, said := self(t, "fork", BrokerConfig{Grants: grant.Set{Process: grant.Process{Exec: true, Programs: []string{"/nothing"}, MaxProcesses: 5}}})
	e, err := run.Wait()
	if line := <-said.said; err != nil || line != fmt.Sprint(5, " ", unix.EAGAIN) || e.Code == nil || *e.Code != 0 {
		t.Errorf("got %q, %+v, %v", line, e, err)
	}
	if d := b.Denials(); len(d) != 1 || d[0].Grant != tooMany.Grant || b.Usage().ExecsDenied != 1 {
		t.Errorf("got %+v, %+v", d, b.Usage())
	}
}
