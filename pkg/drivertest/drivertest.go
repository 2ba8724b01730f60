// Package drivertest checks what takt expects of every driver. A test of a driver calls [Check]:
//
//	func TestDriver(t *testing.T) {
//		drivertest.Check(t, drivertest.Expect{
//			Open: func(t *testing.T, target drivertest.Target) *takt.Driver {
//				return connect(server(t, target))
//			},
//			Bytes: true,
//		})
//	}
//
// A protocol over TCP needs only a good server: Check puts a relay before it, which makes the others.
//
//	drivertest.Check(t, drivertest.Expect{
//		Server:  "127.0.0.1:6379",
//		At:      func(t *testing.T, addr string) *takt.Driver { return connect(addr) },
//		Timeout: 500 * time.Millisecond,
//	})
//
// Each failure says what the driver does, and what to change. The checks run for about ten seconds.
// They judge by order and by counts, and wait in time that a busy machine slows down. Where operations
// failed on a machine that was too busy to judge them, Check repeats the check, and then skips it and
// says so. The checks count the connections of the process, so other tests that open connections do not
// run in parallel with them.
package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// Target is how the server of a driver behaves.
type Target int

// The behaviours.
const (
	Good       Target = iota // every operation succeeds
	Failing                  // the server refuses every operation by the protocol's own code
	Hanging                  // the server accepts connections, and answers nothing
	Down                     // nobody listens
	Late                     // the server answers every operation, but only after the driver's timeout
	Restarting               // the server works, ends all connections, resets new connections for a while, and works again
)

var targets = []Target{Good, Failing, Hanging, Down, Late, Restarting}

// String is the name of the behaviour, and of its subtest.
func (t Target) String() string {
	return [...]string{"good", "failing", "hanging", "down", "late", "restarting"}[t]
}

// Expect describes a driver to Check.
type Expect struct {
	// Open returns a new driver for a server that behaves like target, or nil if the test has no
	// such server: Check then skips what needs it. The server belongs to the test, which ends it
	// by t.Cleanup. Open may be nil if Server and At are set.
	Open func(t *testing.T, target Target) *takt.Driver
	// Server is the address of a good server over TCP, and At returns a new driver for the server at
	// addr. Check uses them where Open has no driver, with a relay before the server that makes each
	// Target but Failing. The relay is good until the first operation begins.
	Server string
	At     func(t *testing.T, addr string) *takt.Driver
	// Timeout is how long the driver waits for an answer; 0: it has no timeout, and there is no check
	// with a relay that is Late. A short one makes the check short: it needs five timeouts or more.
	Timeout time.Duration
	// Bytes says that the driver reports the bytes on the wire.
	Bytes bool
	// Classes are all classes of failures that the driver has; nil: any.
	Classes []string
}

// Check checks a driver against what takt expects of all: that it performs operations alone and
// concurrently, reports each once, classifies failures, obeys its context, does not mistake a late answer
// for that of another operation, succeeds again after the server was away, and closes all that it opened.
func Check(t *testing.T, e Expect) {
	t.Helper()
	if e.Open == nil && (e.Server == "" || e.At == nil) {
		t.Fatal("Expect.Open is nil; set it to a function that opens the driver, or set Expect.Server and Expect.At")
	}
	for _, target := range targets {
		t.Run(target.String(), func(t *testing.T) {
			judged(t, e.mostLate(), func(f failer, clock *pulse) {
				d, r := e.open(t, target)
				if d == nil {
					t.Skipf("the test has no server that is %s; return a driver for one from Expect.Open", target)
				}
				check(f, clock, e, target, d, r)
			})
		})
	}
	t.Run("concurrent", func(t *testing.T) {
		judged(t, e.mostLate(), func(f failer, _ *pulse) {
			d, _ := e.open(t, Good)
			switch {
			case d == nil:
			case d.Worker == nil && d.Async == nil && d.Loop == nil:
				t.Skip("the driver sends nothing")
			default:
				concurrent(f, d)
			}
		})
	})
	t.Run("unused", func(t *testing.T) {
		judged(t, e.mostLate(), func(f failer, _ *pulse) {
			if d, _ := e.open(t, Good); d != nil {
				within(f, "Driver.Close without a run", func() { closeDriver(d) })
			}
		})
	})
}

