package http

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/pkg/takt"
)

// feedAhead is how many targets are read ahead of their operations: 10 ms of them
// at 100k/s. keepTargets bounds their bytes, but for the last.
const feedAhead = 1024

// Source gives each operation its target where these are read while the run goes;
// until ctx ends it waits for the first. In any other case src stays as it is.
func (o *Options) Source(ctx context.Context, src takt.Source) (takt.Source, error) {
	if s, ok := o.requests.(*scenario); ok {
		return s.source(src), nil
	}
	if t, ok := o.requests.(*templated); ok && t.limit > 0 {
		return Limited(src, t.limit), nil
	}
	l := o.list
	if l == nil || l.kept != nil {
		return src, nil
	}
	l.close()
	f, err := newTargetFeed(l)
	if err != nil {
		return nil, err
	}
	l.feed = f
	s := &targetSource{Source: src, feed: f}
	select {
	case first, ok := <-f.queue:
		if !ok {
			return nil, f.fault()
		}
		f.queued.Add(-int64(len(first.Bytes)))
		s.first, l.first = first, first
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c, ok := src.(takt.Counter); ok && f.file != nil {
		return &countedTargets{s, c}, nil
	}
	return s, nil
}

// targetFeed reads targets in a goroutine of its own: whoever writes them may take
// his time, and the engine must not wait for him. A file begins anew at its end.
type targetFeed struct {
	list   *targetList
	reader *targetReader
	file   *os.File // nil: stdin
	home   *url.URL // the host of them all; nil: any
	queue  chan *httpreq.Fixed
	queued atomic.Int64 // bytes on the wire of what is in the queue
	quit   chan struct{}
	stop   func()
	err    error // why the queue was closed; read after that
}

func newTargetFeed(l *targetList) (*targetFeed, error) {
	f := &targetFeed{list: l, queue: make(chan *httpreq.Fixed, feedAhead), quit: make(chan struct{})}
	f.stop = sync.OnceFunc(func() { close(f.quit) })
	if l.oneHost {
		f.home = l.base()
	}
	if l.name == stdin {
		f.reader = newTargetReader(l.o, "stdin", l.o.standardInput())
	} else {
		var err error
		if f.file, err = files.Open(l.name); err != nil {
			return nil, fmt.Errorf("cannot read the targets: %w; check --targets", err)
		}
		f.reader = newTargetReader(l.o, l.name, f.file)
	}
	go f.run()
	return f, nil
}

// run reads until the end, a fault, or stop. A read that stop finds under way may
// last for ever: it costs a goroutine, not the report.
func (f *targetFeed) run() {
	defer close(f.queue)
	if f.file != nil {
		defer f.file.Close()
	}
	for {
		var t *httpreq.Fixed
		if t, f.err = f.next(); f.err != nil {
			return
		}
		for f.queued.Load() > keepTargets && f.pause() {
		}
		f.queued.Add(int64(len(t.Bytes)))
		select {
		case f.queue <- t:
		case <-f.quit:
			return
		}
	}
}

// pause waits a moment for the queue to get shorter, and reports whether to go on.
func (f *targetFeed) pause() bool {
	return pause.For(time.Millisecond, f.quit)
}

func (f *targetFeed) next() (*httpreq.Fixed, error) {
	t, err := f.reader.next()
	if err == io.EOF && f.file != nil {
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		f.reader = newTargetReader(f.list.o, f.list.name, f.file)
		t, err = f.reader.next()
	}
	if err == nil && f.home != nil && !httpreq.SameOrigin(t.Sends.URL, f.home) {
		return nil, fmt.Errorf("%s: %s is not on the host of the url; leave the url out for targets on several hosts", f.reader.where(), t.Sends.URL)
	}
	return t, err
}

// fault is why not even the first target came.
func (f *targetFeed) fault() error {
	if f.err == io.EOF {
		return fmt.Errorf("stdin: %w", errNoTargets)
	}
	return f.err
}

// targetSource gives operations their targets as they come, and never waits for
// one: it is an engine.Feed.
type targetSource struct {
	takt.Source
	feed    *targetFeed
	op      takt.Op        // of the schedule, without its target
	have    bool           // op is there
	first   *httpreq.Fixed // read before the run
	target  *httpreq.Fixed // the last that was taken
	taken   uint64
	starved bool
	ended   bool
}

// countedTargets are those of a file, which never end before the schedule.
type countedTargets struct {
	*targetSource
	counter takt.Counter
}

// DueBefore implements takt.Counter.
func (c *countedTargets) DueBefore(t time.Duration) uint64 { return c.counter.DueBefore(t) }

// Next implements takt.Source. Of a shard's operations the targets between are
// taken too, so that every number has the same target on every machine.
func (s *targetSource) Next(op *takt.Op) bool {
	s.starved = false
	if !s.have {
		s.have = !s.ended && s.Source.Next(&s.op)
	}
	if !s.have {
		return false
	}
	for s.taken <= s.op.Seq {
		if !s.take() {
			return false
		}
	}
	op.Seq, op.Due, op.Data = s.op.Seq, s.op.Due, s.target
	s.have = false
	return true
}

func (s *targetSource) take() bool {
	if s.first != nil {
		s.target, s.first = s.first, nil
		s.taken++
		return true
	}
	select {
	case t, ok := <-s.feed.queue:
		if !ok {
			s.ended, s.have = true, false
			return false
		}
		s.feed.queued.Add(-int64(len(t.Bytes)))
		s.target = t
		s.taken++
		return true
	default:
		s.starved = true
		return false
	}
}

// Starved implements engine.Feed.
func (s *targetSource) Starved() bool { return s.starved }

// End implements takt.Source. If the targets ended first, the end is when the first operation
// without a target would be due.
func (s *targetSource) End() time.Duration {
	if s.ended && s.op.Due >= 0 {
		return s.op.Due
	}
	return s.Source.End()
}

// EndedEarly reports whether the targets ended before the schedule did.
func (s *targetSource) EndedEarly() bool { return s.ended }

// Err is what ended the targets before their time; nil for the end of stdin.
func (s *targetSource) Err() error {
	if !s.ended || s.feed.err == io.EOF {
		return nil
	}
	return s.feed.err
}

// Limited is src up to the operation with number limit, for which files have no line.
func Limited(src takt.Source, limit uint64) takt.Source { return &limited{Source: src, limit: limit} }

// limited are the operations for which files have lines that are used once: an engine.Feed.
type limited struct {
	takt.Source
	limit uint64
	ended bool
	at    time.Duration // when the first operation without a line would be due
}

// Next implements takt.Source.
func (l *limited) Next(op *takt.Op) bool {
	if l.ended || !l.Source.Next(op) {
		return false
	}
	if l.ended = op.Seq >= l.limit; l.ended {
		l.at = op.Due
	}
	return !l.ended
}

// End implements takt.Source.
func (l *limited) End() time.Duration {
	if l.ended && l.at >= 0 {
		return l.at
	}
	return l.Source.End()
}

// Starved implements engine.Feed.
func (l *limited) Starved() bool { return false }

// EndedEarly implements engine.Feed.
func (l *limited) EndedEarly() bool { return l.ended }

// Err implements engine.Feed.
func (l *limited) Err() error { return nil }
