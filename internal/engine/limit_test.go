package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// Whatever a driver makes of an error that is a limit of this host, the operation gets the
// limit's class, and the remedy.
func TestBlameHost(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}
	}
	lookup := &net.DNSError{Err: "dial udp 127.0.0.1:53: socket: too many open files", Name: "example.org"}
	for _, c := range []struct {
		err         error
		class, hint string
	}{
		{dial(syscall.EMFILE), ClassFiles, "ulimit -n"},
		{dial(syscall.ENFILE), ClassFiles, "fs.file-max"},
		{dial(syscall.EADDRNOTAVAIL), ClassPorts, "ip_local_port_range"},
		{dial(syscall.ENOBUFS), ClassMemory, "bound the connections"},
		{dial(syscall.ENOMEM), ClassMemory, "bound the connections"},
		{fmt.Errorf("a driver's words: %w", dial(syscall.EMFILE)), ClassFiles, "ulimit -n"},
		{lookup, ClassFiles, "ulimit -n"},
		{dial(syscall.ECONNREFUSED), "driver", ""},
		{&net.DNSError{Err: "no such host", Name: "example.org", IsNotFound: true}, "driver", ""},
		{errors.New("too many open files, says the server"), "driver", ""},
	} {
		r := takt.Result{Class: "driver", Err: c.err}
		blameHost(&r)
		blameHost(&r) // the modes do, after Fail did
		if r.Class != c.class || !strings.Contains(r.Err.Error(), c.hint) || strings.Count(r.Err.Error(), "; ") > 1 {
			t.Errorf("%v: class %s, %v", c.err, r.Class, r.Err)
		}
		if !errors.Is(r.Err, c.err) {
			t.Errorf("%v is no longer the cause of %v", c.err, r.Err)
		}
	}
	ok := takt.Result{Err: dial(syscall.EMFILE)} // no class: the operation is fine
	if blameHost(&ok); ok.Class != "" {
		t.Errorf("an operation that is ok got the class %s", ok.Class)
	}
}
