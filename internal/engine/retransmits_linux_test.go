package engine_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/pkg/takt"
)

// full is the address of a server that takes no connections, so TCP asks again after a second.
func full(t *testing.T) (addr string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", name.(*syscall.SockaddrInet4).Port)
}

// A server that takes no connections makes TCP ask again: the report says so.
func TestRetransmits(t *testing.T) {
	addr := full(t)
	dial := func(_ context.Context, _ *takt.Op, r *takt.Result) {
		c, err := net.DialTimeout("tcp", addr, 1500*time.Millisecond)
		if err != nil {
			r.Class, r.Err = "timeout", err
			return
		}
		t.Cleanup(func() { c.Close() }) // a closed one would leave the queue
	}
	p := plan(t, options("max", 0, 30), dial)
	p.Requests, p.Drain = 30, engine.DrainOf(20*time.Second) // until all dials have given up
	p.Source, _ = p.Options.Source()
	p.NewWaiter = nil
	rep := run(t, t.Context(), p)
	if rep.Generator.OwnRetransmits != nil {
		t.Errorf("nobody asked these connections, and %d were counted", *rep.Generator.OwnRetransmits)
	}
	if rep.Generator.Retransmits < 10 || !rep.Warned("retransmits") {
		t.Errorf("%d retransmits, warnings %v, counts %+v", rep.Generator.Retransmits, rep.Warnings, rep.Counts)
	}
}

// The loop mode asks its own connections, also those that were never made.
func TestOwnRetransmits(t *testing.T) {
	l := httpLoop(t, full(t))
	l.ConnectTimeout = 1500 * time.Millisecond
	rep := load(t, "loop", l, func(o *engine.Options) { o.Requests, o.Connections = 30, 30 })
	if own := rep.Generator.OwnRetransmits; own == nil || *own < 10 || *own > rep.Generator.Retransmits || !rep.Warned("retransmits") {
		t.Errorf("own %v of %d, warnings %v, counts %+v", own, rep.Generator.Retransmits, rep.Warnings, rep.Counts)
	}
}

// What TCP sends again for others says nothing about the run.
func TestRetransmitsOfOthers(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		unreachable := full(t)
		var others sync.WaitGroup
		for range 30 {
			others.Go(func() {
				if c, err := net.DialTimeout("tcp", unreachable, 1500*time.Millisecond); err == nil {
					t.Cleanup(func() { c.Close() })
				}
			})
		}
		addr, _ := serve(t, target.Options{})
		rep := load(t, mode, httpLoop(t, addr), func(o *engine.Options) { o.Rate, o.Duration = engine.MustRate("40/s"), 2*time.Second })
		others.Wait()
		if rep.Generator.Retransmits < 10 {
			t.Skipf("the others sent %d segments again during the run: they began too early, or too late", rep.Generator.Retransmits)
		}
		if own := rep.Generator.OwnRetransmits; own == nil || *own >= 10 || rep.Warned("retransmits") {
			t.Errorf("own %v, %v", own, rep.Warnings)
		}
	})
}
