package fleet

import (
	"time"

	"github.com/taktload/takt/internal/pause"
)

const (
	clockReadings = 16                     // questions in a burst; the fastest answer counts
	clockEvery    = 10                     // beats between two bursts
	clockPatience = 100 * time.Millisecond // most time for a burst after its first answer
)

// wander is how far two clocks may move apart in a second, for the age of an estimate: more than
// any quartz does.
const wander = 200e-6

// told is a reading, and what the member's clock showed when it came.
type told struct {
	reading
	at int64
}

// clockBursts is the number of bursts, a beat apart, until one says enough: many members that join at once
// make the gatherer busy.
const clockBursts = 10

// measure asks the gatherer for the time, some times in a row, and keeps the best estimate.
func (m *Member) measure() {
	m.measuring.Lock()
	defer m.measuring.Unlock()
	best := m.burst()
	for n := 1; n < clockBursts && best.Bound > mostBound && best.Bound != worst; n++ {
		if !pause.For(beat, m.gone) {
			return
		}
		best = m.burst()
	}
	if best.Bound == worst {
		return
	}
	m.mu.Lock()
	if best.Bound < m.offset.after(best.At) {
		m.offset = best
	}
	m.mu.Unlock()
	_ = m.stream.send(toGatherer{Clock: &best}, silence) // a connection that fails ends elsewhere
}

// burst is the best of some questions; its bound is worst if nothing came.
func (m *Member) burst() Offset {
	best := Offset{Bound: worst}
	began := time.Now()
	for n := 0; n < clockReadings && (best.Bound == worst || time.Since(began) < clockPatience); n++ {
		o, ok := m.ask()
		if !ok {
			break
		}
		if o.Bound < best.Bound {
			best = o
		}
	}
	return best
}

// after is the bound of the estimate at a later time.
func (o Offset) after(at int64) time.Duration {
	if o.Bound == worst {
		return worst
	}
	return o.Bound + time.Duration(wander*float64(at-o.At))
}

// ask is one question.
func (m *Member) ask() (o Offset, ok bool) {
	now := m.clock.Read(time.Now())
	if m.stream.send(toGatherer{Asks: &now}, silence) != nil {
		return Offset{}, false
	}
	limit := time.After(silence)
	for {
		select {
		case a := <-m.told:
			if a.Asked == now { // else the answer to a question whose burst was over
				return a.offset(a.at), true
			}
		case <-m.gone:
			return Offset{}, false
		case <-limit:
			return Offset{}, false
		}
	}
}

// instant is when the gatherer's clock shows that.
func (m *Member) instant(shown int64) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock.Instant(shown - int64(m.offset.Ahead))
}
