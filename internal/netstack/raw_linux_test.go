package netstack

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A unit has no raw sockets. Should it get some, they lead no further.

func init() {
	ops["ping"] = opPing
	ops["syns"] = opSYNs
	ops["noise"] = opNoise
}

// pings is the socket of opPing, which is read later.
var pings = -1

// opPing sends echo requests, or with "heard" gives how many answers have come.
func opPing(args []string) (string, error) {
	if pings < 0 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, unix.IPPROTO_ICMP)
		if err != nil {
			return "", err
		}
		pings = fd
	}
	if args[0] == "heard" {
		n := 0
		for b := make([]byte, 2000); ; {
			k, _, err := unix.Recvfrom(pings, b, 0)
			if err != nil {
				return strconv.Itoa(n), nil
			}
			if k > 20 && b[20] == 0 { // an echo reply
				n++
			}
		}
	}
	for _, to := range args {
		echo := []byte{8, 0, 0xf7, 0xfe, 0, 1, 0, 0}
		if err := unix.Sendto(pings, echo, 0, &unix.SockaddrInet4{Addr: netip.MustParseAddr(to).As4()}); err != nil {
			return "", err
		}
	}
	return "", nil
}

func rawIP() (int, error) { return unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW) }

// opSYNs begins connections from ports that it doesn't have, and from other sources.
func opSYNs(args []string) (string, error) {
	fd, err := rawIP()
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	to := netip.MustParseAddrPort(args[0])
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	for i := range n {
		from := unitV4
		if i%2 == 1 {
			from = netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1})
		}
		p := packet(6, from.String(), to.Addr().String())[:40]
		p[3] = 40
		tcp := p[20:]
		binary.BigEndian.PutUint16(tcp, uint16(1024+i))
		binary.BigEndian.PutUint16(tcp[2:], to.Port())
		tcp[12], tcp[13], tcp[14] = 5<<4, 2, 0xff
		if err := unix.Sendto(fd, p, 0, &unix.SockaddrInet4{Addr: to.Addr().As4()}); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return "", err
		}
	}
	return "sent", nil
}

// opNoise sends packets of chance.
func opNoise(args []string) (string, error) {
	fd, err := rawIP()
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		protocol := []byte{1, 6, 17, byte(r.Uint32())}[r.IntN(4)]
		p := packet(protocol, unitV4.String(), "198.18.1.1")[:20+r.IntN(40)]
		for i := range p[20:] {
			p[20+i] = byte(r.Uint32())
		}
		for range r.IntN(3) {
			p[r.IntN(len(p))] = byte(r.Uint32())
		}
		// The kernel refuses the worst of them itself.
		_ = unix.Sendto(fd, p, 0, &unix.SockaddrInet4{Addr: [4]byte{198, 18, 1, 1}})
	}
	return "sent", nil
}

func TestNobodyAnswersAnEcho(t *testing.T) {
	w := &world{servers: map[string]string{"192.0.2.7:7": serve(t, echo)}}
	u := start(t, w, "192.0.2.7:7", "example.com:80")
	for range 3 {
		u.gets("", "ping", "198.18.0.1", "198.18.1.1", "192.0.2.7", "8.8.8.8")
		u.gets("hello", "say", "tcp", "192.0.2.7:7", "hello") // which is answered after it
	}
	u.gets("0", "ping", "heard")
	u.gets("", "ping", "127.0.0.1")
	u.gets("1", "ping", "heard") // its own loopback does, so the ear is good
}

func TestRawPackets(t *testing.T) {
	for _, who := range everyone {
		t.Run(who.name, func(t *testing.T) {
			if !who.valid() {
				t.Skip("needs root")
			}
			w := &world{servers: map[string]string{"192.0.2.7:7": serve(t, echo)}}
			u := startAs(t, who, Config{Network: w, Outbound: []string{"192.0.2.7:7", "example.com:80"}, Limits: Limits{Attempts: 16}})
			u.gets("sent", "syns", "192.0.2.7:7", "1000")
			u.gets("sent", "syns", "192.0.2.9:7", "1000")
			u.gets("sent", "noise", "")
			u.gets("hello", "say", "tcp", "192.0.2.7:7", "hello")
			if n := len(w.reached()); n > 502 {
				t.Errorf("got %d dials, want none for other sources than the unit's", n)
			}
			eventually(t, "connections that nobody has are over", func() bool {
				out, err := u.do("many", "192.0.2.7:7", "20")
				return err == nil && out == "20 answered"
			})
		})
	}
}
