// Package produce is takt kafka produce, and what sends in takt kafka e2e: one operation is one
// record. takt's own producer, franz-go and sarama stand behind one interface, and the same report
// comes from each.
package produce

import (
	"bytes"
	"context"
	"crypto/rand"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/ledger"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Options are the additional flags of takt kafka produce. Flags from the seed, sangrenel,
// have its names and defaults.
type Options struct {
	cluster.Cluster
	MessageSize int
	Sizes       string // distribution of sizes, as payload.ParseSizes reads it; "": all have MessageSize
	BatchSize   int    // records in a batch
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
	Recorded    Recorded

	Key         string
	Tombstones  float64 // share of records without a value
	Headers     Headers
	Plain       bool // no stamps
	BatchBytes  int
	Linger      time.Duration
	Timeout     time.Duration // time limit for a record
	Idempotence bool
	idempotence bool // Idempotence was given, true or false
	Transaction int  // records in a transaction; 0: no transactions
	Create      cluster.Create

	RunID      cluster.RunID // of the current run, set by Begin
	each       []*Options    // by topic, set by Begin; one topic: only the options themselves
	Partitions int32         // number of partitions of the topic, set by Probe

	firstStream int // number of the first stream of the topic

	filling    bool          // batches fill up to BatchBytes while records linger
	until      time.Duration // end of the schedule; 0: unknown, or a closed loop
	before     *logEnds      // ends of the partitions before the run; nil: there are acknowledgements, or no broker
	text       *text
	narrator   *narrator // nil: no output
	seed       uint64    // seed of random values
	shapeFault error
}

// The names of Options.Acks.
const (
	AcksNone  = "none"
	AcksLocal = "local"
	AcksAll   = "all"
)

// inFlight is the limit of records in flight at a rate: at 100k/s that is one second of
// records of 300 bytes.
const inFlight = 100_000

// maxBytes limits a message, a batch and every other number: a Kafka request has at most
// 2 GiB.
const maxBytes = 1 << 30

// New returns the options with the seed's defaults.
func New() *Options {
	return &Options{
		Cluster: cluster.New(cluster.ClientTakt), MessageSize: 300, BatchSize: 1, Compression: "none",
		Acks: AcksLocal, Workers: 1, Writers: defaultWriter, MaxOpen: 5, Interval: 5, BatchBytes: defaultBytes, Timeout: 10 * time.Second,
		Recorded: Recorded{Speed: 1, Most: mostRecorded}, Graphite: newGraphite(), Create: cluster.NewCreate(),
	}
}

// Validate reports all faults at once and makes the messages.
func (o *Options) Validate(args []string) []error {
	faults := value.Faults(cluster.NoArguments(args))
	faults.Add(o.shapeFault)
	faults.Add(o.Cluster.Validate()...)
	o.checkNumbers(&faults)
	o.checkWays(&faults)
	o.checkRecorded(&faults)
	faults.Add(o.Graphite.validate())
	if len(faults) > 0 {
		return faults
	}
	var err error
	o.text, err = o.readText(o.seed)
	faults.Add(err)
	return faults
}

func (o *Options) checkNumbers(faults *value.Faults) {
	for _, f := range []struct {
		name         string
		value, least int
	}{
		{"message-size", o.MessageSize, 0}, {"message-batch-size", o.BatchSize, 1}, {"workers", o.Workers, 1},
		{"writers-per-worker", o.Writers, 1}, {"max-open-requests", o.MaxOpen, 1}, {"interval", o.Interval, 1},
		{"batch-bytes", o.BatchBytes, 1}, {"transactions", o.Transaction, 0},
		{"partitions", o.Create.Partitions, 1}, {"replication", o.Create.Replication, 1},
	} {
		faults.Range(f.name, f.value, f.least, maxBytes)
	}
	faults.If(o.Workers > 0 && o.Writers > ledger.MaxStreams/o.Workers/len(o.Names()), "--workers times --writers-per-worker, times the number of topics, is more than %d; lower one of them", ledger.MaxStreams)
	faults.If(o.Timeout <= 0 || o.Linger < 0, "--timeout must be above 0 and --linger not below; a record without a bound can hang for ever")
}

// checkWays checks the flags against the abilities of the client.
func (o *Options) checkWays(faults *value.Faults) {
	faults.If(len(o.Messages) > 0 && o.Data != "", "both --messages-data and --data are given; keep one")
	faults.If(o.Sizes != "" && (len(o.Messages) > 0 || o.Data != ""), "--message-size %s is a distribution of random messages, but --messages-data or --data gives the messages; drop one of the two", o.Sizes)
	faults.If(o.Tombstones > 0 && o.Key == "", "--tombstones is given without --key; a record without key and value deletes nothing, so add a key")
	faults.If((o.Idempotence || o.Transaction > 0) && o.Acks != AcksAll, "--idempotence and --transactions need --required-acks all; add it")
	faults.If(o.Transaction > 0 && o.Client != cluster.ClientFranz, "--transactions are there with --client franz only; drop one of the two")
}

// Defaults is driver.Load.Defaults.
func (o *Options) Defaults(e *engine.Options) { e.MaxInFlight = inFlight }

// Unused is driver.Load.Unused; Shape refuses --connections.
func (o *Options) Unused() (flags []string, why string) { return engine.LoopFlags(), "" }

// Shape sets unset options: without a rate the seed's closed loop, in which every writer has
// a batch in flight; with a rate, room for one second of records.
func (o *Options) Shape(e *engine.Options) {
	o.shapeFault = nil
	o.ReadProperties()
	if o.Client == cluster.ClientTakt && (o.Transaction > 0 || o.NewestProduce() < kafka.Oldest) {
		o.Client = cluster.ClientFranz
	}
	o.shapeIdempotence()
	if e.Connections > 0 {
		o.shapeFault = value.Faultf("--connections says nothing here; use --workers, which have connections of their own")
	}
	o.shapeRecorded(e)
	o.seed, o.until = e.Seed, 0
	if s, err := e.Source(); err == nil && !e.Closed() {
		o.until = max(0, s.End())
	}
	least := o.Workers * o.Transaction * len(o.Names()) // with less a transaction would never be full
	if e.MaxInFlight == engine.DefaultInFlight || e.MaxInFlight == inFlight {
		e.MaxInFlight = inFlight
		if e.Closed() {
			e.MaxInFlight = o.Workers * o.Writers * o.BatchSize * len(o.Names())
		}
		e.MaxInFlight = max(e.MaxInFlight, least, 1)
	}
	if e.InFlight() < least {
		o.shapeFault = value.Faultf("at most %d records in flight cannot fill transactions of %d in %d workers; raise --max-in-flight", e.InFlight(), o.Transaction, o.Workers)
	}
	e.Drain.SetFallback(o.Timeout)
	if !e.Closed() {
		o.shapeBatches()
	}
}

// shapeIdempotence sets what Java's producer does, too: who waits for all replicas is idempotent.
// sarama would send one request at a time then, so there the flag decides alone.
func (o *Options) shapeIdempotence() {
	own := o.Client == cluster.ClientTakt || o.Client == cluster.ClientFranz
	if !o.idempotence && own && o.Acks == AcksAll && o.NewestProduce() >= kafka.Oldest {
		o.Idempotence = true
	}
}

const (
	defaultBytes  = 1_000_012 // franz-go's default, the largest batch that brokers accept
	defaultWriter = 5
	lingerBytes   = 16 << 10 // batch.size of Java's producer
	leastRecord   = 8        // bytes of the smallest record
)

// shapeBatches sets the limits of batches at a rate with --linger, where no flag says otherwise:
// those of Java's producer, whose batches have a limit of bytes and not of records.
func (o *Options) shapeBatches() {
	if o.Linger <= 0 || o.BatchSize > 1 {
		return
	}
	if o.BatchBytes == defaultBytes {
		o.BatchBytes = lingerBytes
	}
	o.BatchSize, o.filling = max(1, o.BatchBytes/leastRecord), true
}

// writersOf is the number of writers of each worker. Java's producer has as many requests in flight
// as a connection may have, each with a batch for each partition.
func (o *Options) writersOf(partitions int32) int {
	if !o.choosesWriters() {
		return o.Writers
	}
	return max(o.Writers, min(o.MaxOpen*int(partitions), mostWriters))
}

// choosesWriters reports whether the number of writers depends on that of the partitions.
func (o *Options) choosesWriters() bool {
	return o.filling && o.Writers == defaultWriter && !o.unordered()
}

// mostWriters is the largest number of writers that takt chooses itself.
const mostWriters = 100

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string { return o.SASL.Secrets() }

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := o.Cluster.Variables()
	maps.Copy(v, map[string]any{
		"batch_records": o.BatchSize, "batch_bytes": o.BatchBytes, "compression": o.Compression, "acks": o.Acks,
		"workers": o.Workers, "writers_per_worker": o.Writers, "max_open_requests": o.MaxOpen,
		"linger_s": o.Linger.Seconds(), "timeout_s": o.Timeout.Seconds(), "idempotence": o.Idempotence,
		"keys": o.Key != "", "headers": len(o.Headers), "stamps": !o.Plain,
	})
	switch {
	case o.Recorded.File != "":
		v["recorded"], v["speed"] = o.Recorded.File, o.Recorded.Speed
		if o.Recorded.MaxGap > 0 {
			v["max_gap_s"] = o.Recorded.MaxGap.Seconds()
		}
	case o.Data != "":
		v["data"] = o.Data
	case len(o.Messages) > 0:
		v["messages"] = len(o.Messages)
	case o.Sizes != "":
		v["message_sizes"] = o.Sizes
	default:
		v["message_bytes"] = o.MessageSize
	}
	if o.Key != "" {
		v["key"] = o.Key
	}
	if o.Tombstones > 0 {
		v["tombstones"] = o.Tombstones
	}
	if o.Sizes != "" || o.Tombstones > 0 || o.text != nil && (o.text.key != nil && o.text.key.Random() || o.text.headers.random()) {
		v["seed"] = o.seed
	}
	if o.choosesWriters() { // the partitions are not known yet: see extra.writers
		v["writers_per_worker"] = "auto"
	}
	if o.Noop { // nobody is asked
		v["client"] = "noop"
		for _, name := range []string{"brokers", "tls", "sasl", "api_version"} {
			delete(v, name)
		}
	}
	if o.Transaction > 0 {
		v["transaction_records"] = o.Transaction
	}
	return v
}

