package produce

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/pkg/takt"
)

// Run is the load of one run on one topic, on all workers.
type Run struct {
	manner
	stamps
	text *text

	sink    takt.Sink
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	start   time.Time // start of the run
	epoch   int64     // start in ns since 1970
	workers []*worker
	dealt   uint64 // number of operations given to workers; only for the pacer
	traffic *cluster.Traffic
	meter   *meter

	partitions atomic.Int32
	byKey      kgo.TopicPartitioner
	unwatch    func()                // ends the watch of the topic
	gone       atomic.Pointer[error] // error if the topic is gone, otherwise nil

	backlog  backlog
	receipts receipts // empty unless an operation ends with its receipt
	outages  outages
	await    func(ctx context.Context, written []uint64) stored // waits for the records to be stored; nil: nobody stores them
	stored   stored
}

// manner is how records are written, as the flags say.
type manner struct {
	once        bool // brokers drop the copies that retries write
	library     bool // the client is a library, which encodes batches itself
	oneWay      bool // no acknowledgements: records end when they are written
	received    bool // an operation ends with its receipt, not its acknowledgement
	uniform     bool // the records of a batch have one partition and one result
	apart       bool // a batch has several partitions, so each record has its own answer
	unordered   bool // writers do not wait for each other, so each has its own numbers
	writers     int  // largest number of batches in flight per worker
	inline      int  // largest batch, in records, that the caller writes itself
	batchSize   int  // records in a batch
	batchBytes  int
	linger      time.Duration
	filling     bool // a batch is limited by its bytes, for each partition, and stays on a partition until it is full
	transaction int  // records in a transaction; 0: no transactions
	timeout     time.Duration
}

// stamps are what tells the records of a run from those of others, and from each other.
type stamps struct {
	run         cluster.RunID
	firstStream int    // number of the first stream of the topic
	plain       bool   // no stamps
	inValue     bool   // the stamp is in the value
	tail        []byte // bytes after the value of every record: its headers, or the longest of them
	stampAt     int    // offset of the stamp in tail; 0: no stamp there
	stampHeader []byte // header of the stamp; nil: none
}

// started is called when the run starts.
func (p *Run) started(at time.Time) {
	p.start, p.epoch = at, at.UnixNano()
	if b := &p.backlog; b.until > 0 {
		b.atEnd = time.AfterFunc(b.until-time.Since(at), p.noteBacklog)
	}
	if p.received {
		go p.giveUp()
	}
}

// startAll gives operations to the workers in turn.
func (p *Run) startAll(ops []takt.Op) {
	first := p.dealt // not the operations' numbers: a shard has only every n-th
	p.dealt += uint64(len(ops))
	if len(ops) == 1 {
		p.workers[first%uint64(len(p.workers))].push(ops, first)
		return
	}
	for _, w := range p.workers {
		w.push(ops, first)
	}
}

func (p *Run) flush(ctx context.Context) error {
	p.noteBacklog() // the schedule may end early
	for _, w := range p.workers {
		go w.flush() // a commit may take long
	}
	return p.flushed(ctx)
}

// flushed waits until no record is in flight, after worker.flush or worker.halt.
func (p *Run) flushed(ctx context.Context) error {
	for _, w := range p.workers {
		select {
		case <-w.empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// close leaves a hanging client behind.
func (p *Run) close() error {
	for _, w := range p.workers {
		w.halt() // what is written after the run would be in no figure
	}
	if p.unwatch != nil {
		p.unwatch()
	}
	if p.backlog.atEnd != nil {
		p.backlog.atEnd.Stop()
	}
	p.receipts.close(p.meter)
	if p.received { // the last receipt may come before its acknowledgement
		ctx, cancel := context.WithTimeout(p.ctx, cluster.CloseTime)
		_ = p.flushed(ctx) // records that are not acknowledged by then never are
		cancel()
	}
	if p.await != nil { // this also gives brokers time to close connections
		p.stored = p.await(p.ctx, p.meter.written())
	}
	p.cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, w := range p.workers {
			w.close()
		}
	}()
	pause.For(cluster.CloseTime, closed)
	return nil
}

// finishAll ends the operations of records answered now. arrived is when the answer came to
// this host, if known.
func (p *Run) finishAll(records []record, arrived time.Time) {
	now := time.Since(p.start)
	good := make([]uint64, 0, len(records))
	if p.received {
		p.receipts.add(p.meter, records, now)
	} else {
		p.meter.answered(records)
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.err != nil:
			err := p.reason(r.err)
			p.sink.Done(r.token, &takt.Result{Class: cluster.Classify(err), Err: err})
		case p.received && p.oneWay:
		case p.received:
			p.sink.Record(cluster.PhaseAck, now-r.due)
		default:
			good = append(good, r.token)
		}
	}
	if len(good) > 0 {
		p.finishGood(good, arrived)
	}
}

// reason is why a record with this error failed: if the topic is gone, clients report many
// different errors.
func (p *Run) reason(err error) error {
	if gone := p.gone.Load(); gone != nil {
		return *gone
	}
	return err
}

// Grow lets records go to added partitions once each client knows them.
func (p *Run) Grow(ctx context.Context, partitions int32) bool {
	for _, w := range p.workers {
		if !w.client.knows(ctx, partitions) {
			return false
		}
	}
	p.meter.grow(partitions)
	p.outages.grow(partitions)
	p.partitions.Store(partitions)
	return true
}

// forsake ends the run because its topic is gone.
func (p *Run) forsake(err error) {
	p.gone.Store(&err)
	p.sink.End()
	for _, w := range p.workers {
		w.client.forsake(err)
	}
}

// finishGood ends successful operations.
func (p *Run) finishGood(tokens []uint64, arrived time.Time) {
	res := takt.Result{Arrived: arrived}
	p.traffic.Drain(&res)
	p.sink.DoneAll(tokens, &res)
}

// finishUniform ends the operations of an acknowledged uniform batch.
func (p *Run) finishUniform(b *batch) {
	part := b.parts[0]
	p.meter.acknowledged(part.Partition(), len(b.tokens), part.bytes)
	p.finishGood(b.tokens, b.lastArrival())
}
