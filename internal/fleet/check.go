package fleet

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/live"
)

// What a line of the other side cannot say is checked here, before anything is done about it.

// check returns why a member cannot mean a line of this run. The gatherer's lock is held.
func (p *peer) check(r *round, line *toGatherer) error {
	switch {
	case line.Ready != nil:
		return possible(&line.Ready.Head)
	case line.Armed && r.begun.IsZero():
		return errors.New("it confirmed a start before it was ready and knew the start")
	case line.Second != nil && (r.begun.IsZero() || p.ended()): // launch has not said yet when it begins
		return errors.New("it sent a second of a run that it does not make")
	case line.Report != nil && p.sent:
		return errors.New("it sent its report twice")
	case line.Report != nil && !p.holds:
		return errors.New("it sent a report before it was asked for it")
	}
	return nil
}

// longestRun bounds what a member says of its end, and how far two clocks may be apart: sums of times must not
// overflow.
const longestRun = 100 * 365 * 24 * time.Hour

// possible returns why a member cannot mean its head.
func possible(h *live.Head) error {
	if h.End > longestRun || h.Warmup < 0 || h.Warmup > longestRun || h.Room < 0 || h.Room > math.MaxInt32 {
		return fmt.Errorf("it says that its run ends after %v with at most %d operations in flight, which cannot be", h.End, h.Room)
	}
	return nil
}

// check returns why an estimate of a clock cannot be true.
func (o Offset) check() error {
	switch {
	case o.Bound <= 0:
		return fmt.Errorf("it says that its clock is known within %v, which cannot be", o.Bound)
	case o.Ahead.Abs() > longestRun:
		return fmt.Errorf("it says that two clocks are %v apart, which cannot be", o.Ahead.Abs())
	}
	return nil
}

// longestLead is more than the time that a gatherer leaves between telling the start and the start.
const longestLead = time.Hour

// check returns why the gatherer cannot mean a line that came at an instant.
func (m *Member) check(line *toMember, at time.Time) error {
	if w := line.Welcome; w != nil {
		if err := w.check(); err != nil {
			return err
		}
	}
	if line.Clock != nil {
		if err := line.Clock.offset(m.clock.Read(at)).check(); err != nil {
			return &NonsenseError{err}
		}
	}
	if line.Start != nil {
		if start := m.instant(*line.Start); start.Sub(at) > longestLead {
			return &NonsenseError{fmt.Errorf("it says that the run starts at %s, which is too far away", start.UTC().Format(time.RFC3339))}
		}
	}
	return nil
}

// check returns why a shard cannot have that name.
func (w *welcome) check() error {
	var k, n int
	_, err := fmt.Sscanf(w.Shard, "%d/%d", &k, &n)
	if err != nil || fmt.Sprintf("%d/%d", k, n) != w.Shard || k < 1 || k > n || n != w.Shards || n > math.MaxInt32 {
		return &NonsenseError{fmt.Errorf("it says that this is shard %.20q of %d, which cannot be", w.Shard, w.Shards)}
	}
	return nil
}

// NonsenseError says what a gatherer cannot mean.
type NonsenseError struct{ Cause error }

// Error implements error.
func (e *NonsenseError) Error() string {
	return fmt.Sprintf("the gatherer is not to be believed: %v; check --fleet", e.Cause)
}

// Unwrap returns the cause.
func (e *NonsenseError) Unwrap() error { return e.Cause }

// Permanent says so to package permanent: the gatherer would say the same again.
func (e *NonsenseError) Permanent() bool { return true }
