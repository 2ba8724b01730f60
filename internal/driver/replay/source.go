package replay

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/pkg/takt"
)

// run is the state of one run.
type run struct {
	log        *pipeline
	ahead      *play.Ahead
	ledger     *ledger
	comparison *comparison
	printer    *printer
	begun      time.Time      // start of the run: when the engine asked for the first operation, or --start-at
	records    []trace.Record // result of the last call of rows
	entries    []entry        // own the texts that records point to
	lost       uint64         // operations without a row, because the ledger had overwritten their entry
	struck     bool           // --crash has ended the run
	last       uint64         // number of the last operation of this machine
	read, sent uint64         // number of operations of all machines, and of this one
	gaps       *play.Gaps     // nil without the recorded times
	thinker    *thinker       // nil without --think
}

// Source makes operations of the logs. base is the schedule, used with a rate.
func (o *Options) Source(ctx context.Context, base takt.Source) (takt.Source, error) {
	o.close()
	if err := o.surveyGaps(ctx); err != nil {
		return nil, err
	}
	p, err := o.openLogs(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{log: p, ahead: play.NewAhead(p), ledger: newLedger(), comparison: newComparison(), printer: newPrinter(o.onlook.show)}
	o.run.Store(r)
	if !o.Seed.Tail {
		err := r.ahead.Wait(ctx)
		if err == io.EOF {
			err = o.nothing()
		}
		if err != nil {
			o.close()
			return nil, err
		}
	}
	return o.wrap(base)
}

// nothing is the error for logs without a request.
func (o *Options) nothing() error {
	if a := o.run.Load().log.seen(); a.nothing != nil {
		return a.nothing
	}
	return fmt.Errorf("no request of %s was taken", strings.Join(o.logs, ", ")) // cannot happen: the reading has ended
}

// wrap makes the source of the run.
func (o *Options) wrap(base takt.Source) (takt.Source, error) {
	e := o.engine
	s := &source{o: o, run: o.run.Load(), end: -1, shards: 1}
	if e.Recorded || o.byClient() {
		s.shard, s.shards = o.shard, o.shards
	}
	switch {
	case e.Recorded && o.Seed.Tail:
		s.feed = play.NewPaced(&atOnce{}, o.run.Load().ahead)
	case e.Recorded:
		s.feed = s.recorded()
	case o.byClient():
		whole, err := o.whole()
		if err != nil {
			return nil, err
		}
		s.feed = play.NewPaced(whole, o.run.Load().ahead)
	default:
		s.feed = play.NewPaced(base, o.run.Load().ahead)
	}
	if e.Recorded {
		s.limit = e.Requests
		if e.Duration > 0 {
			s.end = e.Warmup + e.Duration
		}
	}
	if o.Think && !o.DryRun {
		s.run.thinker = newThinker(s)
		return s.run.thinker, nil
	}
	if c, ok := base.(takt.Counter); ok && o.Seed.Rewind && !o.Seed.Thunder && !o.byClient() {
		return countedSource{s, c}, nil
	}
	return s, nil
}

// source enters each operation in the ledger, and moves its due instant as the flags say.
type source struct {
	feed          engine.Feed
	o             *Options
	run           *run
	end           time.Duration // end by --duration, with the recorded times; negative: the end of feed
	shard, shards uint64        // 0 and 1 if feed has the operations of this machine alone
	limit         uint64        // measured operations of all shards, with the recorded times; 0: no limit
	taken         uint64        // operations of all shards so far
	measured      uint64        // operations of taken that are due after the warm-up
	last          time.Duration // latest due instant of taken
}

// recorded returns a source of operations at the recorded times.
func (s *source) recorded() *play.Source {
	src := play.NewSource(s.run.ahead, s.o.Speed)
	src.Gaps = s.o.gaps()
	if !s.o.canReadAgain() {
		src.Gaps.Passed = func() time.Duration { return time.Since(s.run.begun) }
	}
	s.run.gaps = &src.Gaps
	return src
}

// countedSource is a source whose log never ends, so the schedule knows the number of operations.
type countedSource struct {
	*source
	counter takt.Counter
}

// DueBefore implements takt.Counter.
func (c countedSource) DueBefore(t time.Duration) uint64 { return c.counter.DueBefore(t) }

// soon is how long after its line was read an operation of --tail is due. The engine polls the source
// within that time, so any lateness is the engine's own.
const soon = time.Millisecond

// Next implements takt.Source.
func (s *source) Next(op *takt.Op) bool {
	if s.run.begun.IsZero() {
		s.run.begun = s.o.engine.StartAt.Or(time.Now())
	}
	for {
		if s.full() || !s.feed.Next(op) {
			return false
		}
		s.move(op)
		s.last = max(s.last, op.Due)
		s.taken++
		if op.Due >= s.o.engine.Warmup {
			s.measured++
		}
		s.run.read++
		if s.part(op) == s.shard {
			break
		}
	}
	s.run.last = op.Seq
	s.run.sent++
	s.run.ledger.note(op, s.o.bodySize(op.Data.(*trace.Record)))
	return true
}

// part is the shard that sends an operation.
func (s *source) part(op *takt.Op) uint64 {
	if rec := op.Data.(*trace.Record); s.o.byClient() && len(rec.Client) > 0 {
		return trace.ClientHash(rec) % s.shards
	}
	return op.Seq % s.shards
}

// move changes the due instant of an operation for --thunder and --tail.
func (s *source) move(op *takt.Op) {
	if s.o.Seed.Thunder && op.Due > 0 {
		op.Due = op.Due.Truncate(time.Second)
	}
	if s.o.Seed.Tail && op.Due != takt.Asap {
		op.Due = max(op.Due, s.last, time.Since(s.run.begun)+soon)
	}
}

// full reports whether -n operations were taken, with the recorded times.
func (s *source) full() bool { return s.limit > 0 && s.measured >= s.limit }

// End implements takt.Source.
func (s *source) End() time.Duration {
	end := s.feed.End()
	switch {
	case s.full():
		end = play.Behind(s.last, s.taken)
	case s.o.Seed.Tail && end >= 0: // lines may come later than they are due
		end = max(end, s.last+1)
	}
	return play.Sooner(s.end, end)
}

// Starved implements engine.Feed.
func (s *source) Starved() bool { return !s.full() && s.feed.Starved() }

// Err implements engine.Feed.
func (s *source) Err() error {
	err := s.feed.Err()
	if g := s.run.gaps; err != nil && g != nil && g.Refuse && g.Count > 0 {
		return fmt.Errorf("%w; give --max-gap 10s to make it 10 s long, or a longer --max-gap to wait", err)
	}
	return err
}

// EndedEarly implements engine.Feed.
func (s *source) EndedEarly() bool {
	if s.full() {
		return s.feed.EndedEarly()
	}
	return play.EndedBefore(s.feed, s.end)
}

// atOnce is a schedule that makes every operation due at once; move corrects the instant.
type atOnce struct{ seq uint64 }

// Next implements takt.Source.
func (a *atOnce) Next(op *takt.Op) bool {
	op.Seq, op.Due = a.seq, 0
	a.seq++
	return true
}

// End implements takt.Source.
func (a *atOnce) End() time.Duration { return -1 }
