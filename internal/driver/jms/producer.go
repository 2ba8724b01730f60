package jms

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/pkg/takt"
)

// The classes of failed messages; docs/jms.md explains them.
const (
	classRejected    = "rejected"
	classReleased    = "released"
	classModified    = "modified"
	classConnection  = "connection"
	classTransaction = "transaction"
	classTooLarge    = "too_large"
	classInDoubt     = "in_doubt"
)

// producer sends to one destination. Its messages are numbered in the order of sending.
type producer struct {
	run     *run
	line    *line
	dest    destination
	stream  int
	acked   atomic.Uint64 // number of acknowledged messages
	refused atomic.Uint64 // number of messages that the broker certainly does not have
	copies  uint64        // number of copies of each message for consumers of this process
	most    int           // largest number of pending messages

	mu      sync.Mutex
	conn    *conn
	snd     *amqp.Sender
	tpl     *amqp.Template
	at      slots
	pending int
	number  int64
	flight  []flight // pending messages by amqp's token
	unused  []uint32
	tx      *transactions // nil: no transactions
	doubts  doubts
}

// flight is a message without an outcome.
type flight struct {
	token   uint64 // token of the engine's operation
	number  int64
	due     time.Duration
	sent    time.Duration // first time
	open    bool
	counted int  // outage in which the message was counted as sent again, from 1; 0: none
	doubted bool // the broker may have it, whatever it says of the next try
}

// Errors of send if a later call may succeed.
var (
	errFull = errors.New("the producer has as many messages pending as it may")
	errDown = errors.New("the producer has no connection")
)

// start sends the message of op through the next producer with room.
func (r *run) start(op *takt.Op) error {
	now, dry, down := r.now(), 0, 0
	for range r.producers {
		p := r.producers[r.next]
		if r.next++; r.next == len(r.producers) {
			r.next = 0
		}
		err := p.send(op, now)
		switch {
		case err == nil:
			r.sent(p, op, now)
			return nil
		case errors.Is(err, amqp.ErrNoCredit):
			dry++
		case errors.Is(err, errDown):
			down++
		case !errors.Is(err, amqp.ErrBusy) && !errors.Is(err, errFull):
			r.sink.Done(op.Token, &takt.Result{Class: classify(err), Err: err})
			r.fail(err)
			return nil
		}
	}
	if err := r.why(); err != nil { // the run is over: there will be no room
		r.sink.Done(op.Token, &takt.Result{Class: classConnection, Err: err})
		return nil
	}
	if dry > 0 {
		r.credit.begin(now)
	} else if down > 0 {
		r.credit.end(now) // the broker is away, and grants nothing to anybody
	}
	r.flushDirty()
	return takt.ErrBusy
}

func (r *run) sent(p *producer, op *takt.Op, now time.Duration) {
	r.credit.end(now)
	p.line.dirty = true
	r.meter.sent.Add(1)
	if r.o.window.rated {
		r.meter.delay.add(now-op.Due, now >= r.meter.warmup)
	}
}

// pause flushes started messages.
func (r *run) pause(full bool) {
	if full {
		r.meter.blocked.Add(1)
	}
	r.flushDirty()
}

func (r *run) flushDirty() {
	for _, l := range r.lines {
		if l.dirty {
			l.flush()
		}
	}
}

// send buffers a message in the connection.
func (p *producer) send(op *takt.Op, now time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.doubts.wait():
		return errDown
	case p.pending >= p.most || p.tx != nil && !p.tx.takes():
		return errFull
	}
	f := flight{token: op.Token, number: p.number, due: op.Due, sent: now, open: true}
	i := p.slot(f)
	if err := p.write(i, &f); err != nil {
		p.flight[i].open = false
		p.unused = append(p.unused, i)
		if !errors.Is(err, amqp.ErrTooLarge) && (p.conn.Err() != nil || forced(err)) {
			return errDown
		}
		return err
	}
	p.run.open.Add(1)
	p.number++
	p.pending++
	if p.tx != nil {
		p.tx.sent++
	}
	return nil
}

