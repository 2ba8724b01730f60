package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Identity is the producer's id and epoch that brokers know. They number the records of each
// partition from 0 under it, and drop a batch that they have already.
type Identity struct {
	ID    int64
	Epoch int16
}

// nobody is the identity of a producer whose batches have no numbers.
var nobody = Identity{-1, -1}

// MostOpenNumbered is the largest Options.MaxOpen with identities: a broker remembers that many
// batches of a producer in each partition.
const MostOpenNumbered = 5

// numbering is the numbers of one partition's records.
type numbering struct {
	Identity
	begun   bool  // Identity is set: a new cluster's first one is the zero value
	next    int32 // number of the next new record
	written int32 // number after the last acknowledged record
	// gap: a batch ended without an acknowledgement, so a broker may miss its numbers, and
	// refuses what follows. New batches begin again at 0 under another identity, after each batch
	// with a number of this one has its result.
	gap bool
}

// number gives b numbers if it has none. It reports whether b may be sent now; the caller holds
// the lock.
func (p *Producer) number(b *Batch, r *route) bool {
	n := &r.numbers
	// If a batch before it began again, the broker does not have b: its number followed a gap.
	b.numbered = b.numbered && b.identity == n.Identity
	if p.opt.Identify == nil || b.numbered {
		return true
	}
	if n.gap {
		if r.onWay > 0 || !p.beginAgain(n) {
			return false
		}
	}
	if !n.begun {
		n.Identity, n.begun = p.identity, true
	}
	b.numbered, b.identity, b.first = true, n.Identity, n.next
	n.next = after(n.next + int32(b.Len()) - 1)
	return true
}

// beginAgain begins again at 0 under another identity. It reports whether there is one: look asks
// for it.
func (p *Producer) beginAgain(n *numbering) bool {
	if p.identity == n.Identity {
		p.spent = true
		return false
	}
	*n = numbering{Identity: p.identity, begun: true}
	return true
}

// renew asks for another identity if a partition needs one. Java's producer counts its epoch up
// instead, which not every broker accepts.
func (p *Producer) renew(ctx context.Context) error {
	p.mu.Lock()
	spent := p.spent
	p.mu.Unlock()
	if !spent {
		return nil
	}
	identity, err := p.opt.Identify(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.identity, p.spent = identity, false
	return nil
}

// acknowledge notes that a broker has b. The caller holds the lock.
func (p *Producer) acknowledge(b *Batch) {
	if n := &p.routes[b.Partition()].numbers; b.numbered && b.identity == n.Identity {
		n.written = after(b.first + int32(b.Len()) - 1)
	}
}

// abandon notes that b ended without an acknowledgement. The caller holds the lock.
func (p *Producer) abandon(b *Batch) {
	if b.numbered {
		p.routes[b.Partition()].numbers.gap = true
	}
}

// retries reports whether sending b again may succeed after err, and decides under which numbers.
// The caller holds the lock.
func (p *Producer) retries(b *Batch, err error) bool {
	n := &p.routes[b.Partition()].numbers
	switch {
	case !b.numbered || !isOutOfOrder(err):
		return passes(err)
	case n.gap || b.identity != n.Identity: // a batch before b is missing, so b is missing, too
		b.numbered = false
		return true
	case b.first != n.written: // a batch before it will come again
		return true
	case errors.Is(err, kerr.UnknownProducerID): // its records and its numbers are too old: begin again
		n.gap, b.numbered = true, false
		return true
	}
	return false // the broker lost records that it had acknowledged
}

// isOutOfOrder reports whether a broker refused a batch for its numbers: it does not have the batch.
func isOutOfOrder(err error) bool {
	return errors.Is(err, kerr.OutOfOrderSequenceNumber) || errors.Is(err, kerr.UnknownProducerID)
}
