package jms

import (
	"net"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// reach makes o speak with the broker at addr.
func reach(o *Options, addr string) *Options {
	o.URL = "amqp://" + addr
	return o
}

// served is a broker and options that reach it.
func served(t *testing.T, b *amqptest.Broker, o *Options) *Options {
	t.Helper()
	return reach(o, b.Serve())
}

// dieAt ends all connections of the broker at its n-th transfer.
func dieAt(n int) func(*amqptest.Conn, int) {
	return func(c *amqptest.Conn, transfers int) {
		if transfers == n {
			c.Die()
		}
	}
}

// nobody is an address at which nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}

// plan prepares a run that may drain for 5 s; change sets what is not the default.
func plan(t *testing.T, o *Options, change func(e *engine.Options), destinations ...string) engine.Plan {
	t.Helper()
	return drivertest.Plan(t, "jms", o, func(e *engine.Options) {
		e.Drain = engine.DrainOf(5 * time.Second)
		if change != nil {
			change(e)
		}
	}, destinations...)
}

func makeRun(t *testing.T, o *Options, change func(e *engine.Options)) *takt.Report {
	t.Helper()
	return drivertest.Make(t, plan(t, o, change))
}

// extra holds numbers of a report's extra against what they should be.
func extra(t *testing.T, r *takt.Report, want map[string]uint64) {
	t.Helper()
	for name, n := range want {
		if r.Extra[name] != n {
			t.Errorf("extra %s is %v, want %d", name, r.Extra[name], n)
		}
	}
}

// all wants n operations, all good.
func all(t *testing.T, r *takt.Report, n uint64) {
	t.Helper()
	if r.Counts.Scheduled != n || r.Counts.OK != n {
		t.Errorf("counts %+v, want %d, all good; errors %v", r.Counts, n, r.Errors)
	}
}

// makeRunTo makes a run with a destination.
func makeRunTo(t *testing.T, o *Options, destination string) *takt.Report {
	t.Helper()
	return drivertest.Make(t, plan(t, o, nil, destination))
}
