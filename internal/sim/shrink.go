package sim

import (
	"reflect"
	"time"
)

// mostTries limits the runs of Shrink.
const mostTries = 200

// Shrink looks for a simpler scenario whose first fault is of the same kind: fewer kinds of injected
// faults, fewer threads and connections, a shorter schedule.
func Shrink(o *Outcome) *Outcome {
	best, tries := o, 0
	try := func(change func(*Scenario) bool) bool {
		sc := *best.Scenario
		if tries >= mostTries || !change(&sc) {
			return false
		}
		tries++
		next := run(best.Seed, &sc)
		if len(next.Faults) == 0 || next.Faults[0].Kind != o.Faults[0].Kind {
			return false
		}
		best = next
		return true
	}
	for again := true; again; {
		again = false
		for _, change := range simpler() {
			for try(change) {
				again = true
			}
		}
	}
	return best
}

// simpler returns changes that simplify a scenario. Each reports whether it changed something.
func simpler() (list []func(*Scenario) bool) {
	for i := range reflect.TypeFor[Scenario]().NumField() {
		switch reflect.TypeFor[Scenario]().Field(i).Name {
		case "spoil", "Mode", "Duration", "InFlight", "Drain", "Timeout", "ConnectTimeout", "Service", "StallMost", "Rate", "Loops", "Conns", "Streams", "Requests", "Connections":
			continue // zero would not be simpler, or has a meaning of its own
		}
		list = append(list, func(sc *Scenario) bool {
			f := reflect.ValueOf(sc).Elem().Field(i)
			zero := reflect.Zero(f.Type())
			if f.Addr().Interface() == any(&sc.Room) {
				zero = reflect.ValueOf(unbounded)
			}
			if reflect.DeepEqual(f.Interface(), zero.Interface()) {
				return false
			}
			f.Set(zero)
			return true
		})
	}
	return append(list,
		func(sc *Scenario) bool { plain := sc.Mode != modeTLS; sc.Mode = modeWorker; return !plain },
		func(sc *Scenario) bool { plain := sc.Mode != modeLoopTLS; sc.Mode = modeLoop; return !plain },
		func(sc *Scenario) bool { plain := sc.Mode != modeH2TLS; sc.Mode = modeH2; return !plain },
		func(sc *Scenario) bool { // no step needs one behind it
			n := len(sc.Script) - 1
			sc.Script = sc.Script[:max(0, n)]
			return n > 0
		},
		func(sc *Scenario) bool { sc.Conns--; return sc.Conns > 0 },
		func(sc *Scenario) bool { sc.Streams /= 2; return sc.Streams > 0 },
		func(sc *Scenario) bool { sc.Loops--; return sc.Loops > 0 },
		func(sc *Scenario) bool { sc.Duration /= 2; return sc.Duration > time.Millisecond },
		func(sc *Scenario) bool { sc.Requests /= 2; return sc.Requests > 0 },
		func(sc *Scenario) bool { sc.Connections /= 2; return sc.Connections > 0 },
	)
}
