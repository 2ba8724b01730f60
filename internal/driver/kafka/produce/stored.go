package produce

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// logEnds are the ends of the topic's partitions before the run. The growth since then is what
// brokers have, whatever they acknowledged.
type logEnds struct {
	at  map[int32]int64
	err error // reason why the ends are unknown
}

func (o *Options) findEnds(ctx context.Context, partitions []int32) *logEnds {
	at, err := o.ListOffsets(ctx, partitions, cluster.OffsetLatest, false)
	return &logEnds{at, err}
}

// gained is how many records the partitions have gained up to the ends now. missing is the
// least number of written records that are not among them: others may write, too.
func (e *logEnds) gained(written []uint64, now map[int32]int64) (gained, missing uint64) {
	for i, n := range written {
		p := int32(i)
		more := uint64(max(0, now[p]-e.at[p])) // a partition of a recreated topic begins at 0
		gained += more
		missing += n - min(n, more)
	}
	return gained, missing
}

// A broker stores records some time after they are written.
const (
	storedEvery = 20 * time.Millisecond // time between two requests for the ends
	storedTime  = time.Second           // time without growth after which missing records are given up
)

// stored is what the topic has of the written records.
type stored struct {
	written         uint64 // number of records that were written, or acknowledged, when takt began to ask
	gained, missing uint64 // numbers of records; see logEnds.gained
	err             error  // reason why the numbers are unknown
}

// Settle is takt.Driver.Settle: records that wait for a writer when the schedule ends count as
// sent so far, and those without acknowledgement that are not in the topic count as ok. Who reads
// what was written knows better than the ends of the partitions.
func (p *Run) Settle() (s takt.Settlement) {
	s.Unwritten = uint64(max(0, p.backlog.records.Load()))
	if n := p.stored.missing; n > 0 && p.oneWay && !p.received {
		s.Failed = takt.ErrorClass{
			Class: cluster.ClassNotStored, Count: n,
			Sample: "written without acknowledgement, and not in the topic at the end" + closings(p.traffic.Closed.Load()),
		}
	}
	return s
}

// describeStored compares the records with the growth of the topics.
func (r *Runs) describeStored(rep *takt.Report) {
	if r.list[0].await == nil {
		return
	}
	a := r.account()
	l := a.ledger(rep)
	rep.Ledger = l
	switch {
	case a.oneWay:
		a.describeOneWay(rep, l)
	case a.stored.err != nil:
		rep.Warn(warn.LedgerUnknown, "how many of the %d acknowledged records are in the topic is not known: the ends of its partitions cannot be found: %v", takt.Number("acknowledged", l.Acknowledged), a.stored.err)
	case l.Missing > 0:
		rep.Warn(warn.LedgerMissing, "the brokers acknowledged %d records, and the topic gained %d: at least %d acknowledged records are lost", takt.Number("acknowledged", l.Acknowledged), takt.Number("gained", a.stored.gained), takt.Number("missing", l.Missing))
	case l.Surplus > 0:
		rep.Warn(warn.LedgerSurplus, "the topic gained %d records, and %d were acknowledged here%s: %s",
			takt.Number("gained", a.stored.gained), takt.Number("acknowledged", l.Acknowledged), unsure(l.Uncertain), takt.Number("surplus", l.Surplus).As(a.origin(l)))
	}
}

// account is what is known of the records of all topics besides their answers.
type account struct {
	manner
	stored  stored
	copies  copies
	traffic *cluster.Traffic
}

func (r *Runs) account() account {
	a := account{manner: r.list[0].manner, traffic: r.traffic}
	for _, one := range r.list {
		a.stored.written += one.stored.written
		a.stored.gained += one.stored.gained
		a.stored.missing += one.stored.missing
		a.stored.err = cmp.Or(a.stored.err, one.stored.err)
		a.copies = a.copies.plus(one.meter.copies())
	}
	return a
}