// largest is the largest batch that a client accepts: the broker is to judge a message larger
// than --batch-bytes.
func (o *Options) largest() int {
	return max(o.BatchBytes, kafka.Overhead+o.text.longest()+o.overhead())
}

// overhead is the largest size of a record without its value.
func (o *Options) overhead() int {
	n := kafka.RecordOverhead + o.text.keyBytes()
	tail, _ := o.tail()
	return n + len(tail)
}

// tail is the bytes after the value of every record, its headers, or the longest of them. stampAt is the offset of
// the stamp in the first header; 0: no stamp there.
func (o *Options) tail() (tail []byte, stampAt int) {
	list := o.text.headers.fixed
	if o.Plain || o.inValue() {
		return kafka.AppendHeaders(nil, list), 0
	}
	room := kgo.RecordHeader{Key: cluster.StampHeader, Value: make([]byte, cluster.StampBytes)}
	tail = kafka.AppendHeaders(nil, append([]kgo.RecordHeader{room}, list...))
	return tail, bytes.Index(tail, room.Value)
}

// unordered reports whether writers do not wait for each other.
func (o *Options) unordered() bool { return o.Client == cluster.ClientSarama }

func (o *Options) inValue() bool {
	return o.text.random != nil && o.text.least() >= cluster.StampBytes && !o.Plain
}

