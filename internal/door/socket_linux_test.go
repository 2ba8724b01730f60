package door

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// The kernel says of one socket what its tables say, of clients and of servers, of IPv4, of IPv6 and of
// IPv4 through an IPv6 socket.
func TestAsk(t *testing.T) {
	tables := inTables(os.DirFS(self))
	for address, dial := range map[string]string{"127.0.0.1:0": "", "[::1]:0": "", "[::]:0": "127.0.0.1"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err)
			continue
		}
		defer l.Close()
		to := l.Addr().String()
		if dial != "" {
			to = net.JoinHostPort(dial, port(to))
		}
		client, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		a, b := netip.MustParseAddrPort(client.LocalAddr().String()), netip.MustParseAddrPort(client.RemoteAddr().String())
		for _, ends := range [][2]netip.AddrPort{{a, b}, {b, a}} {
			s, err := ask(ends[0], ends[1])
			if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EPROTONOSUPPORT) {
				t.Skipf("this kernel does not tell of one socket: %v", err)
			}
			want, found, bad := tables(ends[0], ends[1])
			if err != nil || bad != nil || !found || s != want || s.inode == "0" {
				t.Errorf("%s to %s: %+v, %v; in the tables %+v, %v, %v", ends[0], ends[1], s, err, want, found, bad)
			}
		}
		// A listener on the port is not the socket, and another pair of ends is none.
		if s, err := ask(b, netip.AddrPortFrom(a.Addr(), a.Port()^1)); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("a socket that does not exist: %+v, %v", s, err)
		}
		if s, found, err := here(b, netip.AddrPortFrom(a.Addr(), a.Port()^1)); found || err != nil {
			t.Errorf("a socket that does not exist: %+v, %v, %v", s, found, err)
		}
		_, _ = client.Close(), conn.Close()
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func TestAnswer(t *testing.T) {
	to := netip.MustParseAddrPort("127.0.0.1:1")
	for _, b := range [][]byte{nil, make([]byte, headerLength), make([]byte, answerSize-1)} {
		if s, err := answer(b, to); err == nil {
			t.Errorf("%d bytes are %+v", len(b), s)
		}
	}
}

// BenchmarkPeerOf is what a connection costs the one who accepts it.
func BenchmarkPeerOf(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	from, to := netip.MustParseAddrPort(conn.RemoteAddr().String()), netip.MustParseAddrPort(conn.LocalAddr().String())
	b.Run("asked", func(b *testing.B) {
		for b.Loop() {
			if _, err := ask(from, to); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("in the tables", func(b *testing.B) {
		tables := inTables(os.DirFS(self))
		for b.Loop() {
			if _, found, err := tables(from, to); !found || err != nil {
				b.Fatal(found, err)
			}
		}
	})
}
