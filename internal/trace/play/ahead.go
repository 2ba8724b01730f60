package play

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/taktload/takt/internal/trace"
)

// Limits of what is read in advance.
const (
	aheadRecords = 1024      // 10 ms of them at 100k/s
	aheadBytes   = 64 << 20  // of their texts; a larger one is read when all before it were taken
	spareBytes   = 256 << 10 // memory of a record above which it is not used again
)

// Ahead reads a stream in its own goroutine, so that neither a slow disk nor a slow writer
// of a pipe delays the caller of Next. Its Next never waits.
type Ahead struct {
	src   trace.Stream
	queue chan *trace.Record
	free  chan *trace.Record
	first *trace.Record
	bytes atomic.Int64  // of the texts in queue
	taken chan struct{} // has a token when a record was taken since the last look
	quit  chan struct{}
	stop  func()
	err   error // why the queue was closed; read it only after that
}

// NewAhead begins to read. Stop ends the reading.
func NewAhead(src trace.Stream) *Ahead {
	a := &Ahead{src: src, queue: make(chan *trace.Record, aheadRecords), free: make(chan *trace.Record, aheadRecords), quit: make(chan struct{}), taken: make(chan struct{}, 1)}
	a.stop = sync.OnceFunc(func() { close(a.quit) })
	go a.run()
	return a
}

// Stop ends the reading. It does not wait: a blocked read keeps its goroutine.
func (a *Ahead) Stop() { a.stop() }

// run reads until the end, an error, or Stop, and then closes the stream if it can be closed.
func (a *Ahead) run() {
	if c, ok := a.src.(io.Closer); ok {
		defer c.Close()
	}
	defer close(a.queue)
	var shared trace.Record
	for {
		if a.err = a.src.Next(&shared); a.err != nil {
			return
		}
		rec := a.spare()
		shared.CopyTo(rec)
		size := int64(len(rec.Memory))
		for waiting := a.bytes.Load(); waiting > 0 && waiting+size > aheadBytes; waiting = a.bytes.Load() {
			select {
			case <-a.taken:
			case <-a.quit:
				a.err = io.EOF
				return
			}
		}
		a.bytes.Add(size)
		select {
		case a.queue <- rec:
		case <-a.quit:
			a.err = io.EOF
			return
		}
	}
}

func (a *Ahead) spare() *trace.Record {
	select {
	case rec := <-a.free:
		return rec
	default:
		return new(trace.Record)
	}
}

// Wait waits, before a run, until Next has a record or ctx ends. An error is the stream's:
// io.EOF if it has no records.
func (a *Ahead) Wait(ctx context.Context) error {
	if a.first != nil {
		return nil
	}
	select {
	case rec, ok := <-a.queue:
		if !ok {
			return a.err
		}
		a.first = rec
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Next implements Stream, but may also return ErrNotYet. rec gets memory of its own.
func (a *Ahead) Next(rec *trace.Record) error {
	if a.first != nil {
		a.give(rec, a.first)
		a.first = nil
		return nil
	}
	select {
	case next, ok := <-a.queue:
		if !ok {
			return a.err
		}
		a.give(rec, next)
		return nil
	default:
		return ErrNotYet
	}
}

// give swaps the records, and returns the old memory to run for reuse.
func (a *Ahead) give(rec, next *trace.Record) {
	*rec, *next = *next, *rec
	a.bytes.Add(-int64(len(rec.Memory)))
	select {
	case a.taken <- struct{}{}:
	default:
	}
	if cap(next.Memory) > spareBytes {
		return
	}
	select {
	case a.free <- next:
	default: // free is full: leave the record to the garbage collector
	}
}
