package drivertest

import (
	"context"
	"sync"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// checkRate and the others are the size of a check.
const (
	checkRate  = 200.0 // per second
	operations = 100
	few        = 10
	inFlight   = 50
	drain      = 2 * time.Second  // cuts off what a server leaves hanging, and nothing that only waits for a core
	patience   = 20 * time.Second // for what takes no time on a quiet machine
	leakTime   = 3 * time.Second  // for goroutines and connections to end
	longest    = time.Minute      // of what ends by a condition
)

// The check of a server that restarts. Its workers are all busy at checkRate, so each of them meets the
// restart, and must recover.
const (
	restartWorkers = 4
	restartPause   = 20 * time.Millisecond
	restartTime    = 10 * time.Second // of the pulse; by then a client that waits between tries has tried again
	recovered      = 40               // operations one after the other that succeed
)

// plan is the load that shows how a driver deals with a target.
func (e *Expect) plan(target Target) load.Plan {
	p := load.Plan{Schedule: schedule.Constant(checkRate, 0), MaxInFlight: inFlight, Drain: drain}
	p.Schedule.Limit = few
	switch target {
	case Good:
		p.Schedule.Limit, p.Drain = operations, longest // the drain ends with the last operation
	case Hanging:
		p.Workers, p.MaxInFlight = few, 0 // they are open when the relay begins to hang
	case Late:
		p.Workers, p.MaxInFlight = 1, 0 // the next operation begins after the timeout of the last
		p.Schedule.Limit = uint64(2*e.lateness()/e.timeout() + 2)
		p.Drain += time.Duration(p.Schedule.Limit) * e.timeout()
	case Restarting:
		p.Schedule, p.Workers, p.MaxInFlight = schedule.Constant(checkRate, longest), restartWorkers, 0
	}
	return p
}

// timeout is that of the driver, or a guess for a server of the test.
func (e *Expect) timeout() time.Duration {
	if e.Timeout > 0 {
		return e.Timeout
	}
	return time.Second
}

// mostLate is how late a sleep of the pulse may end where operations are judged.
func (e *Expect) mostLate() time.Duration { return e.timeout() / 4 }

// lateness is how late the relay answers where it does not know when operations end: in the middle of the
// timeout of a later operation.
func (e *Expect) lateness() time.Duration {
	return e.timeout() + max(e.timeout()/2, 300*time.Millisecond)
}

// recovery watches a run against a server that restarts, and ends it when operations succeed again.
type recovery struct {
	over func() bool        // the relay works again; nil: the server is one of the test
	end  context.CancelFunc // ends the run

	mu     sync.Mutex
	failed int
	streak int // operations that succeeded since the last failure
}

func (r *recovery) note(_ []string, list []takt.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range list {
		switch {
		case r.streak >= recovered: // the driver has recovered, and the end of the run may cut off the rest
		case s.Class != "":
			r.failed++
			r.streak = 0
		case r.over != nil && r.over(), r.over == nil && r.failed > 0:
			r.streak++
		}
	}
	if r.streak >= recovered {
		r.end()
	}
}

func (r *recovery) judge(t failer, report *takt.Report) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case report == nil, r.streak >= recovered:
	case r.over == nil && r.failed == 0: // the client tries again, or the server did not restart
	case report.Counts.OK == 0:
		t.Doubtf("no operation succeeded (%s); the server works before it restarts", failures(report))
	default:
		t.Doubtf("after the restart of the server only %d operations one after the other succeeded in %v (%s); open the connection again after an error: load.Workers does it after errors of the network, and after load.Lost(err)", r.streak, restartTime, failures(report))
	}
}
