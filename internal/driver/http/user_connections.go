package http

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// perHost makes connections for users of several hosts: a user has one to each that its requests go to.
type perHost struct {
	to   func(op *takt.Op) int // index of the host
	make []func(seat int) engine.Connection
	open atomic.Int64 // connections that users have used and not given up
	most atomic.Int64 // largest number of them
}

// connection is that of a seat.
func (p *perHost) connection(seat int) engine.Connection {
	return &hostsConnection{all: p, seat: seat, of: make([]engine.Connection, len(p.make)), used: make([]bool, len(p.make))}
}

// hostsConnection are the connections of one user, by host.
type hostsConnection struct {
	all  *perHost
	seat int
	of   []engine.Connection // nil: not used yet
	used []bool              // since the last Hangup
}

// at is the connection to a host.
func (c *hostsConnection) at(i int) engine.Connection {
	if c.of[i] == nil {
		c.of[i] = c.all.make[i](c.seat)
	}
	return c.of[i]
}

// Do implements takt.Worker.
func (c *hostsConnection) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	i := c.all.to(op)
	if !c.used[i] {
		c.used[i] = true
		for n := c.all.open.Add(1); ; {
			if most := c.all.most.Load(); n <= most || c.all.most.CompareAndSwap(most, n) {
				break
			}
		}
	}
	c.at(i).Do(ctx, op, r)
}

// Hangup implements engine.Connection.
func (c *hostsConnection) Hangup() {
	for i, one := range c.of {
		if c.used[i] {
			c.used[i] = false
			c.all.open.Add(-1)
			one.Hangup()
		}
	}
}

// Close implements takt.Worker. That of the first seat closes also connections of the probe that nobody used.
func (c *hostsConnection) Close() (err error) {
	for i, one := range c.of {
		if one == nil && c.seat == 0 {
			one = c.at(i)
		}
		if one != nil {
			err = cmp.Or(err, one.Close())
		}
	}
	return err
}

// probes reaches all hosts, one after the other.
func probes(list []func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, probe := range list {
			if err := probe(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