// Open makes the driver of one run.
func (o *Options) Open(context.Context, int) (*takt.Driver, error) {
	o.Begin()
	var p *Runs
	d := &takt.Driver{
		Phases: cluster.Phases(),
		OneWay: o.oneWay(),
		Probe:  o.Probe,
		Async: func(_ int, sink takt.Sink) (_ *takt.AsyncClient, err error) {
			if p, err = o.Start(sink, false); err != nil {
				return nil, err
			}
			return p.Client(), p.Watch(o, func(one *Run, _ string) func(context.Context, int32) bool { return one.Grow })
		},
		Outage: func() (takt.Outage, bool) { return p.Outage() },
		Settle: func() takt.Settlement { return p.Settle() },
		Finish: func(_ context.Context, r *takt.Report) error {
			p.Describe(r)
			o.Properties.Describe(r)
			return nil
		},
	}
	if o.Noop {
		d.Probe = nil
	}
	return d, nil
}

// Begin makes the data of one run.
func (o *Options) Begin() {
	o.Traffic, o.before = &cluster.Traffic{}, nil
	o.Partitions = 1
	_, _ = rand.Read(o.RunID[:]) // it never fails
	o.each = o.topics()
}

// Probe finds the topics, and creates them if Create.On.
func (o *Options) Probe(ctx context.Context) error {
	if o.each == nil {
		o.each = o.topics()
	}
	for _, one := range o.each {
		partitions, err := one.FindTopic(ctx, &o.Create)
		if err != nil {
			return err
		}
		one.Partitions, one.before = int32(len(partitions)), one.findEnds(ctx, partitions)
	}
	return nil
}

