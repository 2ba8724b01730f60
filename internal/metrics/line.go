package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/screen"
	"github.com/taktload/takt/pkg/takt"
)

// line is the way to one receiver: a bounded queue, and the goroutine that empties it.
type line struct {
	Opened
	tell   func(text string)
	ctx    context.Context // of all attempts
	cancel context.CancelFunc
	wake   chan struct{} // a batch waits, or no other will come
	over   chan struct{} // closed when no other batch will come

	mu    sync.Mutex
	queue []*Batch // oldest first
	added uint64   // batches that were put into the queue
	sent  uint64
	last  bool  // no other batch will come
	ended bool  // the goroutine has ended
	err   error // newest fault; nil: there was none
}

func newLine(o Opened, tell func(string)) *line {
	l := &line{Opened: o, tell: tell, wake: make(chan struct{}, 1), over: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// put adds a batch. Without room the oldest one is lost.
func (l *line) put(b *Batch) {
	l.mu.Lock()
	if len(l.queue) == queueRoom {
		l.queue[0] = nil
		l.queue = l.queue[1:]
	}
	l.queue = append(l.queue, b)
	l.added++
	l.mu.Unlock()
	l.signal()
}

// finish says that no other batch will come.
func (l *line) finish() {
	l.mu.Lock()
	l.last = true
	l.mu.Unlock()
	close(l.over)
	l.signal()
}

func (l *line) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// deliver sends all batches: during the run on a thread of the lowest priority, which a busy machine may
// give no time, and after the run with the usual one, since the end of the run waits for them.
func (l *line) deliver() {
	defer l.end()
	run := make(chan struct{})
	go func() {
		defer close(run)
		screen.Yield()
		for b := l.next(false); b != nil; b = l.next(false) {
			l.send(b)
		}
	}()
	<-run
	for b := l.next(true); b != nil; b = l.next(true) {
		l.send(b)
	}
}

// end closes the exporter.
func (l *line) end() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), closeTime)
	defer cancel()
	if err := l.guarded(func() error { return l.Close(ctx) }); err != nil {
		l.note(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// next waits for a batch; nil: no other will come, or the run waits no longer. During the run it is also
// nil once the run is over.
func (l *line) next(afterRun bool) *Batch {
	for l.ctx.Err() == nil {
		l.mu.Lock()
		if len(l.queue) > 0 && (afterRun || !l.last) {
			b := l.queue[0]
			l.queue[0] = nil
			l.queue = l.queue[1:]
			l.mu.Unlock()
			return b
		}
		last := l.last
		l.mu.Unlock()
		if last {
			return nil
		}
		select {
		case <-l.wake:
		case <-l.ctx.Done():
		}
	}
	return nil
}

// send delivers a batch, and tries again while others have room to wait.
func (l *line) send(b *Batch) {
	for n := 1; ; n++ {
		err := l.try(b)
		if err == nil {
			l.mu.Lock()
			l.sent++
			l.mu.Unlock()
			return
		}
		if l.ctx.Err() == nil || n == 1 { // else the fault is that the run waits no longer
			l.note(err)
		}
		rest, again := restAfter(err, n)
		if !again || l.full() || !l.rest(rest) {
			return
		}
	}
}

func (l *line) try(b *Batch) error {
	ctx, cancel := context.WithTimeout(l.ctx, exportTime)
	defer cancel()
	return l.guarded(func() error { return l.Export(ctx, b) })
}

// guarded calls the exporter. Its panic is a fault of the exporter, not of the run.
func (l *line) guarded(call func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = broken(fault)
		}
	}()
	return call()
}

// full reports whether no further batch has room.
func (l *line) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == queueRoom
}

// rest waits before the next attempt, and reports whether there is one. At the end of the run there is
// no time for long rests.
func (l *line) rest(d time.Duration) bool {
	if pause.For(d, l.over) {
		return true
	}
	return pause.For(min(d, lastRest), l.ctx.Done())
}

// note keeps a fault, and tells the first one.
func (l *line) note(err error) {
	l.mu.Lock()
	first := l.err == nil
	l.err = err
	l.mu.Unlock()
	if first && l.tell != nil && l.ctx.Err() == nil { // at the end of the run its report says it
		l.tell(l.Shown + ": " + err.Error())
	}
}

// waits reports whether the receiver has not got everything.
func (l *line) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended
}

// result is what became of the batches.
func (l *line) result() takt.Export {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := takt.Export{To: l.Shown, Sent: l.sent, Lost: l.added - l.sent}
	if l.err != nil {
		e.Error = l.err.Error()
	}
	return e
}
