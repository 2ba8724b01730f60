package fleet

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/audit"
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

	left        bool   // its connection is being closed
	quiet       bool   // the user knows that nothing comes; only watch uses it
	lost        string // why it is gone; "": it is not
	first, last Offset // of its clock; Bound 0: none
	best        Offset // of them, for now
	state
}

// state is a member in the present run.
type state struct {
	ready  *Ready // nil: it could not start yet
	armed  bool
	failed *Failure
	over   *over
	holds  bool // a place of those whose report is read
	merged bool
	told   bool              // the user knows that it is lost
	after  time.Duration     // when that was, since the start
	second int               // the last second that came, from 0; -1: none
	until  float64           // when that second ended, in seconds since the start
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

// mostBound is the largest error of a clock with which a member may start: the start of all waits for it.
// It is half of a round trip of 500 ms, and no two places on earth are farther apart by cable.
const mostBound = tooLate / 2

// clock adds an estimate. Once the start is known, a rough one changes nothing: the network may be busy.
func (p *peer) clock(o Offset, launched bool) error {
	switch {
	case o.Bound <= 0:
		return fmt.Errorf("it says that its clock is known within %v, which cannot be", o.Bound)
	case o.Bound > mostBound && launched:
		return nil
	case o.Bound > mostBound:
		return fmt.Errorf("its clock is known within %v only, and a common start needs %v; start it on a machine that is nearer to the gatherer", o.Bound, mostBound)
	}
	if p.first.Bound == 0 {
		p.first = o
	}
	p.last = o
	if p.best.Bound == 0 || o.Bound <= p.best.after(o.At) {
		p.best = o
	}
	return nil
}

// believe checks a second of the run against itself.
func (p *peer) believe(iv *takt.Interval) error {
	answered := p.ready != nil && !p.ready.Head.OneWay && !p.ready.Head.Receives
	if lie := audit.Interval(*iv, p.until, answered); lie != nil {
		return fmt.Errorf("the second that ends at %.1f s contradicts itself: %s", iv.T, lie.List())
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
	select {
	case <-p.gone:
	case <-time.After(beat):
	}
	p.stream.raw.Close()
}
