package metrics

import (
	"sync"
	"time"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/screen"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

const (
	secondsRoom = 64               // intervals that wait for the Pump itself
	queueRoom   = 60               // batches that wait for a receiver: a minute
	exportTime  = 5 * time.Second  // of one attempt
	firstRest   = time.Second      // after the first failure of a batch; twice as long after each other
	mostRest    = 5 * time.Second  // between two attempts
	lastRest    = time.Second / 2  // the same at the end of the run
	mostAsked   = 30 * time.Second // pause that a receiver may ask for
	closeTime   = time.Second      // for an exporter to end
	hurryTime   = time.Second / 10 // for receivers that answer, after a second signal
	patience    = time.Second / 2  // before the end of a run says that it waits
)

// LastWait is the longest time for which the end of a run waits for receivers.
const LastWait = 3 * time.Second

// Opened is a destination with its exporter.
type Opened struct {
	Shown string
	Exporter
}

// Pump passes the intervals of one run to exporters. A nil Pump does nothing.
type Pump struct {
	run     Run
	cpu     func() time.Duration
	lines   []*line
	over    sync.WaitGroup // of the lines
	begun   time.Time      // start of the run; zero: it has not begun
	seconds chan second
	report  *takt.Report  // of the run; nil: it was not made. Set before ended is closed
	ended   chan struct{} // closed when no other interval counts
	done    chan struct{} // closed when all batches are in the queues
	closed  bool          // End was called
}

// second is an interval that waits, with its histograms.
type second struct {
	takt.Interval
	lent timeline.Lent
}

// Start makes a Pump; nil if nobody wants figures. cpu is the CPU time of the generator so far; nil: it is
// not known. tell gets the first fault of each destination.
func Start(run Run, to []Opened, cpu func() time.Duration, tell func(text string)) *Pump {
	if len(to) == 0 {
		return nil
	}
	p := &Pump{run: run, cpu: cpu, seconds: make(chan second, secondsRoom), ended: make(chan struct{}), done: make(chan struct{})}
	for _, o := range to {
		l := newLine(o, tell)
		p.lines = append(p.lines, l)
		p.over.Go(l.deliver)
	}
	return p
}

// Begin says when the run began. Call it before the first Interval.
func (p *Pump) Begin(at time.Time) {
	if p == nil || !p.begun.IsZero() {
		return
	}
	p.begun = at
	g := newGatherer(p)
	go func() {
		defer close(p.done)
		screen.Yield()
		g.gather()
	}()
}

// Interval passes on an interval of the run, and its histograms. It never waits.
func (p *Pump) Interval(iv takt.Interval, lent timeline.Lent) {
	if p == nil || p.begun.IsZero() {
		return
	}
	select {
	case p.seconds <- second{iv, lent}:
	default: // the machine has had no time for a minute
	}
}

// End sends the last batch, waits for receivers up to LastWait or until hurry is closed, and returns what
// became of the batches. wait gets the destinations if the end has to wait for them. r is nil if the run
// was not made.
func (p *Pump) End(r *takt.Report, hurry <-chan struct{}, wait func(to []string)) []takt.Export {
	if p == nil || p.closed {
		return nil
	}
	p.closed = true
	if p.report = r; !p.begun.IsZero() {
		close(p.ended)
		pause.For(LastWait, p.done) // the machine has no time for a thread of the lowest priority
	}
	for _, l := range p.lines {
		l.finish()
	}
	p.await(hurry, wait)
	var list []takt.Export
	for _, l := range p.lines {
		list = append(list, l.result())
	}
	return list
}

// Close ends the Pump of a run that was not made. After End it does nothing.
func (p *Pump) Close() {
	hurry := make(chan struct{})
	close(hurry)
	p.End(nil, hurry, nil)
}

// await waits for the lines, and stops those that need too long.
func (p *Pump) await(hurry <-chan struct{}, wait func(to []string)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.over.Wait()
	}()
	limit, note := time.After(LastWait), time.After(patience)
	for over := false; !over; {
		select {
		case <-ended:
			return
		case <-note:
			if wait != nil {
				wait(p.open())
			}
		case <-hurry:
			hurry, note, limit = nil, nil, time.After(hurryTime)
		case <-limit:
			over = true
		}
	}
	for _, l := range p.lines {
		l.cancel()
	}
	select { // an exporter that ignores its context costs a goroutine, not the report
	case <-ended:
	case <-time.After(closeTime):
	}
}

// open lists the destinations that wait for a receiver.
func (p *Pump) open() (to []string) {
	for _, l := range p.lines {
		if l.waits() {
			to = append(to, l.Shown)
		}
	}
	return to
}
