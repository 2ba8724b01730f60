package kafka

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/kwire"
	"github.com/taktload/takt/internal/ledger"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Produce are the additional flags of takt kafka produce. Flags from the seed, sangrenel,
// have its names and defaults.
type Produce struct {
	Cluster
	MessageSize int
	BatchSize   int    // records in a batch
	ProduceRate uint64 // records/s in all; unlimited: --rate applies
	Compression string
	Acks        string
	Workers     int // number of connection sets
	Writers     int // writers per worker
	MaxOpen     int // largest number of open requests per connection
	Noop        bool
	Interval    int // seconds between two blocks of the seed's output
	EmitErrors  bool
	Messages    []string
	Data        string // file with one message a line
	Graphite    Graphite

	Key         string
	Headers     Headers
	Plain       bool // no stamps
	BatchBytes  int
	Linger      time.Duration
	Timeout     time.Duration // time limit for a record
	Idempotence bool
	Transaction int // records in a transaction; 0: no transactions
	Create      Create

	run        runID
	until      time.Duration // end of the schedule; 0: unknown, or a closed loop
	before     *logEnds      // ends of the partitions before the run; nil: there are acknowledgements, or no broker
	text       *text
	partitions int32
	narrator   *narrator // nil: no output
	seed       uint64    // seed of random values
	shapeFault error
}

// The names of Produce.Acks.
const (
	acksNone  = "none"
	acksLocal = "local"
	acksAll   = "all"
)

// unlimited is the seed's default of -produce-rate.
const unlimited = 100_000_000

// inFlight is the limit of records in flight at a rate: at 100k/s that is one second of
// records of 300 bytes.
const inFlight = 100_000

// maxBytes limits a message, a batch and every other number: a Kafka request has at most
// 2 GiB.
const maxBytes = 1 << 30

// NewProduce returns the options with the seed's defaults.
func NewProduce() *Produce {
	return &Produce{
		Cluster: newCluster(clientOwn), MessageSize: 300, BatchSize: 1, ProduceRate: unlimited, Compression: "none",
		Acks: acksLocal, Workers: 1, Writers: 5, MaxOpen: 5, Interval: 5, BatchBytes: 1_000_012, Timeout: 10 * time.Second,
		Graphite: newGraphite(), Create: newCreate(),
	}
}

// Validate reports all faults at once and makes the messages.
func (o *Produce) Validate(args []string) []error {
	faults := noArguments(args)
	if o.shapeFault != nil {
		faults = append(faults, o.shapeFault)
	}
	faults = append(faults, o.Cluster.validate()...)
	faults = append(faults, o.checkNumbers()...)
	faults = append(faults, o.checkWays()...)
	faults = append(faults, o.Graphite.validate()...)
	if len(faults) > 0 {
		return faults
	}
	var err error
	if o.text, err = o.readText(o.seed); err != nil {
		faults = append(faults, err)
	}
	return faults
}

func noArguments(args []string) []error {
	if len(args) == 0 {
		return nil
	}
	return []error{value.Faultf("unexpected argument %q; brokers are named with --brokers, the topic with --topic", args[0])}
}

func (o *Produce) checkNumbers() (faults []error) {
	for _, f := range []struct {
		name         string
		value, least int
	}{
		{"message-size", o.MessageSize, 0}, {"message-batch-size", o.BatchSize, 1}, {"workers", o.Workers, 1},
		{"writers-per-worker", o.Writers, 1}, {"max-open-requests", o.MaxOpen, 1}, {"interval", o.Interval, 1},
		{"batch-bytes", o.BatchBytes, 1}, {"transactions", o.Transaction, 0},
		{"partitions", o.Create.Partitions, 1}, {"replication", o.Create.Replication, 1},
	} {
		if f.value < f.least || f.value > maxBytes {
			faults = append(faults, value.Faultf("--%s is %d; give a number from %d to %d", f.name, f.value, f.least, maxBytes))
		}
	}
	if o.Workers > 0 && o.Writers > ledger.MaxStreams/o.Workers {
		faults = append(faults, value.Faultf("--workers times --writers-per-worker is more than %d; lower one of them", ledger.MaxStreams))
	}
	if o.ProduceRate == 0 {
		faults = append(faults, value.Faultf("--produce-rate is 0; give records per second, or leave it out"))
	}
	if o.Timeout <= 0 || o.Linger < 0 {
		faults = append(faults, value.Faultf("--timeout must be above 0 and --linger not below; a record without a bound can hang for ever"))
	}
	return faults
}

