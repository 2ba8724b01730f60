package jms

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/ledger"
	"github.com/taktload/takt/pkg/takt"
)

// consumer receives from one queue or subscription.
type consumer struct {
	run    *run
	line   *line
	source source

	mu          sync.Mutex
	conn        *conn
	rcv         *amqp.Receiver
	tx          *acceptances // nil: messages are accepted at once
	waits       bool         // messages first to last are to be accepted
	first, last uint32
}

// deliver is the callback of a message. A message that is not counted is not accepted, so the
// broker gets it back when the link ends.
func (c *consumer) deliver(on *conn, d *amqp.Delivery) {
	r := c.run
	c.mu.Lock() // no message may be counted and not accepted: see finish
	defer c.mu.Unlock()
	if r.over.Load() {
		return
	}
	now := r.now()
	s := readStamp(d)
	if !r.o.sends {
		var one [1]takt.Result
		one[0].BytesSent, one[0].BytesReceived = on.bytes()
		if r.sink.Received(one[:]) == 0 {
			return
		}
	}
	if r.tally.note(r, c.source.feed, &s, now, d.Header().Deliveries > 0) {
		r.meter.received.Add(1)
		r.time(&s, now)
	}
	if d.Settled() {
		return
	}
	if !c.waits {
		c.waits, c.first = true, d.ID()
	}
	c.last = d.ID()
	if r.o.Ack == ackEach && c.tx == nil {
		c.accept()
	}
}

// time records how long a message was in transit.
func (r *run) time(s *stamp, now time.Duration) {
	at := r.epoch + now
	if s.sent > 0 {
		r.meter.transfer.add(at-s.sent, now >= r.meter.warmup)
	}
	if s.due > 0 {
		measured := now >= r.meter.warmup
		if r.o.sends { // with operations the due instant decides about the warm-up
			measured = s.due >= (r.epoch + r.meter.warmup).Truncate(time.Microsecond)
		}
		r.meter.arrival.add(at-s.due, measured)
	}
}

func (c *consumer) accept() {
	if !c.waits {
		return
	}
	c.waits = false
	if err := c.rcv.Accept(c.first, c.last, nil); err != nil {
		c.conn.lostLink(err)
	}
}

// release grants credit.
func (c *consumer) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rcv.Release()
}

// burst accepts the messages of a burst.
func (c *consumer) burst() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.tx == nil:
		c.accept()
	case c.waits:
		c.waits = false
		c.tx.add(c.first, c.last)
	}
}

// idle reports whether no message is left to commit or, after lastCommit, no commit is under
// way.
func (c *consumer) idle() bool {
	tx := c.acceptances()
	return tx == nil || tx.idle()
}

// acceptances are the transactions on the current connection; nil: there are none.
func (c *consumer) acceptances() *acceptances {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tx
}

// lastCommit prevents further commits.
func (c *consumer) lastCommit() {
	if tx := c.acceptances(); tx != nil {
		tx.end()
	}
}

// acceptances are a consumer's transactions, one at a time.
type acceptances struct {
	c    *consumer
	on   *conn
	co   *amqp.Coordinator
	open atomic.Int64 // number of messages received and not committed

	mu          sync.Mutex
	current     *amqp.Transaction // nil: one transaction ends and the next begins
	waits       bool              // messages first to last were received and are in no transaction
	first, last uint32
	ended       bool // no commit follows the current one
}

func newAcceptances(ctx context.Context, c *consumer, on *conn, s *amqp.Session) (*acceptances, error) {
	co, err := coordinator(ctx, s, "--tx")
	if err != nil {
		return nil, err
	}
	a := &acceptances{c: c, on: on, co: co}
	a.current, err = co.Declare(ctx)
	return a, err
}

func (a *acceptances) add(first, last uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.waits {
		a.waits, a.first = true, first
	}
	a.last = last
	a.open.Add(int64(last-first) + 1)
	a.step()
}

// step commits the received messages, or the first of them; the caller holds the lock.
func (a *acceptances) step() {
	if a.current == nil || !a.waits || a.ended {
		return
	}
	to := a.last
	if a.c.run.o.Ack == ackEach {
		to = a.first
	}
	tx := a.current
	a.current = nil
	n := int64(to-a.first) + 1
	err := a.c.rcv.Accept(a.first, to, tx)
	if err == nil {
		err = a.co.StartDischarge(tx, true, func(o amqp.Outcome) {
			if o.Err != nil {
				a.on.lostLink(o.Err)
				return
			}
			a.open.Add(-n)
		})
	}
	if err == nil {
		err = a.co.StartDeclare(a.begin)
	}
	if err != nil {
		a.on.lostLink(fmt.Errorf("what was received cannot be committed: %w", err))
		return
	}
	a.waits = to != a.last
	a.first = to + 1
}

// begin continues with the next transaction; in the reader's goroutine.
func (a *acceptances) begin(tx *amqp.Transaction, err error) {
	if err != nil {
		a.on.lostLink(err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current = tx
	a.step()
}

func (a *acceptances) idle() bool {
	if a.on.Err() != nil {
		return true // the broker has them again
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current != nil && (!a.waits || a.ended)
}

func (a *acceptances) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}

// tally sorts arriving messages by run and stream.
type tally struct {
	mu          sync.Mutex
	onlyOwn     bool // only messages of this run count
	ledger      *ledger.Ledger[streamKey]
	runs        map[runID]uint64 // number received per run
	redelivered uint64
	skewed      uint64        // messages that arrived before they were sent: the clocks differ
	least       time.Duration // shortest transit time
}

// streamKey identifies a stream of messages numbered without gaps.
type streamKey struct {
	run          runID
	stream, feed int
}

// maxRuns limits the runs that a consumer counts separately.
const maxRuns = 100

func newTally(onlyOwn bool) tally {
	return tally{onlyOwn: onlyOwn, ledger: ledger.New[streamKey](onlyOwn), runs: map[runID]uint64{}, least: math.MaxInt64}
}

// note counts a message and reports whether it counts as received.
func (t *tally) note(r *run, feed int, s *stamp, now time.Duration, again bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if again {
		t.redelivered++
	}
	if !s.ours || t.onlyOwn && !s.of(r) {
		t.ledger.Foreign++
		if t.onlyOwn {
			return false
		}
	} else {
		t.ledger.Note(streamKey{s.run, s.stream, feed}, s.number)
	}
	if _, known := t.runs[s.run]; s.ours && (known || len(t.runs) < maxRuns) {
		t.runs[s.run]++
	}
	if s.sent > 0 {
		way := r.epoch + now - s.sent
		t.least = min(t.least, way)
		if way < 0 {
			t.skewed++
		}
	}
	return true
}

// have is the number of these messages of a stream that were received.
func (t *tally) have(stream streamKey, numbers []int64) (n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, number := range numbers {
		if t.ledger.Has(stream, uint64(number)) {
			n++
		}
	}
	return n
}

// missing calls each with the numbers below to of messages that were not received.
func (t *tally) missing(stream streamKey, to uint64, each func(uint64)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.Missing(stream, to, each)
}

// arrived is the number of different messages of this run that were received.
func (t *tally) arrived() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.Received
}
