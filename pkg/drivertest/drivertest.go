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
// Each failure says what the driver does, and what to change. The checks run for about ten seconds.
// They do not measure, so a slow machine does not fail them.
package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Target is how the server of a driver behaves.
type Target int

// The behaviours.
const (
	Good    Target = iota // every operation succeeds
	Failing               // the server refuses every operation by the protocol's own code
	Hanging               // the server accepts connections, and answers nothing
	Down                  // nobody listens
)

// String is the name of the behaviour, and of its subtest.
func (t Target) String() string { return [...]string{"good", "failing", "hanging", "down"}[t] }

// Expect describes a driver to Check.
type Expect struct {
	// Open returns a new driver for a server that behaves like target, or nil if the test has no
	// such server: Check then skips what needs it. The server belongs to the test, which ends it
	// by t.Cleanup.
	Open func(t *testing.T, target Target) *takt.Driver
	// Bytes says that the driver reports the bytes on the wire.
	Bytes bool
	// Classes are all classes of failures that the driver has; nil: any.
	Classes []string
}

// checkRate and the others are the size of a check.
const (
	checkRate  = 200.0 // per second
	operations = 100
	few        = 10
	drain      = 500 * time.Millisecond
	patience   = 20 * time.Second // for what takes no time on a quiet machine
)

// failer is what the checks need of testing.T.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check checks a driver against what takt expects of all: that it performs operations alone and
// concurrently, reports each once, classifies failures, obeys its context, and closes all that it
// opened.
func Check(t *testing.T, e Expect) {
	t.Helper()
	if e.Open == nil {
		t.Fatal("Expect.Open is nil; set it to a function that opens the driver")
	}
	for _, target := range []Target{Good, Failing, Hanging, Down} {
		t.Run(target.String(), func(t *testing.T) {
			d := e.Open(t, target)
			if d == nil {
				t.Skipf("the test has no server that is %s; return a driver for one from Expect.Open", target)
			}
			check(t, e, target, d)
		})
	}
	t.Run("concurrent", func(t *testing.T) {
		if d := e.Open(t, Good); d != nil {
			concurrent(t, d)
		}
	})
	t.Run("unused", func(t *testing.T) {
		if d := e.Open(t, Good); d != nil {
			within(t, "Driver.Close without a run", func() { closeDriver(d) })
		}
	})
}

func closeDriver(d *takt.Driver) {
	if d.Close != nil {
		_ = d.Close() // the run counts, not how it is closed
	}
}

// check makes one run against a server, and finds what the driver leaves behind.
func check(t failer, e Expect, target Target, d *takt.Driver) {
	t.Helper()
	w := watch(d)
	n := uint64(few)
	if target == Good {
		n = operations
	}
	s := schedule.Constant(checkRate, 0)
	s.Limit = n
	began := time.Now()
	var r *takt.Report
	var err error
	left := marked(func(ctx context.Context) {
		r, err = load.Run(ctx, load.Plan{Driver: w.driver, Schedule: s, MaxInFlight: 50, Drain: drain})
	})
	took := time.Since(began)
	switch {
	case target == Down && err == nil && r.Counts.OK > 0:
		t.Errorf("%d operations succeeded although nobody listens; report an operation as ok only after the answer", r.Counts.OK)
	case err != nil && target == Good:
		t.Errorf("the run could not start: %v; open connections in Driver.Worker or Driver.Async, and return an error only if the target cannot be used", err)
		return
	case err != nil && target != Down:
		t.Errorf("the run could not start against a server that accepts connections: %v; return an error of opening only if nobody listens, and let operations fail instead", err)
		return
	}
	if took > patience {
		t.Errorf("the run took %v; operations ignore their context, which ends after the drain: pass ctx on, or set a deadline for each read and write", took.Round(time.Second))
	}
	w.judge(t)
	if err == nil {
		judge(t, e, target, r, n)
	}
	leak(t, left)
}

// judge finds faults in a report.
func judge(t failer, e Expect, target Target, r *takt.Report, n uint64) {
	t.Helper()
	switch {
	case target == Good && r.Counts.OK < n:
		t.Errorf("of %d operations only %d succeeded (%s); the server is good, so the driver loses or fails them", n, r.Counts.OK, failures(r))
	case target == Failing && r.Counts.OK > 0:
		t.Errorf("%d operations succeeded although the server refused all; check the answer's status, and return load.Failed(class, err)", r.Counts.OK)
	case target == Hanging && r.Counts.OK > 0:
		t.Errorf("%d operations succeeded although the server answers nothing; report ok only after the answer (a driver without answers sets Driver.OneWay)", r.Counts.OK)
	}
	if target == Good && e.Bytes && (r.Bytes.Sent == 0 || r.Bytes.Received == 0) {
		t.Errorf("%d bytes were sent and %d received; set Result.BytesSent and Result.BytesReceived for each operation", r.Bytes.Sent, r.Bytes.Received)
	}
	for _, c := range r.Errors {
		judgeClass(t, e, c)
	}
}
