package jms

import (
	"context"
	"errors"
	"fmt"

	"github.com/taktload/takt/internal/driver/jms/manage"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// ledgerSource is takt.Ledger.Source.
const ledgerSource = "counters of the queues"

// books is what a run knows of the messages of one queue.
type books struct {
	acked, uncertain uint64
	consumers        uint64 // of this process
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

// errAway is why two readings cannot be compared.
var errAway = errors.New("another broker answered than before the run")

// compare makes the ledger of two readings. arrived is the number of acknowledged messages that
// were received here; it counts only if the run receives.
func (r *run) compare(after *manage.Reading, all map[destination]books, arrived uint64) (takt.Ledger, error) {
	if after.Node != r.before.Node {
		return takt.Ledger{}, errAway
	}
	if after.Restarted(r.before) {
		return r.compareRestarted(after, all, arrived)
	}
	var l takt.Ledger
	var gained, delivered uint64
	for d, b := range all {
		was, is := r.before.Queues[d.name], after.Queues[d.name]
		if is.ID == "" || was.ID != "" && was.ID != is.ID || is.Added < was.Added {
			return takt.Ledger{}, fmt.Errorf("the queue %s was deleted during the run, or its counters began anew", d.name)
		}
		more, done := uint64(is.Added-was.Added), uint64(is.Delivered-min(was.Delivered, is.Delivered))
		gained += more
		delivered += done
		l.Expired += uint64(is.Expired - min(was.Expired, is.Expired))
		l.Dead += uint64(is.Dead - min(was.Dead, is.Dead))
		if after.Lags { // such a broker does not count why a message left its queue
			had, have := uint64(was.Depth)+more, uint64(is.Depth)+done
			l.Removed += had - min(had, have)
		}
		l.Missing += b.acked - min(b.acked, more)
		l.Surplus += more - min(more, b.acked+b.uncertain)
	}
	l.Stored, l.Delivered = &gained, &delivered
	return l, nil
}

// compareRestarted compares depths and what happened since the restart: the counters of the time
// before are lost.
func (r *run) compareRestarted(after *manage.Reading, all map[destination]books, arrived uint64) (takt.Ledger, error) {
	var l takt.Ledger
	var acked, uncertain, had, have uint64
	for d, b := range all {
		was, is := r.before.Queues[d.name], after.Queues[d.name]
		if uint64(max(was.Consumers, is.Consumers)) > b.consumers || !r.o.receives && is.Delivered > 0 {
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

// describeLedger compares the run's counts with the broker's. The consumers have their links
// still, so that their queues are there.
func (r *run) describeLedger(ctx context.Context, rep *takt.Report) {
	if r.slow && r.o.manager == nil {
		rep.Warn(warn.LedgerUnknown, "there is no ledger, because the counters of the queues before the run are not known: %v within %v", r.unread, askTime)
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
	if acknowledged := takt.Number("acknowledged", l.Acknowledged); err != nil {
		rep.Warn(warn.LedgerUnknown, "how many of the %d acknowledged messages are in the queues is not known: %v", acknowledged, err)
		return
	}
	warnOfLedger(rep, l, restarted)
}

// warnOfLedger names the differences.
func warnOfLedger(rep *takt.Report, l takt.Ledger, restarted bool) {
	acknowledged := takt.Number("acknowledged", l.Acknowledged)
	switch {
	case l.Missing > 0 && restarted:
		rep.Warn(warn.LedgerMissing, "the broker acknowledged %d messages and restarted: at least %d of them are neither in the queues nor were they received", acknowledged, takt.Number("missing", l.Missing))
	case l.Missing > 0:
		rep.Warn(warn.LedgerMissing, "the broker acknowledged %d messages: at least %d of them never reached the queues", acknowledged, takt.Number("missing", l.Missing))
	case l.Surplus > 0:
		rep.Warn(warn.LedgerSurplus, "the queues gained %d messages, and %d were acknowledged here: %d are there twice, or others send to the queues", takt.Number("gained", *l.Stored), acknowledged, takt.Number("surplus", l.Surplus))
	}
	if l.Expired > 0 {
		rep.Warn(warn.LedgerExpired, "%d messages expired in the queues: they waited longer than --ttl or the broker's expiry-delay allows", takt.Number("expired", l.Expired))
	}
	if l.Removed > 0 {
		rep.Warn(warn.LedgerRemoved, "%d messages left the queues and no consumer acknowledged them: they expired, were rejected or purged, or a queue was full", takt.Number("removed", l.Removed))
	}
	if l.Dead > 0 {
		rep.Warn(warn.LedgerDead, "the broker gave up %d messages, which go to the dead-letter address if there is one: no consumer accepted them in max-delivery-attempts", takt.Number("dead", l.Dead))
	}
}

// awaitCounted reads the counters until nothing is missing and what was received here counts as
// delivered, or no later reading can differ. Counters that lag must not show any other difference
// either.
func (r *run) awaitCounted(ctx context.Context, all map[destination]books) (l takt.Ledger, restarted bool, err error) {
	ctx, cancel := r.o.askFor(ctx)
	defer cancel()
	for w := newWaiting(); ; {
		after, err := r.read(ctx)
		if err != nil {
			return l, false, because(ctx, err)
		}
		l, err = r.compare(after, all, r.arrived())
		late := l.Missing > 0 || l.Delivered != nil && r.o.receives && *l.Delivered < r.meter.received.Load()
		settled := err != nil || !late
		if after.Lags {
			settled = err == nil && !late && l.Balanced()
		}
		if last := w.last(after); settled || last || !w.pause(ctx) {
			if after.Lags && !settled && !last {
				err = context.Cause(ctx)
			}
			return l, after.Restarted(r.before), err
		}
	}
}

// because is the reason for the end of ctx if it has ended, else err.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
