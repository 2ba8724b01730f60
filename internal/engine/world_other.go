//go:build !linux

package engine

import (
	"context"
	"net"
	"net/netip"

	"github.com/taktload/takt/pkg/takt"
)

func (machine) Thread(f func()) { go f() }

func (machine) Dial(context.Context, *takt.Loop) (addr netip.AddrPort, first int, err error) {
	return addr, -1, ErrNoLoop
}

// Release implements World; only loops call it.
func (machine) Release(c net.Conn) (netip.AddrPort, int, error) {
	_ = c.Close() // the error below is the cause
	return netip.AddrPort{}, -1, ErrNoLoop
}

func (machine) Close(int) {}
