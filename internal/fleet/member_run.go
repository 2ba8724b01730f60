package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/pkg/takt"
)

// Run is one run of a member.
type Run struct {
	Words   []string          // the command line
	Asked   map[string]string // settings of the load
	Context context.Context   // ends when the gatherer says so, or is gone
	Abort   <-chan struct{}   // closed when the run must end without a drain

	member  *Member
	round   int
	cancel  context.CancelCauseFunc
	abort   chan struct{}
	start   chan int64
	give    chan struct{}
	taken   chan struct{}
	seconds chan live.Snapshot
	passed  chan struct{} // closed when all seconds are sent
}

// StoppedError is the cause of a run that the gatherer ended.
type StoppedError struct{ Reason string }

// Error implements error.
func (e *StoppedError) Error() string { return "the gatherer ended the run: " + e.Reason }

// waiting is the number of seconds that wait for the network.
const waiting = 16

func newRun(m *Member, line *toMember) *Run {
	r := &Run{
		Words: line.Words, Asked: line.Settings, member: m, round: line.Round, abort: make(chan struct{}), start: make(chan int64, 1),
		give: make(chan struct{}, 1), taken: make(chan struct{}, 1), seconds: make(chan live.Snapshot, waiting),
	}
	r.Abort, r.passed = r.abort, make(chan struct{})
	r.Context, r.cancel = context.WithCancelCause(context.Background())
	go r.passOn()
	return r
}

// obey does what a line says. The member's lock is held.
func (r *Run) obey(line *toMember) {
	if line.Stop != "" {
		r.cancel(&StoppedError{line.Stop})
	}
	if line.Abort {
		r.cancel(&StoppedError{"at once"})
		select {
		case <-r.abort:
		default:
			close(r.abort)
		}
	}
	if line.Start != nil {
		put(r.start, *line.Start)
	}
	if line.Give {
		put(r.give, struct{}{})
	}
	if line.Taken {
		put(r.taken, struct{}{})
	}
}

// put sends unless the channel is full: the other side repeated itself.
func put[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}

func (r *Run) send(line toGatherer, patience time.Duration) error {
	line.Round = r.round
	return r.member.stream.send(line, patience)
}

const (
	// tooLate is how late a shard may start. Up to then its schedule lag shows the delay, and is judged
	// like any stall of a generator. A shard that is later sends nothing, and ends the run of all.
	tooLate = 500 * time.Millisecond
	// lastLook and lookEach for each member are the time before the start in which members look at the
	// gatherer's clock once more, each at a random instant: all at once would wait for each other.
	lastLook = 300 * time.Millisecond
	lookEach = 3 * time.Millisecond
	// ready is when a member must wait for nothing but its start.
	ready = 50 * time.Millisecond
)

// LateError is the error of a shard that could not start with the others.
type LateError struct{ By time.Duration }

// Error implements error.
func (e *LateError) Error() string {
	return fmt.Sprintf("the start was %v ago when this shard was ready for it, so it sends nothing; look for what stops the process or delays the network for so long", e.By.Round(time.Millisecond))
}

// Meet says that this shard is ready, and waits for the start that all shards have in common. It
// returns now if ctx ends first. It is an engine.Meet except for its second parameter.
func (r *Run) Meet(ctx context.Context, known Ready) (time.Time, error) {
	if err := r.send(toGatherer{Ready: &known}, silence); err != nil {
		return time.Now(), fmt.Errorf("the gatherer is gone: %w", err)
	}
	select {
	case <-ctx.Done():
		return time.Now(), nil
	case origin := <-r.start:
		return r.await(ctx, origin)
	}
}

// OtherLoadError is the error of a shard that would not send a part of the load that was asked
// for, for example because of a variable in its environment.
type OtherLoadError struct {
	Setting, Here, Asked string
	Files                []string // that the load reads; another content makes another load, too
}

// Error implements error.
func (e *OtherLoadError) Error() string {
	files := "the files"
	if len(e.Files) > 0 {
		files = "the content of " + strings.Join(e.Files, ", ")
	}
	differs := fmt.Sprintf("%s is %s there, not %s", e.Setting, cmp.Or(e.Here, "not set"), cmp.Or(e.Asked, "not set"))
	if stored.IsDigest(e.Setting) {
		differs = e.Setting + " is another there"
	}
	return fmt.Sprintf("it would not send the load that was asked for: %s; look at the TAKT_… variables and %s of its host", differs, files)
}

// Check compares the settings that shape the load with those that were asked for. The error is an
// *OtherLoadError.
func (r *Run) Check(settings map[string]string) error {
	names := maps.Clone(settings)
	maps.Copy(names, r.Asked)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if here, asked := settings[name], r.Asked[name]; here != asked {
			return &OtherLoadError{Setting: name, Here: here, Asked: asked}
		}
	}
	return nil
}

// await confirms the start, looks at the gatherer's clock shortly before it, and returns it by this
// process's clock.
func (r *Run) await(ctx context.Context, origin int64) (time.Time, error) {
	m := r.member
	at := m.instant(origin)
	if err := late(at); err != nil {
		return at, err
	}
	if err := r.send(toGatherer{Armed: true}, silence); err != nil {
		return at, fmt.Errorf("the gatherer is gone: %w", err)
	}
	window := lastLook + time.Duration(m.Shards)*lookEach
	look := window/2 + rand.N(window/2)
	if !pause.For(time.Until(at)-look, ctx.Done()) {
		return time.Now(), nil
	}
	looked := make(chan struct{})
	go func() { m.measure(); close(looked) }()
	select {
	case <-looked:
	case <-time.After(time.Until(at) - ready): // the estimate of before is good enough
	case <-ctx.Done():
		return time.Now(), nil
	}
	at = m.instant(origin)
	return at, late(at)
}

func late(at time.Time) error {
	if by := time.Since(at); by > tooLate {
		return &LateError{by}
	}
	return nil
}

// Second passes on a second of the run. It never waits.
func (r *Run) Second(s live.Snapshot) {
	put(r.seconds, live.Snapshot{Interval: s.Interval, Errors: s.Errors}) // what happened to the target is the gatherer's
}

// passOn sends the seconds.
func (r *Run) passOn() {
	defer close(r.passed)
	for s := range r.seconds {
		_ = r.send(toGatherer{Second: &s}, silence) // a connection that fails ends the run elsewhere
	}
}

// over ends the run, after its last second.
func (r *Run) over() {
	close(r.seconds)
	<-r.passed
	r.cancel(nil)
}

// forget lets go of a run that is complete.
func (m *Member) forget(r *Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, r.round)
}

// Deliver sends the report, when the gatherer has room for it, and waits until it is merged.
// early says why the run ended before its schedule; "": it did not.
func (r *Run) Deliver(report *takt.Report, early string) error {
	r.over()
	defer r.member.forget(r)
	text, err := document.Encode(report)
	if err == nil {
		err = r.send(toGatherer{Over: &over{early}}, silence)
	}
	for err == nil {
		select {
		case <-r.give:
			err = r.send(toGatherer{Report: text}, greet)
		case <-r.taken:
			return nil
		case <-r.member.gone:
			err = r.member.lost() // set before gone was closed
		}
	}
	if err != nil {
		return cmp.Or(r.member.lost(), fmt.Errorf("the gatherer is gone: %w", err))
	}
	return nil
}

// Fail says that there is no report.
func (r *Run) Fail(f Failure) {
	r.over()
	r.member.forget(r)
	_ = r.send(toGatherer{Failed: &f}, silence) // a gatherer that is gone needs no reason
}
