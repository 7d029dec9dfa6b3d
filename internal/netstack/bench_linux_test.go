package netstack

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

// The benchmarks compare a unit's network with plain loopback in the same run: the
// client is in a process of its own either way.

func init() {
	ops["pull"] = opPull
	ops["push"] = opPush
	ops["connects"] = opConnects
}

// opPull reads so many bytes and gives the nanoseconds that it took.
func opPull(args []string) (string, error) {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	begun := time.Now()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	if err == nil && strconv.FormatInt(n, 10) != args[1] {
		err = fmt.Errorf("got %d bytes", n)
	}
	return strconv.FormatInt(time.Since(begun).Nanoseconds(), 10), err
}

// opPush writes so many bytes, until the server says that it has them.
func opPush(args []string) (string, error) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return "", err
	}
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	begun := time.Now()
	b := make([]byte, 256<<10)
	for size > 0 {
		n, err := c.Write(b[:min(size, int64(len(b)))])
		if err != nil {
			return "", err
		}
		size -= int64(n)
	}
	c.(*net.TCPConn).CloseWrite()
	_, err = io.Copy(io.Discard, c)
	return strconv.FormatInt(time.Since(begun).Nanoseconds(), 10), err
}

// opConnects connects, speaks and hears so many times.
func opConnects(args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	begun := time.Now()
	for range n {
		c, err := net.Dial("tcp", args[0])
		if err != nil {
			return "", err
		}
		if _, err := c.Write([]byte("x")); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return "", err
		}
		c.Close()
	}
	return strconv.FormatInt(time.Since(begun).Nanoseconds(), 10), nil
}

// outside is a process that has the host's network.
var outside = who{name: "outside"}

const benchBytes = 512 * mega

func BenchmarkNetwork(b *testing.B) {
	source := serve(b, func(c net.Conn) {
		buf := make([]byte, 256<<10)
		for left := benchBytes; left > 0; {
			n, err := c.Write(buf[:min(left, len(buf))])
			if err != nil {
				return
			}
			left -= n
		}
	})
	sink := serve(b, func(c net.Conn) {
		io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	})
	echoes := serve(b, echo)
	w := &world{servers: map[string]string{"192.0.2.7:1": source, "192.0.2.7:2": sink, "192.0.2.7:3": echoes}}
	for _, who := range append([]who{outside}, everyone...) {
		var u *unit
		to := func(port int, server string) string { return fmt.Sprintf("192.0.2.7:%d", port) }
		if who.name == outside.name {
			u = &unit{TB: b}
			u.spawn(who, nil)
			b.Cleanup(u.end)
			to = func(_ int, server string) string { return server }
		} else {
			u = startAs(b, who, Config{Network: w, Outbound: []string{"192.0.2.7:1", "192.0.2.7:2", "192.0.2.7:3"}})
		}
		measure := func(name, op, to string, n int, report func(time.Duration)) {
			b.Run(who.name+"/"+name, func(b *testing.B) {
				var sum time.Duration
				for range b.N {
					out, err := u.do(op, to, strconv.Itoa(n))
					if err != nil {
						b.Fatal(err)
					}
					ns, _ := strconv.ParseInt(out, 10, 64)
					sum += time.Duration(ns)
				}
				report(sum / time.Duration(b.N))
				b.SetBytes(0)
			})
		}
		rate := func(d time.Duration) { fmt.Printf("# %s %.0f MB/s\n", who.name, benchBytes/1e6/d.Seconds()) }
		measure("pull", "pull", to(1, source), benchBytes, rate)
		measure("push", "push", to(2, sink), benchBytes, rate)
		measure("connect", "connects", to(3, echoes), 500, func(d time.Duration) { fmt.Printf("# %s %v each\n", who.name, d/500) })
	}
}
