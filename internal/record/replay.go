package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// maxAhead is how far an instant may be after the end of its second: as late as a frozen
// machine may be.
const maxAhead = 24 * time.Hour

// restore loads c into the empty set s. at is the end of the second.
func (s *set) restore(c Counted, at time.Duration) error {
	s.sums, s.lost = c.sums, c.Clamped
	for i, p := range c.Slices {
		if i < 0 || i >= len(s.slices) {
			return fmt.Errorf("it has a slice %d of response times, and there are %d", i, len(s.slices))
		}
		s.slices[i] = p
	}
	for _, step := range c.Timeline {
		if step[0] > uint64((at+maxAhead)/grace) {
			return fmt.Errorf("it counts operations at %d × %v, long after its end", step[0], grace)
		}
		to := s.course.at(time.Duration(step[0]) * grace)
		to.ready, to.sent, to.ended = to.ready+step[1], to.sent+step[2], to.ended+step[3]
	}
	if err := s.restoreHistograms(c.Histograms); err != nil {
		return err
	}
	if err := restoreBlocks(c.Blocks, func() *proof.Counts { return s.blocks }); err != nil {
		return err
	}
	for k, text := range c.Timed[:min(len(c.Timed), len(s.timed))] {
		if err := restoreBlocks(text, func() *proof.Counts { return s.timedBlocks(k) }); err != nil {
			return err
		}
	}
	for text, n := range c.Status {
		code, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("its status %.40q is not a number", text)
		}
		s.addStatus(code, n)
	}
	for _, class := range c.Classes {
		s.addClass(&class)
	}
	return nil
}

// restoreBlocks adds the blocks of a journal; nil: it is of an older takt, and the report has no intervals of the latency.
func restoreBlocks(text *takt.Blocks, into func() *proof.Counts) error {
	if text == nil {
		return nil
	}
	blocks, err := proof.Read(text)
	if err != nil {
		return err
	}
	return into().Merge(blocks)
}

func (s *set) restoreHistograms(texts []string) error {
	into := s.histograms()
	if n := len(into) - 1; len(texts) == n { // without onTime
		into = into[:n]
	}
	if len(texts) != len(into) {
		return fmt.Errorf("it has %d histograms, and the head says %d", len(texts), len(into))
	}
	var d hist.Decoder
	for i, text := range texts {
		if text == "" {
			continue
		}
		if phase := i - placePhases; phase >= 0 && phase < len(s.phases) {
			into[i] = s.phase(phase)
		}
		if into[i] == nil { // histogram of a warm-up, but the head has none
			return errors.New("it has a warm-up, and the head has none")
		}
		if err := d.Merge(into[i], text); err != nil {
			return err
		}
	}
	return nil
}

// Replay makes a run's report from the data of its recorder. Call Before at most once and
// first, then Second for each second, then Report.
type Replay struct {
	cfg  Config
	rec  *Recorder
	last *Second // restored and not swapped yet: its open operations are still to be counted
}

// NewReplay makes a Replay for a run with this configuration.
func NewReplay(cfg Config) (*Replay, error) {
	if n := len(cfg.Phases) + len(cfg.Timed); n > MaxPhases {
		return nil, fmt.Errorf("it has %d phases, more than %d", n, MaxPhases)
	}
	cfg.Shards, cfg.Samples, cfg.Scrub, cfg.Journal = 1, 0, nil, false
	return &Replay{cfg: cfg, rec: New(cfg)}, nil
}

// Before restores the state between two seconds.
func (p *Replay) Before(b Before) error {
	r, h := p.rec, &p.rec.history
	switch {
	case p.last != nil || r.last.At > 0:
		return errors.New("seconds come before the state that replaced them")
	case b.At < 0 || len(b.Merged) > takt.MaxIntervals || len(b.Old) > takt.MaxIntervals || b.Held < 0 || b.Span < 0 || b.Span > math.MaxInt32 || b.Growing == nil && b.Held > 0:
		return errors.New("its history is none")
	}
	r.last.At, r.scheduled = b.At, b.Scheduled
	h.merged, h.old, h.held, h.span = b.Merged, b.Old, b.Held, b.Span
	if b.Growing != nil {
		h.open = *b.Growing
	}
	return r.total.restore(b.Counted, b.At)
}

// Second restores the next second.
func (p *Replay) Second(s Second) error {
	p.swap()
	if before := p.rec.last.At; s.At < before || s.At > before+time.Second || s.InFlightMax < 0 {
		return fmt.Errorf("a second that ends at %v does not follow one that ended at %v", s.At, before)
	}
	if s.Backlog > maxOpen || slices.ContainsFunc(s.Open, func(o Open) bool { return o.N > maxOpen }) {
		return fmt.Errorf("more than %d operations were open at %v", uint64(maxOpen), s.At)
	}
	p.last = &s
	return p.rec.shards[0].set.restore(s.Counted, s.At)
}

