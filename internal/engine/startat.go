package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/pace"
)

// startLead is how long before the instant of --start-at the mode starts. The mode then waits
// for its first operation with its usual precision of some µs. A Go timer ends up to 1 ms
// late.
const startLead = 20 * time.Millisecond

// StartPassedError says that the instant of --start-at passed before the run could begin.
type StartPassedError struct {
	At      time.Time
	Ago     time.Duration
	Readied bool // the instant passed while takt prepared the run
}

// Error implements error.
func (e *StartPassedError) Error() string {
	why := fmt.Sprintf("--start-at %s was %v ago by this host's clock", e.At.UTC().Format(time.RFC3339Nano), rounded(e.Ago))
	if e.Readied {
		why += ", when takt had connected"
	}
	return why + "; give all shards one later instant, and let NTP keep their clocks"
}

// rounded rounds a duration for people.
func rounded(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// Passed is a *StartPassedError if the instant is over; nil if it is in the future or not
// set.
func (t StartAt) Passed() error {
	at := t.instant()
	if ago := time.Since(at); ago > 0 && !at.IsZero() {
		return &StartPassedError{At: at, Ago: ago}
	}
	return nil
}

// instant is t by the wall clock, which the shards share.
func (t StartAt) instant() time.Time { return time.Time(t).Round(0) }

// Or is the start of a run that could begin now: the given instant if it is later.
func (t StartAt) Or(now time.Time) time.Time {
	if at := t.instant(); at.After(now) {
		return now.Add(at.Sub(now)) // with a reading of the monotonic clock
	}
	return now
}

// origin waits for the instant of --start-at and returns the instant from which the schedule
// counts. That is the given instant itself, not the instant of waking, so the shards'
// operations are due exactly where the whole schedule has them.
func (r *run) origin(ctx context.Context) (time.Time, error) {
	at := r.plan.StartAt.instant()
	switch {
	case r.plan.Meet != nil:
		return r.meet(ctx)
	case at.IsZero():
		return r.world.Now(), nil
	}
	if ago := r.world.Now().Sub(at); ago > 0 {
		return at, &StartPassedError{At: at, Ago: ago, Readied: true}
	}
	if !r.await(ctx, at) {
		return r.world.Now(), nil
	}
	now := r.world.Now()
	return now.Add(at.Sub(now)), nil // adds a reading of the monotonic clock, which at lacks
}

// meet returns the start that this run shares with others. If ctx ends first, nothing of the
// schedule is sent.
func (r *run) meet(ctx context.Context) (time.Time, error) {
	at, err := r.plan.Meet(ctx)
	if err == nil && !r.await(ctx, at) {
		return r.world.Now(), nil
	}
	return at, err
}

// announce tells of the start once, as soon as it is known. Of a start at once it tells afterwards, so
// that no operation waits for whoever is told.
func (r *run) announce(at time.Time) {
	if tell := r.plan.OnStart; tell != nil {
		r.plan.OnStart = nil
		tell(at)
	}
}

// await waits until the mode must start for the instant at, and reports whether ctx lasted.
// Otherwise await stops the run.
func (r *run) await(ctx context.Context, at time.Time) bool {
	now := r.world.Now()
	r.announce(now.Add(at.Sub(now))) // adds a reading of the monotonic clock, which at may lack
	lead := startLead
	if r.plan.Closed() || r.plan.Driver.Receive != nil {
		lead = 0 // these modes begin at once
	}
	// Both may be ready at once: then the end of ctx counts.
	if r.world.First(r.world.After(at.Sub(r.world.Now())-lead), ctx.Done()) == 0 && ctx.Err() == nil {
		return true
	}
	r.rec.CloseWindow(0)
	r.mode.stop(0)
	return false
}

// abandon ends a prepared mode before it has sent anything.
func (r *run) abandon() {
	r.mode.stop(0)
	r.mode.start(r.world.Now(), func() time.Duration { return 0 }, func() pace.Waiter { return pace.Timer(time.Now()) })
	r.mode.cut(0)
	r.cancel()
	r.mode.close()
}
