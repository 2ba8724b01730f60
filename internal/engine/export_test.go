package engine

import (
	"context"

	"github.com/taktload/takt/pkg/takt"
)

// named is this machine with a resolver of its own.
type named struct {
	machine
	look func(host string) ([]string, error)
}

func (n named) LookupHost(_ context.Context, host string) ([]string, error) { return n.look(host) }

// Named is this machine, whose names are looked up with look.
func Named(look func(host string) ([]string, error)) World { return named{look: look} }

// HasBuffers reports whether a worker of Blocking has buffers while no operation is under way.
func HasBuffers(w takt.Worker) bool { c := w.(*conn); return c.in != nil || c.raw != nil }
