package fleet

import (
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/pkg/takt"
)

// peer is a member, as the gatherer sees it. The gatherer's lock guards what changes.
type peer struct {
	g      *Gatherer
	k      int
	host   string
	stream *stream
	out    chan toMember // lines to be sent
	gone   chan struct{} // closed when nothing more will come

	left        bool      // its connection is being closed
	quiet       bool      // the user knows that nothing comes; only watch uses it
	lost        string    // why it is gone; "": it is not
	first, last Offset    // of its clock; Bound 0: none
	met         time.Time // when first came
	best        Offset    // of them, for now
	state
}

// state is a member in the present run.
type state struct {
	ready  *Ready // nil: it could not start yet
	armed  bool
	failed *Failure
	over   *over
	holds  bool      // a place of those whose report is read
	since  time.Time // when it got that place
	sent   bool      // its report has come
	merged bool
	told   bool              // the user knows that it is lost
	after  time.Duration     // when that was, since the start
	second int               // the last second that came, from 0; -1: none
	until  float64           // when that second ended, in seconds since the start
	came   time.Time         // when that second came; zero: none
	count  int               // number of its seconds
	said   takt.Counts       // sums of its seconds
	gap    bool              // a second may be missing: the member stood still, or the network was slow
	errors []takt.ErrorClass // of its run so far
}

func (p *peer) name() string { return fmt.Sprintf("%d/%d", p.k, p.g.Shards) }

// called is its name and its host, for people.
func (p *peer) called() string { return fmt.Sprintf("shard %s (%s)", p.name(), p.host) }

// mostPosted is the number of lines that wait for a member. At least one comes each second.
const mostPosted = 64

// post sends a line without waiting for the network. A member that does not read is lost, since
// it will not answer either.
func (p *peer) post(line toMember) { put(p.out, line) }

// deliver sends what was posted. A connection that fails ends in listen.
func (p *peer) deliver() {
	for {
		select {
		case line := <-p.out:
			if p.stream.send(line, silence) != nil {
				p.stream.raw.Close()
				return
			}
			if line.End != nil || line.Lost != "" {
				return
			}
		case <-p.gone:
			return
		}
	}
}

// order lets the member prepare a run.
func (p *peer) order(r *round) {
	p.release()
	p.state = state{second: -1}
	p.post(toMember{Round: r.number, Words: r.load.Words(p.name()), Settings: r.load.Settings})
}

// longest is the largest size of its next line: only a report that has a place may be long.
func (p *peer) longest() int {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.holds {
		return maxLine
	}
	return maxShort
}

// release gives the place of a report back.
func (p *peer) release() {
	if p.holds {
		p.holds = false
		<-p.g.room
	}
}

// ended reports whether no seconds will come of it any more.
func (p *peer) ended() bool { return p.lost != "" || p.failed != nil || p.over != nil }

// settled reports whether nothing of it is missing.
func (p *peer) settled() bool { return p.lost != "" || p.failed != nil || p.merged }

// why says why its part of the load is missing, or not complete; "": it is complete.
func (p *peer) why() string {
	switch {
	case p.failed != nil:
		return p.failed.Reason
	case p.over != nil && p.over.Early != "":
		return p.over.Early
	case p.merged:
		return ""
	}
	return p.lost
}

