package produce

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Runs is the load of one run: a Run for each topic, each with its own workers, so that batches and
// connections of a topic never wait for those of another.
type Runs struct {
	list     []*Run
	names    []string // topics of list
	rule     mix
	parts    [][]takt.Op // operations by topic; only for the pacer
	one      [1]takt.Op  // operation of startRecorded; only for the pacer
	log      *outage.Log
	graphite *graphite // nil: no Graphite
	traffic  *cluster.Traffic
}

// mix chooses the topic of an operation. The choice depends on the operation's number and the seed
// alone, so shards together send what one machine would.
type mix struct {
	chance payload.Chance
	upTo   []uint64 // sums of the weights, up to and with each topic
}

func newMix(topics []cluster.Topic, seed uint64) mix {
	m, sum := mix{chance: payload.NewChance(seed, "topics")}, uint64(0)
	for _, t := range topics {
		sum += uint64(t.Weight)
		m.upTo = append(m.upTo, sum)
	}
	return m
}

// of is the topic of operation seq.
func (m *mix) of(seq uint64) int {
	at := m.chance.At(seq) % m.upTo[len(m.upTo)-1] // the sum of weights is below 2²⁷, so the bias is too
	i, _ := slices.BinarySearch(m.upTo, at+1)
	return i
}

// topics are the options of each topic.
func (o *Options) topics() (list []*Options) {
	if len(o.Topics) == 0 {
		return []*Options{o}
	}
	for i, name := range o.Names() {
		one := *o
		one.Cluster, one.firstStream = *o.Of(name), i*o.Workers*o.Writers
		list = append(list, &one)
	}
	return list
}

// Start connects all workers. received: an operation ends with its receipt, not with its
// acknowledgement.
func (o *Options) Start(sink takt.Sink, received bool) (*Runs, error) {
	r := &Runs{log: &outage.Log{}, traffic: o.Traffic, rule: newMix(o.Topics, o.seed)}
	var meters []*meter
	for _, one := range o.each {
		p := one.newRun(sink, received, r.log)
		r.log.Held = o.Traffic.HeldSince(p.start)
		if len(o.each) > 1 {
			p.outages.topic = one.Topic
		}
		p.outages.grow(one.Partitions)
		r.list, r.names, meters = append(r.list, p), append(r.names, one.Topic), append(meters, p.meter)
	}
	r.parts = make([][]takt.Op, len(r.list))
	o.narrator.follow(meters...)
	r.graphite = o.Graphite.start(meters, time.Duration(o.Interval)*time.Second)
	for i, p := range r.list {
		if err := o.each[i].connect(p); err != nil {
			_ = r.close() // the first error counts
			return nil, err
		}
	}
	return r, nil
}

const (
	// A record may start as much later than it is due as this part of --linger. Its batch waits for
	// --linger from the first record's due instant, so only a batch that fills earlier is sent later
	// for it.
	collectPart = 20
	// mostCollects is below the lag at which a run says that its generator was late.
	mostCollects = 200 * time.Microsecond
)

// Client is r as the engine sees it.
func (r *Runs) Client() *takt.AsyncClient {
	c := &takt.AsyncClient{
		StartAll: r.startAll, Started: r.started, Flush: r.flush, Close: r.close,
		Collects: min(r.list[0].linger/collectPart, mostCollects), // all topics have the same
	}
	if r.list[0].text.recorded != nil {
		c.StartAll, c.Start = nil, r.startRecorded
	}
	return c
}

// startRecorded starts an operation of a file, which has one topic, if its record has room.
func (r *Runs) startRecorded(op *takt.Op) error {
	p := r.list[0]
	if !p.text.recorded.put(op) {
		return takt.ErrBusy
	}
	r.one[0] = *op
	p.startAll(r.one[:])
	return nil
}

// Outage is takt.Driver.Outage.
func (r *Runs) Outage() (takt.Outage, bool) { return r.log.Newest() }

func (r *Runs) started(at time.Time) {
	for _, p := range r.list {
		p.started(at)
	}
}

