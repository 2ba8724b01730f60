package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

func (machine) Thread(f func()) {
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		sock.Unslack()
		f()
	}()
}

func (machine) Dial(ctx context.Context, l *takt.Loop) (addr netip.AddrPort, first int, err error) {
	var r takt.Result
	c, err := NewTurns(machine{}.Now).dial(ctx, machine{}, l, &r)
	if err != nil {
		return addr, -1, fmt.Errorf("cannot reach the target: %w", err)
	}
	return machine{}.Release(c.net)
}

// Release implements World.
func (machine) Release(c net.Conn) (addr netip.AddrPort, fd int, err error) {
	defer c.Close()
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return addr, -1, fmt.Errorf("%T is not a TCP connection", c)
	}
	if fd, err = sock.Duplicate(tcp); err != nil {
		return addr, -1, fmt.Errorf("cannot take over the connection: %w", err)
	}
	return tcp.RemoteAddr().(*net.TCPAddr).AddrPort(), fd, nil
}

func (machine) Close(fd int) { sock.Close(fd) }