// overdue says why a member is given up that keeps the others waiting; "": it may still come. What the member says
// of its time does not count if the gatherer knows the schedule. Else the member must send a second now and then. The
// lock is held.
func (p *peer) overdue(r *round, now time.Time) string {
	grace := r.load.Drain + endGrace
	switch {
	case p.settled():
	case p.over != nil:
		if p.holds && !p.sent && now.Sub(p.since) > reportTime {
			return fmt.Sprintf("its report has not come %v after the gatherer asked for it", reportTime)
		}
	case !r.limit.IsZero() && now.After(r.limit):
		return fmt.Sprintf("it has not reported %v after the end of its run", grace)
	case r.limit.IsZero() && now.Sub(latest(r.begun, p.came)) > grace:
		return fmt.Sprintf("no second of its run has come for %v", grace)
	}
	return ""
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// mostBound is the largest error of a clock with which a member may start: the start of all waits for it.
// It is half of a round trip of 500 ms, and no two places on earth are farther apart by cable.
const mostBound = tooLate / 2

// clock adds an estimate. Once the start is known, a rough one changes nothing: the network may be busy.
func (p *peer) clock(o Offset, launched bool) error {
	switch {
	case o.Bound > mostBound && launched:
		return nil
	case o.Bound > mostBound:
		return fmt.Errorf("its clock is known within %v only, and a common start needs %v; start it on a machine that is nearer to the gatherer", o.Bound, mostBound)
	}
	if p.first.Bound == 0 {
		p.first, p.met = o, time.Now()
		if o.Ahead.Abs() > mostAhead {
			p.g.tell(fmt.Sprintf("the clock of %s is %s; the start is the same for all, but set that clock: certificates and logs depend on it", p.called(), apart(o.Ahead)))
		}
	}
	if by := (o.Ahead - p.first.Ahead).Abs(); by > leeway(time.Since(p.met)) {
		return fmt.Errorf("it says that its clock moved by %v within %v, which cannot be", by.Round(time.Millisecond), time.Since(p.met).Round(time.Second))
	}
	p.last = o
	if p.best.Bound == 0 || o.Bound <= p.best.after(o.At) {
		p.best = o
	}
	return nil
}

// mostAhead is how wrong a member's clock may be without a word.
const mostAhead = time.Minute

// apart says how far a clock is from the gatherer's, which is so far ahead.
func apart(ahead time.Duration) string {
	way := "behind"
	if ahead < 0 {
		way = "ahead"
	}
	return fmt.Sprintf("%v %s", ahead.Abs().Round(time.Second), way)
}

// leeway is how far clocks and runs of two processes may be apart after a time: one of them may have stood still for
// as long as it is not lost, and clocks drift.
func leeway(d time.Duration) time.Duration { return silence + d/1000 }

// believe checks a second of the run, and adds it to what the member has said.
func (p *peer) believe(r *round, s *live.Snapshot) error {
	iv := &s.Interval
	if lie := audit.Interval(*iv, s.Errors, p.until, !r.head.OneWay && !r.head.Receives); lie != nil {
		return fmt.Errorf("the second that ends at %s contradicts itself: %s", until(iv.T), lie.List())
	}
	if passed := time.Since(r.begun); iv.T > (passed + leeway(passed)).Seconds() {
		return fmt.Errorf("it sent the second that ends at %s after %.1f s", until(iv.T), passed.Seconds())
	}
	if p.count++; float64(p.count) > iv.T+2 {
		return fmt.Errorf("it sent %d seconds until %s", p.count, until(iv.T))
	}
	p.gap = p.gap || iv.T-p.until > 1.5
	p.said, p.came = plus(p.said, iv), time.Now()
	return nil
}

// until writes an instant in s that a member named, which may have 300 digits.
func until(s float64) string {
	if math.Abs(s) < 1e9 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.3g s", s)
}

// plus adds the operations of an interval.
func plus(c takt.Counts, iv *takt.Interval) takt.Counts {
	return c.Plus(takt.Counts{Scheduled: iv.Scheduled, OK: iv.OK, Failed: iv.Failed, Dropped: iv.Dropped})
}

// keepsItsWord compares the report with the seconds before it.
func (p *peer) keepsItsWord(report *takt.Report) error {
	var all takt.Counts
	end := 0.0
	for i := range report.Intervals {
		all, end = plus(all, &report.Intervals[i]), report.Intervals[i].T
	}
	for _, c := range []struct {
		name      string
		said, now uint64
	}{
		{"scheduled", p.said.Scheduled, all.Scheduled}, {"ok", p.said.OK, all.OK}, {"failed", p.said.Failed, all.Failed}, {"dropped", p.said.Dropped, all.Dropped},
	} {
		if c.said > c.now || c.said < c.now && !p.gap && p.until == end {
			return fmt.Errorf("its seconds have %d %s operations, and the intervals of its report have %d", c.said, c.name, c.now)
		}
	}
	return nil
}

// abandon parts with a lost member, which learns why if it still lives. The lock is held.
func (p *peer) abandon() {
	if p.left {
		return
	}
	p.left = true
	go p.part(toMember{Lost: p.lost})
}

// part sends the last line, and lets the member close the connection: closing it here could destroy the
// line on its way.
func (p *peer) part(last toMember) {
	p.post(last)
	pause.For(beat, p.gone)
	p.stream.raw.Close()
}
