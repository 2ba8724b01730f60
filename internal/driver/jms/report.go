package jms

import (
	"context"
	"math"
	"strings"
	"time"

	people "github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Names of the driver's latencies.
const (
	latencyTransfer     = "transfer"      // from due to received
	latencyTransferSent = "transfer_sent" // from sent to received
)

// Latencies names the driver's latencies.
func Latencies() []string { return []string{latencyTransfer, latencyTransferSent} }

// Start points of the transfer latency.
const (
	fromDue  = "due"
	fromSent = "sent"
)

// finish implements takt.Driver.Finish: it ends the links and adds the driver's part of the
// report.
func (r *run) finish(ctx context.Context, rep *takt.Report) error {
	r.over.Store(true)
	for _, c := range r.consumers {
		c.burst()
		c.line.conn().Flush()
	}
	r.settle(ctx)
	r.describeOutages(rep)
	r.describeLedger(ctx, rep)
	for _, fault := range r.disconnect(ctx) {
		rep.Warn(warn.Subscription, "%v; %s", fault, takt.Advice("remove it by hand"))
	}
	r.rest(rep)
	rep.Extra["run"] = r.id.String()
	c := r.meter.counts()
	if r.o.sends {
		rep.Extra["completed"], rep.Extra["blocked"] = c.completed, c.blocked
		r.describeCredit(rep)
		r.describeBound(rep)
	}
	if r.o.receives {
		r.describeReceipt(rep, c)
	}
	if names := r.ignored(); len(names) > 0 {
		rep.Warn(warn.URLOptions, "options of the URL that only CORE knows were ignored: %s", strings.Join(names, ", "))
	}
	if err := r.why(); err != nil {
		if r.o.sends { // otherwise the engine warns
			rep.Warn(warn.BrokeOff, "the run ended before its time: %v", err)
		}
		r.o.follower.fail()
	}
	return nil
}

// rest adds bytes after the last operation.
func (r *run) rest(rep *takt.Report) {
	rep.Bytes.Sent += r.wireSent.Swap(0)
	rep.Bytes.Received += r.wireReceived.Swap(0)
	for _, l := range r.lines {
		sent, received := l.conn().bytes() // the reader has ended
		rep.Bytes.Sent += sent
		rep.Bytes.Received += received
	}
}

// describeOutages reports the times without a broker. Afterwards no message is sent again.
func (r *run) describeOutages(rep *takt.Report) {
	r.halt()
	r.outages.Describe(rep, r.o.sends && r.o.receives && r.attributeLost())
}

// settle waits until received messages are committed. If that takes too long, it waits only
// for the current commits, so that each message's state is known.
func (r *run) settle(ctx context.Context) {
	r.awaitCommits(ctx)
	for _, c := range r.consumers {
		c.lastCommit()
	}
	r.awaitCommits(ctx)
}

func (r *run) awaitCommits(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for !r.committed() {
		select {
		case <-r.moved:
		case <-r.broke:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) fail() {
	if f != nil {
		f.failed = true
	}
}

// ignored are the ignored options of both URLs.
func (r *run) ignored() []string {
	list := r.o.Broker.broker.ignored
	if r.o.receives && r.o.ConsumerURL != "" {
		list = append(list[:len(list):len(list)], r.o.Consume.broker.ignored...)
	}
	return list
}

// describeCredit warns of the time without credit from the broker.
func (r *run) describeCredit(rep *takt.Report) {
	r.credit.end(r.now())
	if r.credit.spells == 0 {
		return
	}
	rep.Extra["no_credit"] = map[string]any{"spells": r.credit.spells, "total_s": r.credit.total.Seconds()}
	if r.credit.total > time.Second/10 {
		rep.Warn(warn.NoCredit, "the broker gave no credit %s, for %.3f s in all: it took no messages then, and they waited for it",
			takt.Number("spells", r.credit.spells).As(people.Plural(r.credit.spells, "time")), takt.Seconds("total", r.credit.total.Seconds()))
	}
}

// describeReceipt reports the received messages.
func (r *run) describeReceipt(rep *takt.Report, c counts) {
	expected, arrived := r.expected.Load(), r.arrived()
	t := &r.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.Describe(rep.Extra)
	rep.Extra["redelivered"] = t.redelivered
	r.describeTransfer(rep)
	r.describeOpen(rep)
	if r.o.sends {
		r.describeBacklog(rep)
		rep.Extra["received"] = c.received
		lost := expected - min(expected, arrived)
		rep.Extra["lost"] = lost
		if lost > 0 {
			rep.Warn(warn.Lost, "%d messages were acknowledged and not received by the end of the %s", takt.Number("lost", lost), r.lossEnd())
		}
		return
	}
	runs := map[string]uint64{}
	for id, n := range t.runs {
		runs[id.String()] = n
	}
	rep.Extra["runs"] = runs
	t.describeSkew(rep)
}

// lossEnd says when a message counts as lost, and what may help.
func (r *run) lossEnd() string {
	if r.why() != nil {
		return "run, which broke off; the broker may have them"
	}
	return "drain; --drain makes it longer, and a message with a --ttl may have expired"
}

func (r *run) describeTransfer(rep *takt.Report) {
	due, sent := r.meter.arrival.total, r.meter.transfer.total
	switch {
	case due.Count() > 0:
		rep.Extra["transfer_from"] = fromDue
		rep.Latency[latencyTransfer], rep.Latency[latencyTransferSent] = due.Summary(), sent.Summary()
	case sent.Count() > 0:
		rep.Extra["transfer_from"] = fromSent
		rep.Latency[latencyTransfer] = sent.Summary()
	}
}

// describeSkew reports the shortest transit time, and warns of differing clocks if messages
// arrived before they were sent.
func (t *tally) describeSkew(rep *takt.Report) {
	if t.least == math.MaxInt64 {
		return
	}
	rep.Extra["clock_skew_max_us"] = hist.Micros(t.least)
	if t.skewed > 0 {
		rep.Warn(warn.ClockSkew, "%d messages arrived before they were sent: this clock is behind the sender's by at least %s, and transfer times are too short by as much",
			takt.Number("messages", t.skewed), people.Time("skew_least", -t.least))
	}
}