// write buffers the message of f, whose place is i; under mu.
func (p *producer) write(i uint32, f *flight) error {
	r := p.run
	micros := func(at time.Duration) int64 { return int64((r.epoch + at) / time.Microsecond) }
	p.tpl.Set(p.at.time, micros(f.sent))
	p.tpl.Set(p.at.due, micros(f.due))
	p.tpl.Set(p.at.number, f.number)
	p.tpl.Number(uint64(f.number))
	if r.o.EnableTimestamp || r.o.TTL > 0 {
		ms := micros(f.sent) / 1000
		p.tpl.Set(p.tpl.Created, ms)
		p.tpl.Set(p.tpl.Expiry, ms+int64(r.o.TTL))
	}
	return p.snd.Send(p.tpl, r.body, uint64(i))
}

func (p *producer) slot(f flight) uint32 {
	if n := len(p.unused); n > 0 {
		i := p.unused[n-1]
		p.unused = p.unused[:n-1]
		p.flight[i] = f
		return i
	}
	p.flight = append(p.flight, f)
	return uint32(len(p.flight) - 1)
}

// settled is the callback of an outcome.
func (p *producer) settled(on *conn, token uint64, o amqp.Outcome) {
	i := uint32(token)
	if o.State == amqp.Lost {
		on.lost(o.Err)
	}
	p.mu.Lock()
	if p.tx == nil && p.keep(on, i, o) {
		p.mu.Unlock()
		return
	}
	f := p.free(i)
	if p.tx != nil {
		p.tx.settled(&f, o.Err)
	} else if !p.doubts.down && len(p.doubts.places) > 0 {
		p.resendSome()
	}
	p.mu.Unlock()
	if o.Err == nil {
		on.acks = append(on.acks, f.sent)
	}
	if p.tx != nil {
		p.run.wake() // there is room although no operation ended
		return
	}
	p.end(on, &f, o.Err, classOf(o.State))
}

// free removes a message from its place; under mu.
func (p *producer) free(i uint32) flight {
	f := p.flight[i]
	p.flight[i].open = false
	p.unused = append(p.unused, i)
	p.pending--
	return f
}

// end ends an operation; in the goroutine of the reader of on.
func (p *producer) end(on *conn, f *flight, err error, class string) {
	if err == nil {
		p.acked.Add(1)
		on.good = append(on.good, f.token)
		if !p.run.over.Load() { // the operation is unfinished by now, and nobody waits for its message
			p.run.expected.Add(p.copies)
		}
		return
	}
	p.failed(f, err, class)
}

// failed ends an operation that failed.
func (p *producer) failed(f *flight, err error, class string) {
	if class == classInDoubt || class == classTransaction {
		p.line.part.Failed(1) // if it is out
	}
	p.noteFailed(f.number)
	if class != classInDoubt && !f.doubted {
		p.refused.Add(1)
	}
	p.run.open.Add(-1)
	p.run.sink.Done(f.token, &takt.Result{Class: class, Err: err})
}

func classOf(s amqp.State) string {
	switch s {
	case amqp.Rejected:
		return classRejected
	case amqp.Released:
		return classReleased
	case amqp.Modified:
		return classModified
	}
	return classInDoubt
}

// classify is the class of a lasting error of Send: the message is too large, or its
// link, session or connection is over.
func classify(err error) string {
	if errors.Is(err, amqp.ErrTooLarge) {
		return classTooLarge
	}
	return classConnection
}

// detached is called when the link ends. The broker then rolls back open transactions.
func (p *producer) detached(on *conn, err error) {
	on.lost(err)
	p.mu.Lock()
	p.doubts.down = true
	var rest []flight
	if p.tx != nil {
		rest = p.tx.abandon()
	}
	p.mu.Unlock()
	for i := range rest {
		p.end(on, &rest[i], err, classTransaction)
	}
	on.lostLink(err)
}

// flush commits the open transaction; the schedule has ended.
func (p *producer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tx != nil {
		p.tx.flushing = true
		p.tx.step()
	}
}
