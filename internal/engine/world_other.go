//go:build !linux

package engine

import (
	"context"
	"net/netip"

	"github.com/taktload/takt/pkg/takt"
)

func (machine) Thread(f func()) { go f() }

func (machine) Dial(context.Context, *takt.Loop) (addr netip.AddrPort, first int, err error) {
	return addr, -1, ErrNoLoop
}

func (machine) Close(int) {}
