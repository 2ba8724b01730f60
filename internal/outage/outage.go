// Package outage is about times in which a target did not work. Drivers note those of its parts, which
// are connections to a broker or partitions of a topic, while a run goes on. Stalls, in which the whole
// target answered nothing, follow from the intervals of the report.
package outage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Silence is the time without an answer from which a part counts as out although no connection
// broke: a process that is stopped, or a network that drops packets.
const Silence = time.Second

// maxSpells limits the memory of a log: connections may break all the time.
const maxSpells = 10_000

// Arrivals are counts of a consumer that grow during a run.
type Arrivals struct{ Doubled, Reordered uint64 }

// Log has the outages of one run; the zero value is an empty log. Its times are durations since the start of the run.
type Log struct {
	Arrivals  func() Arrivals                   // what a consumer has counted so far; nil: nobody counts
	Held      func(from, to time.Duration) bool // reports whether the target told takt to wait then, so that a silence is none; to below 0 is now; nil: it never does
	Unordered bool                              // messages overtake each other at any time, so their order shows nothing

	mu      sync.Mutex
	spells  []*spell
	skipped int // spells beyond maxSpells
}

// spell is an outage of one part.
type spell struct {
	part            *Part
	from, to        time.Duration // to is negative: not over
	cause           string        // "": nothing was answered
	failed, retried uint64
	lost            uint64
	before          Arrivals // counts when it began
}

// Part is a part of the target that works or does not.
type Part struct {
	log  *Log
	name string

	mu     sync.Mutex
	last   time.Duration // last success
	now    *spell        // nil: the part works
	spells int           // number of outages of this part, without silences
}

// Part adds a part.
func (l *Log) Part(name string) *Part { return &Part{log: l, name: name} }

func (l *Log) held(from, to time.Duration) bool { return l.Held != nil && l.Held(from, to) }

// begin adds a spell; nil if there are too many.
func (l *Log) begin(p *Part, from, to time.Duration, cause string) *spell {
	s := &spell{part: p, from: from, to: to, cause: cause}
	if l.Arrivals != nil {
		s.before = l.Arrivals()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spells) < maxSpells {
		l.spells = append(l.spells, s)
	} else {
		l.skipped++
	}
	return s
}

// Lost notes that the part does not work since the instant at, because of err. sent is the instant at
// which the oldest operation without an answer was sent. If nothing was answered for a long time
// before, the outage began then: a broker that was frozen refuses what it was sent when it goes on.
func (p *Part) Lost(sent, at time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		return
	}
	from := max(p.last, at)
	if quiet := max(p.last, sent); at-quiet >= Silence && !p.log.held(quiet, at) {
		from = quiet
	}
	p.spells++
	p.now = p.log.begin(p, from, -1, err.Error())
}

// Silent notes that nothing of the part has been answered since the instant from.
func (p *Part) Silent(from time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from = max(p.last, from); p.now == nil && !p.log.held(from, -1) {
		p.now = p.log.begin(p, from, -1, "")
	}
}

// Spells is the number of outages that Lost began.
func (p *Part) Spells() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spells
}

// Failed and Retried count operations of the part if it is out.
func (p *Part) Failed(n int) { p.count(n, 0) }

// Retried counts operations that are sent again.
func (p *Part) Retried(n int) { p.count(0, n) }

func (p *Part) count(failed, retried int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		p.log.mu.Lock() // the log may be read at the same time
		p.now.failed += uint64(failed)
		p.now.retried += uint64(retried)
		p.log.mu.Unlock()
	}
}

// Worked notes that an operation, sent at the instant sent, ended well at the instant at. It ends
// an outage.
func (p *Part) Worked(sent, at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		p.end(at)
	} else if from := max(p.last, sent); at-from >= Silence && !p.log.held(from, at) {
		p.log.begin(p, from, at, "")
	}
	p.last = max(p.last, at)
}

// silent begins the cause of an outage in which no connection broke.
const silent = "no answer "

// why is the cause of a spell.
func (s *spell) why() string {
	switch {
	case s.cause != "":
		return s.cause
	case s.to < 0:
		return silent + "until the end"
	}
	return fmt.Sprint(silent, "for ", (s.to - s.from).Round(time.Millisecond))
}

// Back notes that the part can work again although no operation shows it: a consumer's link is
// attached again.
func (p *Part) Back(at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		p.end(at)
	}
	p.last = max(p.last, at)
}

func (p *Part) end(at time.Duration) {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.now.to = max(at, p.now.from)
	p.now = nil
}

// Missing notes n messages of the part that were acknowledged at the instant at and never arrived.
// They count for the first outage that was not over then: a broker loses what it has in memory.
func (p *Part) Missing(at time.Duration, n uint64) {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	for _, s := range p.log.spells {
		if s.part == p && (s.to < 0 || s.to >= at) {
			s.lost += n
			return
		}
	}
}

