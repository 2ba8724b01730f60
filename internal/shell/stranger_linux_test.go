package shell

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

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
