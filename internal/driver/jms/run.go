package jms

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

func (id runID) String() string { return strconv.FormatInt(int64(id), 16) }

// run is what one run has of the driver. It is the engine's AsyncWorker.
type run struct {
	o         *Options
	id        runID
	body      []byte
	meter     *meter
	started   time.Time
	epoch     time.Duration // started, since 1970
	conns     []*conn
	producers []*producer
	consumers []*consumer
	next      int // producer whose turn it is; the pacer's
	credit    starvation

	sink     engine.BatchSink // nil: nothing is sent
	taker    engine.Taker     // nil: something is
	tally    tally
	open     atomic.Int64  // operations that were begun and have not ended
	expected atomic.Uint64 // messages that are to arrive
	backlog  backlog
	// Bytes over the connections of consumers, beside operations of this process.
	wireSent, wireReceived atomic.Int64

	over  atomic.Bool   // nothing is counted or accepted any more
	moved chan struct{} // something happened that Drain may wait for

	mu     sync.Mutex
	broken error         // why the run cannot go on
	broke  chan struct{} // closed then
	closed bool
}

// starvation is how long the broker took no message for want of credit. It is the
// pacer's.
type starvation struct {
	since  time.Duration // negative: it takes them
	spells int
	total  time.Duration
}

func (s *starvation) begin(now time.Duration) {
	if s.since < 0 {
		s.since = now
		s.spells++
	}
}

func (s *starvation) end(now time.Duration) {
	if s.since >= 0 {
		s.total += now - s.since
		s.since = -1
	}
}

// conn is a connection with what its reader has gathered in a burst.
type conn struct {
	*amqp.Conn
	run   *run
	dirty bool // something waits to be flushed; the pacer's

	mu        sync.Mutex
	consumers []*consumer

	// The reader's own.
	good                     []uint64        // operations that were acknowledged in this burst
	acks                     []time.Duration // when the messages were sent that were
	sentBytes, receivedBytes int64           // that were reported
}

func (c *conn) add(k *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.consumers = append(c.consumers, k)
}

func (o *Options) newRun() *run {
	r := &run{
		o: o, id: newRunID(), body: bytes.Repeat([]byte{1}, o.MessageSize), started: time.Now(),
		meter: newMeter(o.window.warmup, o.follower != nil),
		moved: make(chan struct{}, 1), broke: make(chan struct{}),
		credit: starvation{since: -1},
	}
	r.tally = newTally(o.sends)
	r.epoch = time.Duration(r.started.UnixNano())
	return r
}

// Open makes the driver of one run.
func (o *Options) Open(context.Context, int) (*takt.Driver, error) {
	if err := o.follower.open(o); err != nil {
		return nil, err
	}
	r := o.newRun()
	o.follower.follow(r.meter)
	d := &takt.Driver{Probe: r.connect, Finish: r.finish, Close: r.close}
	if o.sends {
		d.Async = func(_ int, sink takt.Sink) (takt.AsyncWorker, error) {
			return r, r.give(sink.(engine.BatchSink))
		}
		return d, nil
	}
	d.Receive = func(ctx context.Context, sink takt.Sink) error {
		r.begin(time.Now())
		r.taker = sink.(engine.Taker)
		r.release()
		select {
		case <-ctx.Done():
			return nil
		case <-r.broke:
			return r.why()
		}
	}
	return d, nil
}

// now is the time since the run's start.
func (r *run) now() time.Duration { return time.Since(r.started) }

func (r *run) begin(at time.Time) {
	r.started, r.epoch = at, time.Duration(at.UnixNano())
}

// Started implements engine.Clocked.
func (r *run) Started(at time.Time) {
	r.begin(at)
	r.release()
}

// give says where completions go. It returns why the run is over already, if it is.
func (r *run) give(sink engine.BatchSink) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink = sink
	return r.broken
}

// release lets messages come.
func (r *run) release() {
	for _, c := range r.consumers {
		c.rcv.Release()
	}
}

// wake tells the engine that a producer has room again.
func (r *run) wake() {
	r.mu.Lock()
	sink := r.sink
	r.mu.Unlock()
	if w, ok := sink.(engine.Waker); ok {
		w.Wake()
	}
}

// fail notes that the run cannot go on, and ends it.
func (r *run) fail(err error) {
	r.mu.Lock()
	first := r.broken == nil && !r.closed
	if first {
		r.broken = err
		close(r.broke)
	}
	sink := r.sink
	r.mu.Unlock()
	if e, ok := sink.(engine.Ender); ok && first {
		e.End()
	}
}

// lostLink is told when a link ends that nobody ended here.
func (r *run) lostLink(err error) {
	if !errors.Is(err, amqp.ErrClosed) {
		r.fail(err)
	}
}

func (r *run) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// burst is the callback at the end of a burst.
func (c *conn) burst() {
	c.mu.Lock()
	consumers := c.consumers // which only grows
	c.mu.Unlock()
	for _, k := range consumers {
		k.burst()
	}
	if c.run.o.sends && len(consumers) > 0 {
		sent, received := c.bytes()
		c.run.wireSent.Add(sent)
		c.run.wireReceived.Add(received)
	}
	c.finish()
	select {
	case c.run.moved <- struct{}{}:
	default:
	}
}

// finish ends the operations that were acknowledged in this burst.
func (c *conn) finish() {
	r := c.run
	if len(c.acks) > 0 {
		now := r.now()
		r.meter.ack.mu.Lock()
		for _, sent := range c.acks {
			r.meter.ack.put(now-sent, now >= r.meter.warmup)
		}
		r.meter.ack.mu.Unlock()
		r.meter.completed.Add(uint64(len(c.acks)))
		c.acks = c.acks[:0]
	}
	if len(c.good) == 0 {
		return
	}
	r.open.Add(-int64(len(c.good)))
	res := c.result()
	res.Arrived = c.Arrived()
	r.sink.DoneAll(c.good, res)
	c.good = c.good[:0]
}

// result has the bytes since the last one.
func (c *conn) result() *takt.Result {
	var res takt.Result
	res.BytesSent, res.BytesReceived = c.bytes()
	res.BytesSent += c.run.wireSent.Swap(0)
	res.BytesReceived += c.run.wireReceived.Swap(0)
	return &res
}

func (c *conn) bytes() (sent, received int64) {
	s, g := c.Bytes()
	sent, received = s-c.sentBytes, g-c.receivedBytes
	c.sentBytes, c.receivedBytes = s, g
	return sent, received
}

// Flush implements takt.AsyncWorker.
func (r *run) Flush(context.Context) error {
	for _, p := range r.producers {
		p.flush()
	}
	for _, c := range r.conns {
		c.Flush()
	}
	return nil
}

// Drain implements engine.Drainer: it waits for what was sent to arrive.
func (r *run) Drain(ctx context.Context) {
	r.behind(r.now())
	for !r.drained() {
		select {
		case <-r.moved:
		case <-r.broke:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (r *run) drained() bool {
	if r.open.Load() > 0 {
		return false
	}
	if !r.o.receives {
		return true
	}
	return r.tally.arrived() >= r.expected.Load() && r.committed()
}

// committed reports whether every consumer has committed what it received.
func (r *run) committed() bool {
	for _, c := range r.consumers {
		if !c.idle() {
			return false
		}
	}
	return true
}

// Close implements takt.AsyncWorker; the rest is finish's.
func (r *run) Close() error {
	r.over.Store(true)
	return nil
}
