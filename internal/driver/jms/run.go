package jms

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/takt"
)

func (id runID) String() string { return strconv.FormatInt(int64(id), 16) }

// run is the driver's state of one run, and the client of its operations.
type run struct {
	o         *Options
	id        runID
	body      []byte
	started   time.Time
	epoch     time.Duration // started as time since 1970
	lines     []*line
	producers []*producer
	consumers []*consumer
	next      int // index of the next producer; only for the pacer
	credit    starvation
	outages   *outage.Log
	meter     *meter
	counters

	tally    tally
	open     atomic.Int64  // number of operations in flight
	expected atomic.Uint64 // number of messages that should arrive
	backlog  backlog
	// Bytes on consumers' connections, in addition to operations of this process.
	wireSent, wireReceived atomic.Int64

	phase
	ending
}

// phase is how far a run is. Each starts as false and becomes true once.
type phase struct {
	released atomic.Bool   // consumers have credit
	flushing atomic.Bool   // no further message comes: open transactions are committed
	over     atomic.Bool   // no message is counted or accepted any more
	moved    chan struct{} // signals progress to drain
}

// starvation is how long the broker granted no credit. Only the pacer uses it.
type starvation struct {
	since  time.Duration // start of the current spell; negative: there is credit
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

// conn is a connection and what its reader collected in a burst.
type conn struct {
	*amqp.Conn
	run  *run
	line *line

	mu        sync.Mutex
	consumers []*consumer

	// Only the reader uses the following fields.
	good                     []uint64        // operations acknowledged in this burst
	acks                     []time.Duration // send times of messages acknowledged in this burst
	sentBytes, receivedBytes int64           // bytes that were reported
}

func (c *conn) add(k *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.consumers = append(c.consumers, k)
}

func (o *Options) newRun() *run {
	r := &run{
		o: o, id: newRunID(), body: bytes.Repeat([]byte{1}, o.MessageSize), started: time.Now(),
		meter:  newMeter(o.window.warmup, o.follower != nil),
		phase:  phase{moved: make(chan struct{}, 1)},
		ending: newEnding(o.sends),
		credit: starvation{since: -1},
	}
	r.tally = newTally(o.sends)
	r.outages = &outage.Log{Arrivals: r.arrivals(), Unordered: o.overtakes()}
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
	d := &takt.Driver{Probe: r.connect, Outage: r.outages.Newest, Finish: r.finish, Close: r.close}
	if o.sends {
		d.Async = func(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
			c := &takt.AsyncClient{Start: r.start, Started: r.begun, Pause: r.pause, Flush: r.flush, Drain: r.drain, Close: r.end}
			c.Relays = true // operations end in the reader's goroutine, which then has no lock
			return c, r.give(sink)
		}
		return d, nil
	}
	d.Receive = func(ctx context.Context, sink takt.Sink) error {
		r.begin(time.Now())
		if err := r.give(sink); err != nil {
			return err
		}
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

func (r *run) begun(at time.Time) {
	r.begin(at)
	r.release()
}

// release grants credit to all consumers. From now on lost connections are made again.
func (r *run) release() {
	r.released.Store(true)
	for _, l := range r.lines {
		r.tending.Go(l.tend)
	}
	for _, c := range r.consumers {
		c.release()
	}
}

// burst is the callback at the end of a burst.
func (c *conn) burst() {
	c.mu.Lock()
	consumers := c.consumers // the list only grows
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

// finish ends the operations acknowledged in this burst.
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
		c.line.worked(slices.Min(c.acks))
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

// result is a result with the bytes since the last one.
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

func (r *run) flush(context.Context) error {
	r.flushing.Store(true)
	for _, p := range r.producers {
		p.flush()
	}
	for _, l := range r.lines {
		l.flush()
	}
	return nil
}

// drain waits for sent messages to arrive.
func (r *run) drain(ctx context.Context) {
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
	return r.arrived() >= r.expected.Load() && r.committed()
}

// committed reports whether every consumer has committed its messages.
func (r *run) committed() bool {
	for _, c := range r.consumers {
		if !c.idle() {
			return false
		}
	}
	return true
}

// end is the client's Close; finish does the rest.
func (r *run) end() error {
	r.over.Store(true)
	return nil
}
