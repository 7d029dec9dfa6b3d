//go:build amd64 || arm64

package cell

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// gateAttack tries a socket in a granted folder by each way, and what must work.
func gateAttack() {
	report := func(name string, err error) {
		if err != nil {
			fmt.Println(name, "refused")
		} else {
			fmt.Println(name, "works")
		}
	}
	_, err := net.Dial("unix", "/data/socket")
	report("granted", err)
	err = os.Symlink("/data/socket", "/tmp/link")
	if err == nil {
		_, err = net.Dial("unix", "/tmp/link")
	}
	report("link", err)
	err = os.Chdir("/data")
	if err == nil {
		_, err = net.Dial("unix", "socket")
	}
	report("relative", err)
	_, err = net.Dial("unix", "/proc/self/root/data/socket")
	report("root", err)
	_, err = net.Dial("unix", "/proc/self/cwd/socket")
	report("cwd", err)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: "/data/datagrams"})
	}
	report("datagram", err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: "/data/datagrams"})
	}
	report("pair", err)
	for _, l := range [][2]string{{"unix", "/tmp/own"}, {"unix", "@own"}, {"tcp", "127.0.0.1:0"}, {"tcp", "[::1]:0"}} {
		report(l[0], echo(l[0], l[1]))
	}
	_, err = net.Dial("tcp", "127.0.0.1:9")
	report("closed", err)
}

// echo sends through a connection to itself.
func echo(network, address string) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	got := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.WriteString(c, "hello")
			c.Close()
		}
		got <- err
	}()
	c, err := net.Dial(network, l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err == nil && string(b) != "hello" {
		err = fmt.Errorf("got %q", b)
	}
	if err == nil {
		err = <-got
	}
	return err
}

func TestSocketsOfOthers(t *testing.T) {
	dir := folder(t)
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := net.ListenPacket("unixgram", filepath.Join(dir, "datagrams"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := attackSpec(t, "gate")
	s.Mounts = append(s.Mounts, Mount{File: file(t, dir), Target: "/data", Read: true, Write: true, Delete: true})
	end, out := run(t, s)
	exits(t, end, out, 0)
	want := []string{"granted refused", "link refused", "relative refused", "root refused", "cwd refused", "datagram refused", "pair refused",
		"unix works", "unix works", "tcp works", "tcp works", "closed refused"}
	if have := strings.Split(strings.TrimSpace(out), "\n"); strings.Join(have, ",") != strings.Join(want, ",") {
		t.Errorf("got %q, want %q", have, want)
	}
}

// Many that connect at once, with a runtime that sends itself signals.
func TestManyConnections(t *testing.T) {
	s := attackSpec(t, "connections")
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "200\n" {
		t.Errorf("got %q", out)
	}
}

func manyConnections() {
	results := make(chan error)
	for range 200 {
		go func() { results <- echo("tcp", "127.0.0.1:0") }()
	}
	worked := 0
	for range 200 {
		if err := <-results; err == nil {
			worked++
		} else {
			fmt.Println(err)
		}
	}
	fmt.Println(worked)
}
