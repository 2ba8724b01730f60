package jms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/pkg/takt"
)

// ledgerSource is takt.Ledger.Source.
const ledgerSource = "counters of the queues"

// books is what a run knows of the messages of one queue.
type books struct {
	acked, uncertain uint64
	consumers        count // of this process
}

// books are the run's counts of each queue so far.
func (r *run) books() map[destination]books {
	all := map[destination]books{}
	for _, p := range r.producers {
		b := all[p.dest]
		acked := p.acked.Load()
		p.mu.Lock()
		sent := uint64(p.number)
		p.mu.Unlock()
		b.acked += acked
		b.uncertain += sent - min(sent, acked+p.refused.Load())
		all[p.dest] = b
	}
	for _, c := range r.consumers {
		b := all[c.source.dest]
		b.consumers++
		all[c.source.dest] = b
	}
	return all
}

// restarted reports whether a broker's counters began anew between two readings.
func (a *reading) restarted(since *reading) bool {
	return a.addr != since.addr || a.uptime < a.at.Sub(since.at)
}

// errAway is why two readings cannot be compared.
var errAway = errors.New("another broker answered than before the run")

// compare makes the ledger of two readings. arrived is the number of acknowledged messages that
// were received here; it counts only if the run receives.
func (r *run) compare(after *reading, all map[destination]books, arrived uint64) (takt.Ledger, error) {
	if after.node != r.before.node {
		return takt.Ledger{}, errAway
	}
	if after.restarted(r.before) {
		return r.compareRestarted(after, all, arrived)
	}
	var l takt.Ledger
	var gained, delivered uint64
	for d, b := range all {
		was, is := r.before.queues[d], after.queues[d]
		if is.ID == "" || was.ID != "" && was.ID != is.ID || is.Added < was.Added {
			return takt.Ledger{}, fmt.Errorf("the queue %s was deleted during the run", d.name)
		}
		more := uint64(is.Added - was.Added)
		gained += more
		delivered += uint64(is.Delivered - min(was.Delivered, is.Delivered))
		l.Expired += uint64(is.Expired - min(was.Expired, is.Expired))
		l.Dead += uint64(is.Dead - min(was.Dead, is.Dead))
		l.Missing += b.acked - min(b.acked, more)
		l.Surplus += more - min(more, b.acked+b.uncertain)
	}
	l.Stored, l.Delivered = &gained, &delivered
	return l, nil
}

// compareRestarted compares depths and what happened since the restart: the counters of the time
// before are lost.
func (r *run) compareRestarted(after *reading, all map[destination]books, arrived uint64) (takt.Ledger, error) {
	var l takt.Ledger
	var acked, uncertain, had, have uint64
	for d, b := range all {
		was, is := r.before.queues[d], after.queues[d]
		if was.Consumers > b.consumers || is.Consumers > b.consumers || !r.o.receives && is.Delivered > 0 {
			return takt.Ledger{}, errors.New("the broker restarted, and others received from the queues")
		}
		acked, uncertain = acked+b.acked, uncertain+b.uncertain
		had, have = had+uint64(was.Depth), have+uint64(is.Depth+is.Expired+is.Dead)
		l.Expired += uint64(is.Expired)
		l.Dead += uint64(is.Dead)
	}
	if r.o.receives {
		l.Missing = acked - min(acked, arrived+have)
		return l, nil
	}
	l.Missing = acked - min(acked, have) // messages of others may hide some
	gained := have - min(have, had)
	if gained+l.Missing >= acked {
		l.Stored, l.Surplus = &gained, gained-min(gained, acked+uncertain)
	}
	return l, nil
}

// A queue's counters may lag behind its acknowledgements.
const (
	countedEvery = 20 * time.Millisecond // time between two readings
	countedTime  = time.Second           // time after which missing messages are given up
)

// describeLedger compares the run's counts with the broker's. The consumers have their links
// still, so that their queues are there.
func (r *run) describeLedger(ctx context.Context, rep *takt.Report) {
	if r.slow {
		rep.Warn("ledger_unknown", "there is no ledger, because the counters of the queues before the run are not known: %v within %v", r.unread, askTime)
	}
	if r.before == nil {
		if r.unread != nil {
			rep.Extra["ledger_unknown"] = r.unread.Error()
		}
		return
	}
	all := r.books() // later acknowledgements may be of messages that the broker counts later
	l, restarted, err := r.awaitCounted(ctx, all)
	l.Source = ledgerSource
	for _, b := range all {
		l.Acknowledged += b.acked
		l.Uncertain += b.uncertain
	}
	if r.o.window.shard { // others send to the queues, too
		l.Stored, l.Delivered, l.Surplus = nil, nil, 0
	}
	rep.Ledger = l
	if err != nil {
		rep.Warn("ledger_unknown", "how many of the %d acknowledged messages are in the queues is not known: %v", l.Acknowledged, err)
		return
	}
	warnOfLedger(rep, l, restarted)
}

// warnOfLedger names the differences.
func warnOfLedger(rep *takt.Report, l takt.Ledger, restarted bool) {
	switch {
	case l.Missing > 0 && restarted:
		rep.Warn("ledger_missing", "the broker acknowledged %d messages and restarted: at least %d of them are neither in the queues nor were they received", l.Acknowledged, l.Missing)
	case l.Missing > 0:
		rep.Warn("ledger_missing", "the broker acknowledged %d messages: at least %d of them never reached the queues", l.Acknowledged, l.Missing)
	case l.Surplus > 0:
		rep.Warn("ledger_surplus", "the queues gained %d messages, and %d were acknowledged here: %d are there twice, or others send to the queues", *l.Stored, l.Acknowledged, l.Surplus)
	}
	if l.Expired > 0 {
		rep.Warn("ledger_expired", "%d messages expired in the queues: they waited longer than --ttl or the broker's expiry-delay allows", l.Expired)
	}
	if l.Dead > 0 {
		rep.Warn("ledger_dead", "the broker gave up %d messages, which go to the dead-letter address if there is one: no consumer accepted them in max-delivery-attempts", l.Dead)
	}
}

// awaitCounted reads the counters until nothing is missing and what was received here counts as
// delivered, or some time is over.
func (r *run) awaitCounted(ctx context.Context, all map[destination]books) (l takt.Ledger, restarted bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, errors.New("the broker does not answer"))
	defer cancel()
	for until := time.Now().Add(countedTime); ; {
		after, err := r.read(ctx)
		if err != nil {
			return l, false, err
		}
		if l, err = r.compare(after, all, r.arrived()); err != nil {
			return l, false, err
		}
		late := l.Delivered != nil && r.o.receives && *l.Delivered < r.meter.received.Load()
		if l.Missing == 0 && !late || !time.Now().Before(until) || !amqp.Pause(ctx, countedEvery) {
			return l, after.restarted(r.before), nil
		}
	}
}
