package engine

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/pkg/takt"
)

// hostLimits are the system call errors at a limit of the process or host, and their classes.
var hostLimits = [...]struct {
	errno syscall.Errno
	class string
}{
	{syscall.EMFILE, ClassFiles},
	{syscall.ENFILE, ClassFiles},
	{syscall.EADDRNOTAVAIL, ClassPorts},
	{syscall.ENOBUFS, ClassMemory},
	{syscall.ENOMEM, ClassMemory},
}

// limitError is a limit of the generator or its host. Its text names the limit and the
// remedy. The text is made only when it is read: at a limit every operation has such an
// error, but takt shows only the first.
type limitError struct {
	errno syscall.Errno
	err   error
}

func (e *limitError) Unwrap() error { return e.err }

func (e *limitError) Error() string {
	switch e.errno {
	case syscall.EMFILE:
		limit, _ := proc.OpenFiles()
		return fmt.Sprintf("%v: the limit is %d; run 'ulimit -n %d', or bound the connections with -c or --max-in-flight", e.err, limit, 4*max(limit, 1024))
	case syscall.ENFILE:
		return fmt.Sprintf("%v: the limit is of the whole host; raise it with 'sysctl fs.file-max', or bound the connections with -c or --max-in-flight", e.err)
	case syscall.EADDRNOTAVAIL:
		return fmt.Sprintf("%v: this host has %s for connections to one address; widen it with 'sysctl net.ipv4.ip_local_port_range', reuse connections, or bound them with -c or --max-in-flight", e.err, portRange())
	}
	return fmt.Sprintf("%v: the kernel has no more memory for sockets; bound the connections with -c or --max-in-flight, or raise 'sysctl net.ipv4.tcp_mem'", e.err)
}

func portRange() string {
	low, high := proc.LocalPorts()
	if high < low || high == 0 {
		return "no local port left"
	}
	return fmt.Sprintf("the %d local ports %d to %d", high-low+1, low, high)
}

// ownLimit returns the class of an error at a limit of the generator or its host, and the
// error with its remedy; "" for any other error.
func ownLimit(err error) (class string, explained error) {
	var known *limitError
	if errors.As(err, &known) {
		return classOfLimit(known.errno), err
	}
	for _, l := range hostLimits {
		if errors.Is(err, l.errno) || inLookup(err, l.errno) {
			return l.class, &limitError{l.errno, err}
		}
	}
	return "", err
}

func classOfLimit(errno syscall.Errno) string {
	for _, l := range hostLimits {
		if l.errno == errno {
			return l.class
		}
	}
	return ""
}

// inLookup reports whether a DNS look-up failed with errno. net.DNSError keeps only the text
// of its cause.
func inLookup(err error, errno syscall.Errno) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && strings.Contains(dns.Err, errno.Error())
}

// blameHost replaces r's class if a limit of the generator or its host is the cause, whatever
// class the driver set. All modes call blameHost.
func blameHost(r *takt.Result) {
	if r.Class == "" || r.Err == nil {
		return
	}
	if class, err := ownLimit(r.Err); class != "" {
		r.Class, r.Err = class, err
	}
}