// startAll gives operations to their topics.
func (r *Runs) startAll(ops []takt.Op) {
	if len(r.list) == 1 {
		r.list[0].startAll(ops)
		return
	}
	for i := range r.parts {
		r.parts[i] = r.parts[i][:0]
	}
	for i := range ops {
		t := r.rule.of(ops[i].Seq)
		r.parts[t] = append(r.parts[t], ops[i])
	}
	for i, part := range r.parts {
		if len(part) > 0 {
			r.list[i].startAll(part)
		}
	}
}

// together calls f for each topic at the same time, and returns the first error.
func (r *Runs) together(f func(*Run) error) error {
	errs := make([]error, len(r.list))
	var all sync.WaitGroup
	for i, p := range r.list {
		all.Go(func() { errs[i] = f(p) })
	}
	all.Wait()
	return cmp.Or(errs...)
}

func (r *Runs) flush(ctx context.Context) error {
	return r.together(func(p *Run) error { return p.flush(ctx) })
}

func (r *Runs) close() error {
	err := r.together(func(p *Run) error { return p.close() })
	r.graphite.stop()
	return err
}

// Watch watches the topics. grown is called for each with a new number of partitions, until it
// returns true; see Run.Grow.
func (r *Runs) Watch(o *Options, grown func(p *Run, topic string) func(context.Context, int32) bool) (err error) {
	if o.Noop {
		return nil
	}
	for i, p := range r.list {
		one := o.each[i]
		if p.unwatch, err = one.WatchTopic(one.Partitions, grown(p, one.Topic), p.forsake); err != nil {
			return err
		}
	}
	return nil
}

// Settle is takt.Driver.Settle.
func (r *Runs) Settle() (s takt.Settlement) {
	for _, p := range r.list {
		one := p.Settle()
		s.Unwritten += one.Unwritten
		if one.Failed.Count > 0 {
			one.Failed.Count += s.Failed.Count
			s.Failed = one.Failed
		}
	}
	return s
}

// Receives says what a consumer of this process counts, and which records it has.
func (r *Runs) Receives(arrivals func() outage.Arrivals, has func(cluster.StreamKey, uint64) bool) {
	r.log.Arrivals = arrivals
	for _, p := range r.list {
		p.outages.has = has
	}
}

// Lost is the number of acknowledged records that were not received, of the records that were
// received and that has knows.
func (r *Runs) Lost(received uint64, has func(cluster.StreamKey, uint64) bool) uint64 {
	acked := uint64(0)
	for _, p := range r.list {
		n, unasked := p.fates(has)
		acked, received = acked+n, received-unasked
	}
	return acked - min(acked, received)
}

// Describe adds the driver's part of the report.
func (r *Runs) Describe(rep *takt.Report) {
	extra, first := rep.Extra, r.list[0]
	batches, bytes := uint64(0), uint64(0)
	topics := map[string]any{}
	for i, p := range r.list {
		acked, sum := map[string]uint64{}, uint64(0)
		for n, count := range p.meter.written() {
			acked[strconv.Itoa(n)] = count
			sum += count
		}
		extra["partitions"] = acked
		topics[r.names[i]] = map[string]any{"records": sum, "partitions": acked}
		batches, bytes = batches+p.meter.batches.Load(), bytes+p.meter.bytes.Load()
	}
	if len(r.list) > 1 {
		delete(extra, "partitions")
		extra["topics"] = topics
	}
	extra["run"], extra["batches"], extra["payload_bytes"] = first.run.String(), batches, bytes
	extra["writers"] = r.writers()
	if n := r.traffic.Closed.Load(); n > 0 {
		extra["connections_closed"] = n
	}
	for _, p := range r.list {
		if gone := p.gone.Load(); gone != nil {
			rep.Warn(warn.BrokeOff, "the run ended before its time: %v", *gone)
			break
		}
	}
	if recorded := first.text.recorded; recorded != nil {
		recorded.describe(rep)
	}
	r.describeBacklog(rep)
	r.describeTooLarge(rep)
	r.describeOutages(rep)
	r.describeStored(rep)
	r.traffic.Describe(rep)
	if g := r.graphite; g != nil && g.lost.Load() > 0 {
		rep.Warn(warn.Graphite, "the figures of %d intervals did not reach Graphite: %v", takt.Number("lost", g.lost.Load()), g.failure.Load())
	}
}