// Newest is the last outage so far, which may go on; false: there was none.
func (l *Log) Newest() (takt.Outage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.join(false)
	if len(list) == 0 {
		return takt.Outage{}, false
	}
	return list[len(list)-1].Outage, true
}

// Describe puts the outages into a report: what overlaps is one outage. lost: whoever made the log
// called Missing for every lost message.
func (l *Log) Describe(rep *takt.Report, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now Arrivals
	if l.Arrivals != nil {
		now = l.Arrivals()
	}
	list := l.join(lost)
	for i := range list {
		if l.Arrivals == nil {
			continue
		}
		until := now
		if i+1 < len(list) {
			until = list[i+1].before
		}
		doubled, reordered := until.Doubled-list[i].before.Doubled, until.Reordered-list[i].before.Reordered
		list[i].Doubled = &doubled
		if !l.Unordered {
			list[i].Reordered = &reordered
		}
	}
	for i := range list {
		rep.Outages = append(rep.Outages, list[i].Outage)
	}
	if over := Shorten(rep); over > 0 || l.skipped > 0 {
		rep.Warn(warn.ManyOutages, "the report has the first %d outages; %d later ones, and %d of single connections, are left out", takt.Number("shown", takt.MaxOutages), takt.Number("later", over), takt.Number("single", l.skipped))
	}
}

// Shorten removes the outages beyond takt.MaxOutages, and returns their number.
func Shorten(rep *takt.Report) int {
	over := max(0, len(rep.Outages)-takt.MaxOutages)
	rep.Outages = rep.Outages[:len(rep.Outages)-over]
	return over
}

// joined is an outage with the counts at its begin.
type joined struct {
	takt.Outage
	before Arrivals
	parts  map[*Part]bool
}

// join makes one outage of spells that overlap.
func (l *Log) join(lost bool) (list []joined) {
	slices.SortStableFunc(l.spells, func(a, b *spell) int { return cmp.Compare(a.from, b.from) })
	for _, s := range l.spells {
		o := s.outage(lost)
		if n := len(list); n > 0 && meets(&list[n-1].Outage, &o) {
			add(&list[n-1].Outage, &o)
			list[n-1].parts[s.part] = true
			list[n-1].Parts = len(list[n-1].parts)
			continue
		}
		list = append(list, joined{o, s.before, map[*Part]bool{s.part: true}})
	}
	return list
}

func (s *spell) outage(lost bool) takt.Outage {
	o := takt.Outage{From: s.from.Seconds(), Parts: 1, First: s.part.name, Cause: shorten(s.why()), Failed: s.failed, Retried: s.retried}
	if s.to >= 0 {
		to, took := s.to.Seconds(), (s.to - s.from).Seconds()
		o.To, o.FirstSuccess = &to, &took
	}
	if lost {
		o.Lost = &s.lost
	}
	return o
}

// maxCause is the length of an error in a report, as of the samples of classes.
const maxCause = 300

func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxCause)], "") }

// Apart is the time between two outages below which they are one: connections do not break at the
// same instant.
const Apart = 100 * time.Millisecond

// meets reports whether b, which begins later, begins before a is over, or soon after.
func meets(a, b *takt.Outage) bool { return a.To == nil || b.From-*a.To < Apart.Seconds() }

// add extends a by b, which begins later.
func add(a, b *takt.Outage) {
	if a.To != nil && (b.To == nil || *b.To > *a.To) {
		a.To = b.To
	}
	if b.FirstSuccess != nil {
		first := b.From + *b.FirstSuccess - a.From
		if a.FirstSuccess == nil || first < *a.FirstSuccess {
			a.FirstSuccess = &first
		}
	}
	if strings.HasPrefix(a.Cause, silent) && !strings.HasPrefix(b.Cause, silent) { // an error says more
		a.First, a.Cause = b.First, b.Cause
	}
	a.Parts += b.Parts
	a.Failed += b.Failed
	a.Retried += b.Retried
	a.Lost, a.Doubled, a.Reordered = plus(a.Lost, b.Lost), plus(a.Doubled, b.Doubled), plus(a.Reordered, b.Reordered)
}

// plus is the sum of two counts; nil if one is unknown.
func plus(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// Merge makes one list of the outages of several reports, such as of shards: what overlaps is one
// outage.
func Merge(list []takt.Outage) (merged []takt.Outage) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b takt.Outage) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.First, b.First), cmp.Compare(a.Cause, b.Cause))
	})
	for i := range list {
		if n := len(merged); n > 0 && meets(&merged[n-1], &list[i]) {
			add(&merged[n-1], &list[i])
		} else {
			merged = append(merged, list[i])
		}
	}
	return merged
}
