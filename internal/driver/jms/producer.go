package jms

import (
	"errors"
	"sync"
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
)

// producer sends to one destination. Its messages are numbered in the order of sending.
type producer struct {
	run    *run
	conn   *conn
	snd    *amqp.Sender
	tpl    *amqp.Template
	at     slots
	copies uint64 // number of copies of each message for consumers of this process

	mu      sync.Mutex
	most    int // largest number of pending messages
	pending int
	number  int64
	flight  []flight // pending messages by amqp's token
	unused  []uint32
	tx      *transactions // nil: no transactions
}

// flight is a message without an outcome.
type flight struct {
	token uint64 // token of the engine's operation
	sent  time.Duration
}

// errFull: the producer has its largest number of pending messages.
var errFull = errors.New("the producer has as many messages pending as it may")

// start sends the message of op through the next producer with room.
func (r *run) start(op *takt.Op) error {
	now, dry := r.now(), 0
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
	}
	r.flushDirty()
	return takt.ErrBusy
}

func (r *run) sent(p *producer, op *takt.Op, now time.Duration) {
	r.credit.end(now)
	p.conn.dirty = true
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
	for _, c := range r.conns {
		if c.dirty {
			c.dirty = false
			c.Flush()
		}
	}
}

// send buffers a message in the connection.
func (p *producer) send(op *takt.Op, now time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending >= p.most || p.tx != nil && !p.tx.takes() {
		return errFull
	}
	r := p.run
	micros := func(at time.Duration) int64 { return int64((r.epoch + at) / time.Microsecond) }
	p.tpl.Set(p.at.time, micros(now))
	p.tpl.Set(p.at.due, micros(op.Due))
	p.tpl.Set(p.at.number, p.number)
	p.tpl.Number(uint64(p.number))
	if r.o.EnableTimestamp || r.o.TTL > 0 {
		ms := micros(now) / 1000
		p.tpl.Set(p.tpl.Created, ms)
		p.tpl.Set(p.tpl.Expiry, ms+int64(r.o.TTL))
	}
	i := p.slot(flight{op.Token, now})
	if err := p.snd.Send(p.tpl, r.body, uint64(i)); err != nil {
		p.unused = append(p.unused, i)
		return err
	}
	r.open.Add(1)
	p.number++
	p.pending++
	if p.tx != nil {
		p.tx.sent++
	}
	return nil
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
func (p *producer) settled(token uint64, o amqp.Outcome) {
	p.mu.Lock()
	f := p.flight[token]
	p.unused = append(p.unused, uint32(token))
	p.pending--
	if p.tx != nil {
		p.tx.settled(f.token, o.Err)
	}
	p.mu.Unlock()
	if o.Err == nil {
		p.conn.acks = append(p.conn.acks, f.sent)
	}
	if p.tx != nil {
		p.run.wake() // there is room although no operation ended
		return
	}
	p.end(f.token, o.Err, classOf(o.State))
}

// end ends an operation; in the reader's goroutine.
func (p *producer) end(token uint64, err error, class string) {
	if err == nil {
		p.conn.good = append(p.conn.good, token)
		p.run.expected.Add(p.copies)
		return
	}
	p.run.open.Add(-1)
	p.run.sink.Done(token, &takt.Result{Class: class, Err: err})
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
	return classConnection
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
func (p *producer) detached(err error) {
	if p.tx != nil {
		p.mu.Lock()
		rest := p.tx.abandon()
		p.mu.Unlock()
		for _, token := range rest {
			p.end(token, err, classTransaction)
		}
	}
	p.run.lostLink(err)
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