// Copy is a Replay of the same seconds: a report of the copy leaves this Replay as it is, so the run
// may go on. It costs as much for a long run as for a short one.
func (p *Replay) Copy() (*Replay, error) {
	c, err := NewReplay(p.cfg)
	if err == nil {
		err = c.Before(p.rec.Before())
	}
	if err == nil && p.last != nil {
		err = c.Second(*p.last)
	}
	return c, err
}

// State replaces all seconds so far.
func (p *Replay) State() Before {
	p.swap()
	return p.rec.Before()
}

// Ran is the end of the last second.
func (p *Replay) Ran() time.Duration {
	if p.last != nil {
		return p.last.At
	}
	return p.rec.last.At
}

// Stamped is Stamped of the run's recorder.
func (p *Replay) Stamped() bool { return p.rec.Stamped() }

func (p *Replay) swap() {
	if s := p.last; s != nil {
		p.rec.Swap(Tick{At: s.At, Scheduled: s.Scheduled, InFlightMax: s.InFlightMax})
		p.last = nil
	}
}

// maxOpen is above any possible number of open operations; JSON has no exact integers above
// maxOpen.
const maxOpen = 1 << 53

// backlogParts is the number of steps in which a backlog is counted, since its operations
// were due one after the other.
const backlogParts = 100

// Report makes the recorder's part of the report. Operations open at the end of the last
// second are unfinished, with their age at that time.
func (p *Replay) Report(closed, receiveOnly bool) *takt.Report {
	if p.last == nil { // a journal always has a second after the state
		p.last = &Second{At: p.rec.last.At, Scheduled: p.rec.scheduled, Window: math.MaxInt64}
	}
	s, r := p.last, p.rec
	p.countOpen(s)
	known, length := s.Scheduled, s.At-r.last.At
	s.Scheduled = p.scheduled()
	r.CloseWindow(s.Window)
	stop := p.stop(s, known, length)
	if !closed && !s.Over {
		r.CloseWindow(stop)
	}
	p.swap()
	return r.Report(End{
		Scheduled: over(r.total.Counts), WarmupScheduled: over(r.total.Warm),
		Closed: closed, ReceiveOnly: receiveOnly, Stop: stop,
	})
}

// countOpen counts the operations open at the end of the second.
func (p *Replay) countOpen(s *Second) {
	for _, o := range s.Open {
		p.unfinished(o.Due, o.N)
	}
	// Claimed operations were due before BacklogFrom.
	from, due := max(0, min(s.BacklogFrom, s.At-StepLength)), uint64(0)
	for i := range uint64(backlogParts) {
		n := s.Backlog*(i+1)/backlogParts - due
		due += n
		p.unfinished(from+(s.At-from)*time.Duration(2*i+1)/(2*backlogParts), n)
	}
}

func (p *Replay) unfinished(due time.Duration, n uint64) {
	if n == 0 || due < 0 || due > p.last.At {
		return
	}
	e := Event{Due: due, Free: due, Done: p.last.At, Outcome: UnfinishedQueued}
	p.rec.shards[0].set.sample(&e, n, nil, time.Duration(p.rec.window.Load()))
}

// scheduled is the number of the run's operations according to its shards. The shards are
// emptied a few ms after the second's end, so they include operations that became due and
// ended in these ms.
func (p *Replay) scheduled() uint64 {
	return p.rec.total.over() + p.rec.shards[0].set.over()
}

// over is the number of operations that ended, were cut or dropped, and of received messages.
func (s *set) over() uint64 { return over(s.Counts) + over(s.Warm) + s.Received }

func over(c takt.Counts) uint64 { return c.OK + c.Failed + c.Dropped + c.Unfinished }

// stop is the instant by which the counted operations were due. Of these, known were due at
// the second's end; the next ones follow at the rate of that second, whose length is length.
// No counted operation was due after the last completion.
func (p *Replay) stop(s *Second, known uint64, length time.Duration) time.Duration {
	if s.Scheduled <= known || known <= p.rec.scheduled || length <= 0 {
		return s.At
	}
	gap := float64(length) / float64(known-p.rec.scheduled)
	ahead := min(float64(s.Scheduled-known)*gap, max(0, float64(p.rec.shards[0].set.LastDone-s.At))+gap, float64(maxAhead))
	return s.At + time.Duration(ahead)
}
