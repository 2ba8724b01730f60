package door

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"testing/fstest"
)

// fakeConn has addresses.
type fakeConn struct {
	net.Conn
	local, remote net.Addr
}

func (f fakeConn) LocalAddr() net.Addr  { return f.local }
func (f fakeConn) RemoteAddr() net.Addr { return f.remote }

// The table of Linux says whose a socket is, in all ways in which it writes addresses. A
// socket that no process has seems to be of root there, and is believed of nobody.
func TestPeerOf(t *testing.T) {
	own := fmt.Sprint(os.Geteuid())
	line := func(from, to, uid, inode string) string {
		return "   0: " + from + " " + to + " 01 00000000:00000000 00:00000000 00000000  " + uid + "        0 " + inode + " 1 0000000000000000 20 0 0 10 -1\n"
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const client, server = "0100007F:9C40", "0100007F:202A" // 127.0.0.1:40000, 127.0.0.1:8234
	other := line(server, client, own, "77") + line("0200007F:9C40", server, own, "78") + line("0100007F:9C41", server, own, "79")
	loopback := fakeConn{nil, at("127.0.0.1:8234"), at("127.0.0.1:40000")}
	for _, c := range []struct {
		name, tcp, tcp6 string
		conn            net.Conn
		want            Peer
	}{
		{"one's own", head + other + line(client, server, own, "80"), head, loopback, PeerSelf},
		{"of root", head + line(client, server, "0", "80"), head, loopback, PeerSelf},
		{"one's own in another namespace", head + line(client, server, own, "81"), head, loopback, PeerStranger},
		{"of root in another namespace", head + line(client, server, "0", "81"), head, loopback, PeerStranger},
		{"of root that takt does not see", head + line(client, server, "0", "82"), head, loopback, PeerSelf},
		{"of another", head + other + line(client, server, "54321", "80"), head, loopback, PeerStranger},
		{"closed", head + line(client, server, "0", "0"), head, loopback, peerNobody},
		{"gone", head + other, head, loopback, peerNobody},
		{"as IPv6", head, head + line("0000000000000000FFFF00000100007F:9C40", "0000000000000000FFFF00000100007F:202A", own, "80"), loopback, PeerSelf},
		{"as IPv6 of another", head, head + line("0000000000000000FFFF00000100007F:9C40", "0000000000000000FFFF00000100007F:202A", "54321", "80"), loopback, PeerStranger},
		{"IPv6", head, head + line("00000000000000000000000001000000:9C40", "00000000000000000000000001000000:202A", own, "80"), fakeConn{nil, at("[::1]:8234"), at("[::1]:40000")}, PeerSelf},
		{"broken", head + line(client, server, own, "80")[:40] + "\nxyz\n", head, loopback, peerNobody},
	} {
		files := fstest.MapFS{"net/tcp": {Data: []byte(c.tcp)}, "net/tcp6": {Data: []byte(c.tcp6)}}
		if got := peerIn(c.conn, inTables(files), func(inode string) space { return map[string]space{"80": spaceOwn, "81": spaceOther}[inode] }); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := peerIn(loopback, inTables(fstest.MapFS{}), nil); got != PeerUnknown {
		t.Errorf("a system that does not say: %s", got)
	}
}

func TestPeerHere(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err)
			continue
		}
		defer l.Close()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := PeerOf(conn); got != PeerSelf {
			t.Errorf("%s: a connection of this process is %s", address, got)
		}
		_ = client.Close()
		if got := PeerOf(conn); got != PeerStranger {
			t.Errorf("%s: a socket that nobody has is %s", address, got)
		}
		_ = conn.Close()
	}
}

// A connection is nobody's until its server accepts it, and then the server's.
func TestServerOf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got := peerHere(client); got != peerNobody {
		t.Errorf("before it is accepted: %s, want %s", got, peerNobody)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if who, err := ServerOf(ended, client); err == nil || who == PeerSelf {
		t.Errorf("without a server: %s, %v", who, err)
	}
	found := make(chan Peer, 1)
	go func() {
		who, _ := ServerOf(t.Context(), client) // an error comes with another peer
		found <- who
	}()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if who := <-found; who != PeerSelf {
		t.Errorf("a server of this process: %s", who)
	}
	afar := fakeConn{nil, at("192.0.2.1:40000"), at("192.0.2.2:8400")}
	if who, err := ServerOf(t.Context(), afar); who != PeerUnknown || err != nil {
		t.Errorf("a server on another machine: %s, %v", who, err)
	}
	if !TellsPeers() {
		t.Error("Linux tells whose sockets are")
	}
}

// Sockets of another user: a client, as a server sees it, and a server, as a client sees it.
func TestPeerOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
	}
	pair := func(listens, connects int) (client, conn net.Conn) {
		var l net.Listener
		var err error
		as(listens, func() { l, err = net.Listen("tcp", "127.0.0.1:0") })
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		as(connects, func() { client, err = net.Dial("tcp", l.Addr().String()) })
		if err == nil {
			as(listens, func() { conn, err = l.Accept() })
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close(); conn.Close() })
		return client, conn
	}
	const nobody = 65534
	if _, conn := pair(0, nobody); PeerOf(conn) != PeerStranger {
		t.Errorf("a client of another user is %s", PeerOf(conn))
	}
	client, _ := pair(nobody, 0)
	if who, err := ServerOf(t.Context(), client); who != PeerStranger || err != nil {
		t.Errorf("a server of another user is %s, %v", who, err)
	}
}

// as calls do with the file system's user, to whom new sockets belong.
func as(uid int, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()                                                 // for good: the thread ends with the goroutine
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0) // it returns the user of before
		do()
	}()
	<-done
}

// Nobody looks through tables for the other end of a connection that this process has closed.
func TestPeerOfClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	find := func(from, to netip.AddrPort) (socket, bool, error) { asked++; return socket{}, false, nil }
	if got := peerIn(conn, find, nil); got != peerNobody || asked != 1 {
		t.Errorf("open: %s, asked %d times", got, asked)
	}
	conn.Close()
	if got := peerIn(conn, find, nil); got != PeerStranger || asked != 1 {
		t.Errorf("closed: %s, asked %d times", got, asked)
	}
}
