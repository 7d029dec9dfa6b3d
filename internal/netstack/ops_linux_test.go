package netstack

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ops are what a unit can be told to do.
var ops = map[string]func(args []string) (string, error){
	"get":    opGet,
	"tls":    opTLS,
	"say":    opSay,
	"lookup": opLookup,
	"upload": opUpload,
	"many":   opMany,
	"exec":   opExec,
	"dial":   opDial,
	"hold":   opHold,
	"udps":   opUDPs,
	"half":   opHalf,
	"listen": opListen,
	"shout":  opShout,
	"leave":  opLeave,
}

const patience = 30 * time.Second

func opGet(args []string) (string, error) {
	r, err := http.NewRequest("GET", args[0], nil)
	if err != nil {
		return "", err
	}
	if len(args) > 1 {
		r.Host = args[1]
	}
	c := http.Client{Timeout: patience, Transport: &http.Transport{}}
	resp, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// opTLS connects, names a server, and reads what that says.
func opTLS(args []string) (string, error) {
	d := net.Dialer{Timeout: patience}
	c, err := tls.DialWithDialer(&d, "tcp", args[0], &tls.Config{ServerName: args[1], InsecureSkipVerify: true})
	if err != nil {
		return "", err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	return string(b), err
}

// opSay writes and reads to the end; over UDP one datagram each.
func opSay(args []string) (string, error) {
	c, err := net.DialTimeout(args[0], args[1], patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	for _, piece := range args[2:] {
		if _, err := io.WriteString(c, piece); err != nil {
			return "", err
		}
	}
	if t, ok := c.(*net.TCPConn); ok {
		if err := t.CloseWrite(); err != nil {
			return "", err
		}
		b, err := io.ReadAll(c)
		return string(b), err
	}
	b := make([]byte, 65536)
	n, err := c.Read(b)
	return string(b[:n]), err
}

func opDial(args []string) (string, error) {
	c, err := net.DialTimeout(args[0], args[1], patience)
	if err != nil {
		return "", err
	}
	return c.RemoteAddr().String(), c.Close()
}

func opLookup(args []string) (string, error) {
	addrs, err := net.LookupHost(args[0])
	return strings.Join(addrs, " "), err
}

func opExec(args []string) (string, error) {
	b, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	return string(b), err
}

// pattern is data that is the same on both sides.
type pattern struct{ at, size int64 }

func (p *pattern) Read(b []byte) (int, error) {
	if p.at == p.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), p.size-p.at))
	for i := range n {
		b[i] = byte((p.at + int64(i)) * 31 >> 3)
	}
	p.at += int64(n)
	return n, nil
}

// opUpload sends so many bytes, and reads as many that the server sends at the same
// time; it gives the digest of those.
func opUpload(args []string) (string, error) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return "", err
	}
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{c}, &pattern{size: size}, make([]byte, 100_003))
		sent <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
	}()
	sum := sha256.New()
	n, err := io.Copy(sum, c)
	return fmt.Sprintf("%d %s", n, hex.EncodeToString(sum.Sum(nil))), errors.Join(err, <-sent)
}

// opMany has connections open at once, and gives how many were answered.
func opMany(args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	var answered, failed int
	var last error
	var mu sync.Mutex
	var open, done sync.WaitGroup
	open.Add(n)
	for i := range n {
		done.Go(func() {
			c, err := net.DialTimeout("tcp", args[0], patience)
			open.Done()
			open.Wait()
			if err == nil {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				text := fmt.Sprintf("hello %d", i)
				io.WriteString(c, text)
				c.(*net.TCPConn).CloseWrite()
				var b []byte
				if b, err = io.ReadAll(c); err == nil && string(b) != text {
					err = fmt.Errorf("got %q, want %q", b, text)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				last = err
				return
			}
			answered++
		})
	}
	done.Wait()
	if last != nil {
		return fmt.Sprintf("%d answered, %d failed, %v", answered, failed, last), nil
	}
	return fmt.Sprintf("%d answered", answered), nil
}

// held keeps what opHold opened.
var held []net.Conn

// opHold opens connections one after another and keeps them; it gives how many it
// got.
func opHold(args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	got := 0
	for range n {
		if c, err := net.DialTimeout("tcp", args[0], patience); err == nil {
			held = append(held, c)
			got++
		}
	}
	return fmt.Sprintf("%d open", got), nil
}

// opUDPs sends a datagram from each of so many ports, and drops them.
func opUDPs(args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	for range n {
		c, err := net.Dial("udp", args[0])
		if err != nil {
			return "", err
		}
		io.WriteString(c, args[2])
		c.Close()
	}
	return "sent", nil
}

// opShout sends datagrams and goes without waiting for anything.
func opShout(args []string) (string, error) {
	c, err := net.Dial("udp", args[0])
	if err != nil {
		return "", err
	}
	for _, text := range args[1:] {
		if _, err := io.WriteString(c, text); err != nil {
			return "", err
		}
	}
	return "", c.Close()
}

// opHalf reads to the end of what a server says first, and only then speaks.
func opHalf(args []string) (string, error) {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(c, "after "+string(b))
	return string(b), errors.Join(err, c.(*net.TCPConn).CloseWrite())
}

// opListen serves a port: what comes in is answered.
func opListen(args []string) (string, error) {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintf(c, "hello %s, ", c.RemoteAddr().(*net.TCPAddr).IP)
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String(), nil
}

// opLeave opens connections, says that it has nothing to send, and never reads.
func opLeave(args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	got := 0
	for range n {
		c, err := net.DialTimeout("tcp", args[0], patience)
		if err != nil {
			continue
		}
		got++
		c.(*net.TCPConn).SetReadBuffer(4096)
		c.(*net.TCPConn).CloseWrite()
		held = append(held, c)
	}
	return fmt.Sprintf("%d open", got), nil
}
