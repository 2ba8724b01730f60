package jms

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/outage"
)

// The names of Produce.InDoubt: what becomes of a message that was sent and had no answer when the
// connection was lost.
const (
	doubtRetry = "retry"
	doubtFail  = "fail"
)

// doubts are a producer's messages in doubt. The producer's lock guards them.
type doubts struct {
	down   bool     // no connection, or the links are not made again
	given  bool     // nobody makes the links again
	places []uint32 // messages to send again, before any other
	failed []int64  // numbers of failed messages, the first maxFailed
	marks  []mark   // one for each new connection
}

// mark is the number of the next message when the links were made again.
type mark struct {
	number int64
	at     time.Duration
}

// wait reports whether other messages must wait.
func (d *doubts) wait() bool { return d.down || len(d.places) > 0 }

// keep keeps a message in doubt to send it again, and reports whether it did; under mu.
func (p *producer) keep(on *conn, i uint32, o amqp.Outcome) bool {
	d := &p.doubts
	if o.State != amqp.Lost || errors.Is(o.Err, amqp.ErrClosed) || p.run.o.InDoubt != doubtRetry || d.given || on.Err() == nil && !forced(o.Err) {
		return false
	}
	d.down = true
	d.places = append(d.places, i)
	p.flight[i].doubted = true
	return true
}

// resend sends messages in doubt again, in their order, as far as the broker gives credit; later
// calls send the rest. The links are made.
func (p *producer) resend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &p.doubts
	d.down = false
	if len(d.marks) < maxMarks {
		d.marks = append(d.marks, mark{p.number, p.run.now()})
	}
	slices.SortFunc(d.places, func(a, b uint32) int { return cmp.Compare(p.flight[a].number, p.flight[b].number) })
	p.resendSome()
}

// maxMarks limits the memory for a connection that breaks all the time.
const maxMarks = 1000

// countRetried counts the messages that resend will send, each once for an outage.
func (p *producer) countRetried() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, spells := 0, p.line.part.Spells()
	for _, i := range p.doubts.places {
		if f := &p.flight[i]; f.counted != spells {
			f.counted = spells
			n++
		}
	}
	p.line.part.Retried(n)
}

// resendSome sends messages in doubt again; under mu.
func (p *producer) resendSome() {
	d := &p.doubts
	n := 0
	for n < len(d.places) && p.write(d.places[n], &p.flight[d.places[n]]) == nil {
		n++
	}
	d.places = slices.Delete(d.places, 0, n)
	if n > 0 {
		p.conn.Flush()
	}
}

// credited is the callback of credit.
func (p *producer) credited(on *conn) {
	p.mu.Lock()
	if !p.doubts.down && p.conn == on && len(p.doubts.places) > 0 {
		p.resendSome()
	}
	p.mu.Unlock()
	p.run.wake()
}

// giveUp fails the messages in doubt: nobody will send them again.
func (p *producer) giveUp() {
	p.mu.Lock()
	d := &p.doubts
	d.given = true
	if p.run.why() == nil { // the run is over, and has counted them as unfinished
		p.mu.Unlock()
		return
	}
	var list []flight
	for _, i := range d.places {
		list = append(list, p.free(i))
	}
	d.places = nil
	p.mu.Unlock()
	err := p.run.why()
	for i := range list {
		p.failed(&list[i], err, classInDoubt)
	}
}

// maxFailed limits the memory for numbers of failed messages of a producer.
const maxFailed = 1 << 16

// noteFailed notes the number of a failed message, which may arrive nevertheless.
func (p *producer) noteFailed(number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.doubts.failed) < maxFailed {
		p.doubts.failed = append(p.doubts.failed, number)
	}
}

// unacknowledged are the numbers of messages without an acknowledgement.
func (p *producer) unacknowledged() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Clone(p.doubts.failed)
	for i := range p.flight {
		if p.flight[i].open {
			list = append(list, p.flight[i].number)
		}
	}
	return list
}

// feeds are the queues and subscriptions of this process to which a destination's messages go.
func (r *run) feeds(d destination) (list []int) {
	for _, c := range r.consumers {
		if c.source.dest == d && !slices.Contains(list, c.source.feed) {
			list = append(list, c.source.feed)
		}
	}
	return list
}

// arrived is the number of acknowledged messages that arrived. Messages in doubt may have arrived
// too, and nobody expects them.
func (r *run) arrived() uint64 {
	n := r.tally.arrived()
	if n < r.expected.Load() {
		return n
	}
	for _, p := range r.producers {
		numbers := p.unacknowledged()
		if len(numbers) == 0 {
			continue
		}
		for _, feed := range r.feeds(p.dest) {
			n -= r.tally.have(streamKey{r.id, p.stream, feed}, numbers)
		}
	}
	return n
}

// attributeLost tells the outages of the messages that were acknowledged and did not arrive. It
// reports false if too many messages failed to know them.
func (r *run) attributeLost() bool {
	for _, p := range r.producers {
		unknown := map[int64]bool{}
		for _, n := range p.unacknowledged() {
			unknown[n] = true
		}
		if len(unknown) >= maxFailed {
			return false
		}
		for _, feed := range r.feeds(p.dest) {
			r.tally.missing(streamKey{r.id, p.stream, feed}, uint64(p.number), func(number uint64) {
				if !unknown[int64(number)] {
					p.line.part.Missing(p.before(int64(number)), 1)
				}
			})
		}
	}
	return true
}

// before is an instant at which a message with this number had been sent: the next new connection,
// or now.
func (p *producer) before(number int64) time.Duration {
	for _, m := range p.doubts.marks {
		if number < m.number {
			return m.at
		}
	}
	return p.run.now()
}

// overtakes reports whether several consumers read one queue or subscription.
func (o *Options) overtakes() bool {
	list, _ := o.sources()
	feeds := map[int]bool{}
	for _, s := range list {
		feeds[s.feed] = true
	}
	return o.receives && len(feeds) < len(list)
}

// arrivals returns what counts doubled and reordered messages; nil if nobody receives.
func (r *run) arrivals() func() outage.Arrivals {
	if !r.o.receives {
		return nil
	}
	return func() outage.Arrivals {
		r.tally.mu.Lock()
		defer r.tally.mu.Unlock()
		return outage.Arrivals{Doubled: r.tally.ledger.Duplicate, Reordered: r.tally.ledger.Reordered}
	}
}