// checkWays checks the flags against the abilities of the client.
func (o *Produce) checkWays() (faults []error) {
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, value.Faultf(format, args...))
		}
	}
	refuse(len(o.Messages) > 0 && o.Data != "", "both --messages-data and --data are given; keep one")
	refuse((o.Idempotence || o.Transaction > 0) && o.Acks != acksAll, "--idempotence and --transactions need --required-acks all; add it")
	refuse(o.Transaction > 0 && o.Client != clientFranz, "--transactions are there with --client franz only; drop one of the two")
	return faults
}

// Defaults is driver.Load.Defaults.
func (o *Produce) Defaults(e *engine.Options) { e.MaxInFlight = inFlight }

// Unused is driver.Load.Unused; Shape refuses --connections.
func (o *Produce) Unused() (flags []string, why string) { return engine.LoopFlags(), "" }

// Shape sets unset options: without a rate the seed's closed loop, in which every writer has
// a batch in flight; with a rate, room for one second of records.
func (o *Produce) Shape(e *engine.Options) {
	o.shapeFault = nil
	if o.Client == clientOwn && (o.Idempotence || o.Transaction > 0 || o.newestProduce() < kwire.Oldest) {
		o.Client = clientFranz
	}
	if o.ProduceRate != unlimited && o.ProduceRate > 0 {
		rate := engine.PerSecond(float64(o.ProduceRate))
		if e.Stages.Given() || e.Rate.Given() && e.Rate != rate {
			o.shapeFault = value.Faultf("both --produce-rate and --rate or --stages are given; keep one")
		}
		e.Rate = cmp.Or(e.Rate, rate)
	}
	if e.Connections > 0 {
		o.shapeFault = value.Faultf("--connections says nothing here; use --workers, which have connections of their own")
	}
	o.seed, o.until = e.Seed, 0
	if s, err := e.Source(); err == nil && !e.Closed() {
		o.until = max(0, s.End())
	}
	least := o.Workers * o.Transaction // with less a transaction would never be full
	if e.MaxInFlight == engine.DefaultInFlight || e.MaxInFlight == inFlight {
		e.MaxInFlight = inFlight
		if e.Closed() {
			e.MaxInFlight = o.Workers * o.Writers * o.BatchSize
		}
		e.MaxInFlight = max(e.MaxInFlight, least, 1)
	}
	if e.InFlight() < least {
		o.shapeFault = value.Faultf("at most %d records in flight cannot fill transactions of %d in %d workers; raise --max-in-flight", e.InFlight(), o.Transaction, o.Workers)
	}
	e.Drain.SetFallback(o.Timeout)
}

// Secrets implements takt.Secretive.
func (o *Produce) Secrets() []string { return o.SASL.secrets() }

// Variables are the settings that shape the load or the target.
func (o *Produce) Variables() map[string]any {
	v := o.Cluster.variables()
	for name, value := range map[string]any{
		"batch_records": o.BatchSize, "batch_bytes": o.BatchBytes, "compression": o.Compression, "acks": o.Acks,
		"workers": o.Workers, "writers_per_worker": o.Writers, "max_open_requests": o.MaxOpen,
		"linger_s": o.Linger.Seconds(), "timeout_s": o.Timeout.Seconds(), "idempotence": o.Idempotence,
		"keys": o.Key != "", "headers": len(o.Headers), "stamps": !o.Plain,
	} {
		v[name] = value
	}
	switch {
	case o.Data != "":
		v["data"] = o.Data
	case len(o.Messages) > 0:
		v["messages"] = len(o.Messages)
	default:
		v["message_bytes"] = o.MessageSize
	}
	if o.Noop {
		v["client"] = "noop"
	}
	if o.Transaction > 0 {
		v["transaction_records"] = o.Transaction
	}
	return v
}

// largest is the largest batch that a client accepts: the broker is to judge a message larger
// than --batch-bytes.
func (o *Produce) largest() int {
	return max(o.BatchBytes, kwire.Overhead+o.text.longest()+o.overhead())
}

// overhead is the largest size of a record without its value.
func (o *Produce) overhead() int {
	n := kwire.RecordOverhead + o.text.keyBytes()
	tail, _ := o.tail()
	return n + len(tail)
}

// tail is the bytes after the value of every record, its headers. stampAt is the offset of
// the stamp in the first header; 0: no stamp there.
func (o *Produce) tail() (tail []byte, stampAt int) {
	list := o.Headers.franz()
	if o.Plain || o.inValue() {
		return kwire.AppendHeaders(nil, list), 0
	}
	room := kgo.RecordHeader{Key: stampHeader, Value: make([]byte, stampBytes)}
	tail = kwire.AppendHeaders(nil, append([]kgo.RecordHeader{room}, list...))
	return tail, bytes.Index(tail, room.Value)
}

