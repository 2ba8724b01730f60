package process

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// Of both ends of a connection only the one that was opened counts.
func TestConnections(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			t.Skip(err) // a host without IPv6
		}
		defer l.Close()
		to := netip.MustParseAddrPort(l.Addr().String())
		count := func() (n int) {
			for _, remote := range Connections() {
				if remote == to {
					n++
				}
			}
			return n
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if n := count(); n != 1 {
			t.Errorf("%d connections to %v, want 1: %v", n, to, Connections())
		}
		if !slices.Contains(Listening([]int{os.Getpid()}), int(to.Port())) {
			t.Errorf("%v is not a port on which this process listens", to)
		}
		l.Close() // of the connection that was accepted nothing says so any more
		local := netip.MustParseAddrPort(c.LocalAddr().String())
		for _, remote := range Connections() {
			if remote == local {
				t.Error("the end that was accepted counts as opened")
			}
		}
		c.Close()
		if n := count(); n != 0 {
			t.Errorf("%d connections after the end", n)
		}
		accepted.Close()
	}
}

// A connected socket of UDP is a connection, and one that only receives is not.
func TestConnectionsOfUDP(t *testing.T) {
	s, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("udp", s.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	to, n := netip.MustParseAddrPort(s.LocalAddr().String()), 0
	for _, remote := range Connections() {
		if remote == to {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