// ledger is what the brokers say of the records.
func (a *account) ledger(rep *takt.Report) takt.Ledger {
	s, written := a.stored, a.stored.written // later acknowledgements may come from later records
	l := takt.Ledger{Source: "ends of the partitions", Acknowledged: written, Missing: s.missing}
	if a.oneWay {
		l.Acknowledged, l.Missing, l.Uncertain = 0, 0, written // missing ones have failed
	} else {
		l.Uncertain = a.copies.begun - min(a.copies.begun, written+a.copies.absent)
	}
	switch {
	case s.err != nil, takt.IsShard(rep.Schedule.Shard): // other shards write to the topic, too
	case a.transaction > 0: // each transaction also writes its marker
		l.Source, l.Stored = l.Source+", with the markers of transactions", &s.gained
	default:
		l.Stored, l.Surplus = &s.gained, s.gained-min(s.gained, l.Acknowledged+l.Uncertain)
	}
	return l
}

// origin says where the surplus of l is from. A library that fails a record begins again under another
// identity, so brokers may take what it sends again for new.
func (a *account) origin(l takt.Ledger) string {
	n := l.Surplus
	doubles := n
	if a.once && (!a.library || l.Uncertain == 0) {
		doubles = 0
	} else if !a.library {
		doubles = min(a.copies.doubles, n)
	}
	switch doubles {
	case 0:
		return fmt.Sprintf("another producer wrote %d to the topic during the run", n)
	case n:
		return fmt.Sprintf("%d are there twice, or another producer writes to the topic", n)
	}
	return fmt.Sprintf("another producer wrote at least %d to the topic during the run, and up to %d are there twice", n-doubles, doubles)
}

func unsure(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and perhaps %d more were written", n)
}

// describeOneWay describes records without acknowledgement.
func (a *account) describeOneWay(rep *takt.Report, l takt.Ledger) {
	if a.stored.err != nil {
		rep.Warn(warn.Stored, "how many of the %d records are in the topic is not known: nobody acknowledged them, and the ends of its partitions cannot be found: %v", takt.Number("written", l.Uncertain), a.stored.err)
	} else {
		rep.Extra["stored"] = a.stored.gained
	}
	switch closed := a.traffic.Closed.Load(); {
	case closed == 0:
	case a.stored.err == nil && a.stored.gained == l.Uncertain:
		rep.Warn(warn.ConnectionsClosed, "the brokers closed %s and stored all records, so they refused none: connections without traffic reach connections.max.idle.ms, or a broker restarted", takt.Number("connections", closed).As(connections(closed)))
	default:
		rep.Warn(warn.ConnectionsClosed, "the brokers closed %s: that is how they refuse records without acknowledgement, such as those that are too large; %s", takt.Number("connections", closed).As(connections(closed)), takt.Advice("use --required-acks local to see why"))
	}
	if l.Surplus > 0 {
		rep.Warn(warn.Stored, "the topic gained %d records, and %d were written here: others write to it, so refused records may not show", takt.Number("gained", a.stored.gained), takt.Number("written", l.Uncertain))
	}
}

func closings(n int64) string {
	if n == 0 {
		return ""
	}
	return "; the brokers closed " + connections(n)
}

func connections(n int64) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

func total(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}

// awaitStored polls the ends until all records are there, or there is no more growth.
func (o *Options) awaitStored(ctx context.Context, written []uint64) (s stored) {
	s.written = total(written)
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if s.err = o.before.err; s.err != nil {
		return s
	}
	partitions := make([]int32, len(written))
	for i := range partitions {
		partitions[i] = int32(i)
	}
	for last := time.Now(); ; {
		var now map[int32]int64
		if now, s.err = o.ListOffsets(ctx, partitions, cluster.OffsetLatest, false); s.err == nil {
			before := s.gained
			if s.gained, s.missing = o.before.gained(written, now); s.gained != before {
				last = time.Now()
			}
		}
		if s.err == nil && s.missing == 0 || time.Since(last) >= storedTime || ctx.Err() != nil {
			return s
		}
		pause.For(storedEvery, ctx.Done())
	}
}