func (o *Produce) inValue() bool {
	return o.text.random != nil && o.MessageSize >= stampBytes && !o.Plain
}

// Open makes the driver of one run.
func (o *Produce) Open(context.Context, int) (*takt.Driver, error) {
	o.begin()
	var p *producer
	d := &takt.Driver{
		Phases: phases(),
		OneWay: o.oneWay(),
		Probe:  o.probe,
		Async: func(_ int, sink takt.Sink) (_ *takt.AsyncClient, err error) {
			if p, err = o.open(sink); err != nil {
				return nil, err
			}
			if o.before != nil {
				p.await = o.awaitStored
			}
			return p.client(), o.watch(p, p.grow)
		},
		Finish: func(_ context.Context, r *takt.Report) error {
			p.describe(r)
			p.describeStored(r)
			return nil
		},
	}
	if o.Noop {
		d.Probe = nil
	}
	return d, nil
}

// watch watches the topic for p.
func (o *Produce) watch(p *producer, grown func(context.Context, int32) bool) (err error) {
	if !o.Noop {
		p.unwatch, err = o.watchTopic(o.partitions, grown, p.forsake)
	}
	return err
}

// begin makes the data of one run.
func (o *Produce) begin() {
	o.wire, o.before = &wire{}, nil
	o.partitions = 1
	_, _ = rand.Read(o.run[:]) // it never fails
}

// probe finds the topic, and creates it if Create.On.
func (o *Produce) probe(ctx context.Context) error {
	partitions, err := o.findTopic(ctx, &o.Create)
	o.partitions = int32(len(partitions))
	if err == nil && o.Acks == acksNone {
		o.before = o.findEnds(ctx, partitions)
	}
	return err
}

// oneWay reports whether records have no acknowledgement.
func (o *Produce) oneWay() bool { return o.Noop || o.Acks == acksNone }

// NoAnswer is driver.Load.NoAnswer.
func (o *Produce) NoAnswer() (why, instead string) {
	switch {
	case o.Noop:
		return "with --noop nobody acknowledges a record, so there is no response time", "send.p99, from due until the record was made"
	case o.Acks == acksNone:
		return "with --required-acks none nobody acknowledges a record, so there is no response time", "send.p99, from due until the record was written, or use --required-acks local"
	}
	return "", ""
}

func (o *Produce) open(sink takt.Sink) (*producer, error) {
	p := &producer{
		sink: sink, wire: o.wire, run: o.run, text: o.text, headers: o.Headers.franz(), library: !o.Noop && o.Client != clientOwn, oneWay: o.oneWay(), plain: o.Plain, inValue: o.inValue(),
		unordered: o.Client == clientSarama, apart: o.text.key != nil && o.Transaction == 0, byKey: kgo.StickyKeyPartitioner(nil).ForTopic(o.Topic),
		writers: o.Writers, batchSize: o.BatchSize, batchBytes: o.BatchBytes, overhead: o.overhead(), linger: o.Linger,
		transaction: o.Transaction, timeout: o.Timeout,
	}
	p.partitions.Store(o.partitions)
	p.started(time.Now())
	p.until = o.until
	p.backlog.Store(-1)
	p.uniform = !p.library && !p.apart && o.Transaction == 0
	p.tail, p.stampAt = o.tail()
	if p.inline = inlineRecords; o.Noop && o.BatchSize > 1 {
		p.inline = 0 // noop answers at once, so only a separate goroutine collects batches
	}
	p.meter = newMeter(o.partitions)
	o.narrator.follow(p.meter)
	p.graphite = o.Graphite.start(p.meter, time.Duration(o.Interval)*time.Second)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for i := range o.Workers {
		w := newWorker(p, i)
		var err error
		if w.client, err = o.openClient(i); err != nil {
			_ = p.close() // the first error counts
			return nil, err
		}
		p.workers = append(p.workers, w)
		o.narrator.connected(i + 1)
	}
	return p, nil
}

func (o *Produce) openClient(i int) (client, error) {
	switch {
	case o.Noop:
		return o.openNoop()
	case o.Client == clientSarama:
		return o.openSaramaSync()
	case o.Client == clientSaramaAsync:
		return o.openSaramaAsync()
	case o.Client == clientFranz:
		return o.openFranz(i)
	}
	return o.openOwn()
}
