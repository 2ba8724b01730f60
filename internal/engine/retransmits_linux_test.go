package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/proc"
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

// What TCP sends again for others says nothing about the run. The others begin in the run's only operation, and
// it ends when TCP has sent enough of their segments again.
func TestRetransmitsOfOthers(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		const enough = 30
		unreachable := full(t)
		ctx, over := context.WithCancel(t.Context())
		var others sync.WaitGroup
		defer others.Wait()
		defer over()
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			before := proc.Self().Resent
			for range enough {
				others.Go(func() {
					if c, err := new(net.Dialer).DialContext(ctx, "tcp", unreachable); err == nil {
						<-ctx.Done() // a closed one would leave the queue
						c.Close()
					}
				})
			}
			for proc.Self().Resent < before+enough && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}))
		defer s.Close()
		l := httpLoop(t, s.Listener.Addr().String())
		l.Timeout = time.Hour
		rep := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 1, 1 })
		if rep.Generator.Retransmits < enough || rep.Counts.OK != 1 {
			t.Errorf("the others sent %d segments again, counts %+v", rep.Generator.Retransmits, rep.Counts)
		}
		if own := rep.Generator.OwnRetransmits; own == nil || *own >= 10 || rep.Warned("retransmits") {
			t.Errorf("own %v, %v", own, rep.Warnings)
		}
	})
}