// Known is the number of partitions of a topic.
func (o *Options) Known(topic string) int32 {
	for _, one := range o.each {
		if one.Topic == topic {
			return one.Partitions
		}
	}
	return 0
}

// oneWay reports whether records have no acknowledgement.
func (o *Options) oneWay() bool { return o.Noop || o.Acks == AcksNone }

// NoAnswer is driver.Load.NoAnswer.
func (o *Options) NoAnswer() (why, instead string) {
	switch {
	case o.Noop:
		return "with --noop nobody acknowledges a record, so there is no response time", "send.p99, from due until the record was made"
	case o.Acks == AcksNone:
		return "with --required-acks none nobody acknowledges a record, so there is no response time", "send.p99, from due until the record was written, or use --required-acks local"
	}
	return "", ""
}

// newRun makes the load of one topic, without connections.
func (o *Options) newRun(sink takt.Sink, received bool, log *outage.Log) *Run {
	now := time.Now()
	p := &Run{
		manner: o.manner(received), stamps: o.stamps(), text: o.text, sink: sink, start: now, epoch: now.UnixNano(), traffic: o.Traffic,
		meter: newMeter(o.Partitions), byKey: kgo.StickyKeyPartitioner(nil).ForTopic(o.Topic),
	}
	p.partitions.Store(o.Partitions)
	p.backlog.until = o.until
	p.backlog.records.Store(-1)
	p.outages.log = log
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

func (o *Options) manner(received bool) manner {
	m := manner{
		once: o.Idempotence || o.Transaction > 0, library: !o.Noop && o.Client != cluster.ClientTakt, oneWay: o.oneWay(), received: received,
		apart: o.text.isKeyed() && o.Transaction == 0, unordered: o.unordered(), writers: o.writersOf(o.Partitions), inline: inlineRecords,
		batchSize: o.BatchSize, batchBytes: o.BatchBytes, linger: o.Linger, filling: o.filling, transaction: o.Transaction, timeout: o.Timeout,
	}
	m.uniform = !received && !m.library && !m.apart && o.Transaction == 0
	if o.Noop && o.BatchSize > 1 {
		m.inline = 0 // noop answers at once, so only a separate goroutine collects batches
	}
	return m
}

func (o *Options) stamps() stamps {
	s := stamps{run: o.RunID, firstStream: o.firstStream, plain: o.Plain, inValue: o.inValue()}
	if s.tail, s.stampAt = o.tail(); s.stampAt > 0 {
		s.stampHeader = kafka.AppendHeader(nil, cluster.StampHeader, make([]byte, cluster.StampBytes))
	}
	return s
}

// connect connects the workers of one topic.
func (o *Options) connect(p *Run) error {
	for i := range o.Workers {
		w := newWorker(p, i)
		var err error
		if w.client, err = o.openClient(i, p); err != nil {
			return err
		}
		p.workers = append(p.workers, w)
		o.narrator.connected(i + 1)
	}
	if o.before != nil {
		p.await = o.awaitStored
	}
	return nil
}

func (o *Options) openClient(i int, p *Run) (client, error) {
	switch {
	case o.Noop:
		return o.openNoop()
	case o.Client == cluster.ClientSarama:
		return o.openSaramaSync()
	case o.Client == cluster.ClientSaramaAsync:
		return o.openSaramaAsync()
	case o.Client == cluster.ClientFranz:
		return o.openFranz(i)
	}
	return o.openTakts(p)
}
