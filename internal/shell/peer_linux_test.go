package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// fakeConn has addresses.
type fakeConn struct {
	net.Conn
	local, remote net.Addr
}

func (f fakeConn) LocalAddr() net.Addr  { return f.local }
func (f fakeConn) RemoteAddr() net.Addr { return f.remote }

// The table of Linux says whose a socket is, in all ways in which it writes addresses. A
// socket that its process has closed seems to be of root there, and is believed of nobody.
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
		want            peer
	}{
		{"one's own", head + other + line(client, server, own, "80"), head, loopback, peerSelf},
		{"of root", head + line(client, server, "0", "80"), head, loopback, peerSelf},
		{"one's own in another namespace", head + line(client, server, own, "81"), head, loopback, peerStranger},
		{"of root in another namespace", head + line(client, server, "0", "81"), head, loopback, peerStranger},
		{"of root that takt does not see", head + line(client, server, "0", "82"), head, loopback, peerSelf},
		{"of another", head + other + line(client, server, "54321", "80"), head, loopback, peerStranger},
		{"closed", head + line(client, server, "0", "0"), head, loopback, peerStranger},
		{"gone", head + other, head, loopback, peerStranger},
		{"as IPv6", head, head + line("0000000000000000FFFF00000100007F:9C40", "0000000000000000FFFF00000100007F:202A", own, "80"), loopback, peerSelf},
		{"as IPv6 of another", head, head + line("0000000000000000FFFF00000100007F:9C40", "0000000000000000FFFF00000100007F:202A", "54321", "80"), loopback, peerStranger},
		{"IPv6", head, head + line("00000000000000000000000001000000:9C40", "00000000000000000000000001000000:202A", own, "80"), fakeConn{nil, at("[::1]:8234"), at("[::1]:40000")}, peerSelf},
		{"broken", head + line(client, server, own, "80")[:40] + "\nxyz\n", head, loopback, peerStranger},
	} {
		files := fstest.MapFS{"net/tcp": {Data: []byte(c.tcp)}, "net/tcp6": {Data: []byte(c.tcp6)}}
		if got := peerOf(c.conn, files, func(inode string) space { return map[string]space{"80": spaceOwn, "81": spaceOther}[inode] }); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := peerOf(loopback, fstest.MapFS{}, nil); got != peerUnknown {
		t.Errorf("a system that does not say: %s", got)
	}
}

// proc is this system's.
func proc() fs.FS { return os.DirFS("/proc/self") }

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
		if got := peerOf(conn, proc(), spaceOf); got != peerSelf {
			t.Errorf("%s: a connection of this process is %s", address, got)
		}
		_ = client.Close()
		if got := peerOf(conn, proc(), spaceOf); got != peerStranger {
			t.Errorf("%s: a socket that nobody has is %s", address, got)
		}
		_ = conn.Close()
	}
}

// A server without tokens hears nobody but its own user, and says why.
func TestStranger(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := socketOf(54321, l.Addr().(*net.TCPAddr).Port)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Options{Addr: "127.0.0.1:0", DumpDir: t.TempDir(), AuditLog: t.TempDir() + "/audit"}, Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.closeListeners()
	newSession(s, t.Context(), conn).serve()
	said := make([]byte, 1000)
	n, err := unix.Read(fd, said)
	if text := string(said[:max(n, 0)]); err != nil || !strings.HasPrefix(text, "error: this server is for the user that runs it; others need a token") {
		t.Errorf("%q, %v", text, err)
	}
	if log, err := os.ReadFile(s.options.AuditLog); err != nil || strings.Count(string(log), `"outcome":"refused: this server is for the user`) != 1 {
		t.Errorf("%s, %v", log, err)
	}
}

// socketOf connects as another user. It keeps the thread that became that user.
func socketOf(uid, port int) (fd int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and ends with it
		if _, _, bad := unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0); bad != 0 {
			err = bad
			return
		}
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		err = errors.Join(err, unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	}()
	<-done
	return fd, err
}