// open returns a driver for the target, and the relay that is the target, or nil.
func (e *Expect) open(t *testing.T, target Target) (*takt.Driver, *relay) {
	t.Helper()
	if e.Open != nil {
		if d := e.Open(t, target); d != nil {
			return d, nil
		}
	}
	switch {
	case e.Server == "" || e.At == nil, target == Failing, target == Late && e.Timeout == 0:
		return nil, nil
	case target == Good:
		return e.At(t, e.Server), nil
	}
	r := relayTo(t, e.Server, target, e.lateness())
	return e.At(t, r.addr()), r
}

func closeDriver(d *takt.Driver) {
	if d.Close != nil {
		_ = d.Close() // the run counts, not how it is closed
	}
}

// check makes one run against a server, and finds what the driver leaves behind. server is nil if the
// test has made the server.
func check(t failer, clock *pulse, e Expect, target Target, d *takt.Driver, server *relay) {
	t.Helper()
	w := watch(d)
	var back recovery
	if server != nil {
		w.begun, back.over, w.routes.ofRelay = server.begin, server.again.Load, server.leads
		if d.Loop != nil {
			server.begin() // the engine performs the operations, and its connections have no handshake
		} else {
			server.operations = w.counts
		}
	}
	p := e.plan(target)
	p.Driver = w.driver
	if target == Restarting {
		w.pause, p.OnSamples = restartPause, back.note
	}
	var r *takt.Report
	var err error
	began := clock.now()
	left := marked(func(ctx context.Context) {
		ctx, back.end = context.WithCancel(ctx)
		defer back.end()
		if target == Restarting {
			go func() {
				if pass(restartTime, ctx.Done()) {
					back.end()
				}
			}()
		}
		r, err = load.Run(ctx, p)
	})
	took := clock.now() - began
	switch {
	case target == Down && err == nil && r.Counts.OK > 0:
		t.Errorf("%d operations succeeded although nobody listens; report an operation as ok only after the answer", r.Counts.OK)
	case err != nil && target == Good:
		t.Doubtf("the run could not start: %v; open connections in Driver.Worker or Driver.Async, and return an error only if the target cannot be used", err)
		return
	case err != nil && target != Down:
		t.Doubtf("the run could not start against a server that accepts connections: %v; return an error of opening only if nobody listens, and let operations fail instead", err)
		return
	}
	if took > patience+max(0, p.Drain) {
		t.Doubtf("the run took %v; operations ignore their context, which ends after the drain: pass ctx on, or set a deadline for each read and write", took.Round(time.Second))
	}
	w.judge(t)
	if err == nil {
		judge(t, e, target, r, p.Schedule.Limit)
	}
	if target == Restarting {
		back.judge(t, r)
	}
	leak(t, left)
	w.sockets(t)
}

// judge finds faults in a report.
func judge(t failer, e Expect, target Target, r *takt.Report, n uint64) {
	t.Helper()
	switch {
	case target == Good && r.Counts.OK < n:
		t.Doubtf("of %d operations only %d succeeded (%s); the server is good, so the driver loses or fails them", n, r.Counts.OK, failures(r))
	case target == Failing && r.Counts.OK > 0:
		t.Errorf("%d operations succeeded although the server refused all; check the answer's status, and return load.Failed(class, err)", r.Counts.OK)
	case target == Late && r.Counts.OK > 0:
		t.Doubtf("%d operations succeeded although each answer comes after the timeout; they had the answer to an earlier operation: close the connection after an error, as load.Workers does, or compare a number in the answer", r.Counts.OK)
	case target == Hanging && r.Counts.OK > 0:
		t.Errorf("%d operations succeeded although the server answers nothing; report ok only after the answer (a driver without answers sets Driver.OneWay)", r.Counts.OK)
	}
	if target == Good && e.Bytes && r.Counts.OK > 0 && (r.Bytes.Sent == 0 || r.Bytes.Received == 0) {
		t.Errorf("%d bytes were sent and %d received; set Result.BytesSent and Result.BytesReceived for each operation", r.Bytes.Sent, r.Bytes.Received)
	}
	for _, c := range r.Errors {
		judgeClass(t, e, c)
	}
}
