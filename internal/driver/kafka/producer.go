package kafka

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// phases are the latencies beside those of every run.
func phases() []string { return []string{"batch", "commit", "ack", "transfer"} }

// Positions in phases.
const (
	phaseBatch    = iota // from the writing of a batch to its last acknowledgement
	phaseCommit          // of a transaction
	phaseAck             // e2e: from due to the acknowledgement
	phaseTransfer        // from the sender's due instant to the receipt
)

// producer is the load of one run on all its workers. It is the engine's AsyncWorker.
type producer struct {
	sink     engine.BatchSink
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	start    time.Time // of the run
	epoch    int64     // the same, in ns since 1970
	workers  []*worker
	dealt    uint64 // operations that the workers got; the pacer's
	wire     *wire
	meter    *meter
	graphite *graphite // nil: none

	run         runID
	text        *text
	headers     []kgo.RecordHeader // of every record
	tail        []byte             // what stands behind the value of every record: its headers
	stampAt     int                // where in tail there is room for the stamp; 0: nowhere
	library     bool               // the client takes messages, not batches as they are sent
	oneWay      bool               // nobody acknowledges: records are over when they are written
	plain       bool               // no stamps
	inValue     bool               // the stamp stands in the value
	received    bool               // an operation ends with its receipt, not with its acknowledgement
	uniform     bool               // the records of a batch share their partition and their fate
	apart       bool               // a batch goes to several partitions, so each record has an answer of its own
	unordered   bool               // writers do not wait for each other, so each has numbers of its own
	partitions  atomic.Int32
	byKey       kgo.TopicPartitioner
	writers     int // batches under way for each worker
	inline      int // records that are written by the one who finds that they may be
	batchSize   int // records
	batchBytes  int
	overhead    int // bytes of a record beside its value
	linger      time.Duration
	transaction int // records; 0: none
	timeout     time.Duration

	until   time.Duration         // end of the schedule; 0: not known, or a closed loop
	atEnd   *time.Timer           // notes the backlog then; nil: nobody does
	backlog atomic.Int64          // records that waited for a writer when the schedule ended; -1: not known yet
	unwatch func()                // ends the look at the topic
	gone    atomic.Pointer[error] // why the topic is not there any more; nil: it is

	await  func(ctx context.Context, written []uint64) stored // nil: somebody says what is stored
	stored stored

	// What became of the records where an operation ends with its receipt.
	fateMu  sync.Mutex
	awaited ring[awaited]
	closing bool   // what is acknowledged from now on nobody has to have received
	acked   uint64 // before that
	failed  []failedRecord
}

// Started is told by the engine when the run starts.
func (p *producer) Started(at time.Time) {
	p.start, p.epoch = at, at.UnixNano()
	if p.until > 0 {
		p.atEnd = time.AfterFunc(p.until-time.Since(at), p.noteBacklog)
	}
	if p.received {
		go p.giveUp()
	}
}

// Start implements takt.AsyncWorker.
func (p *producer) Start(op *takt.Op) error {
	p.StartAll([]takt.Op{*op})
	return nil
}

// StartAll implements engine.BatchStarter. Operations go to the workers in turn.
func (p *producer) StartAll(ops []takt.Op) {
	first := p.dealt // not the operations' numbers, of which a shard has each so many'th
	p.dealt += uint64(len(ops))
	if len(ops) == 1 {
		p.workers[first%uint64(len(p.workers))].push(ops, first)
		return
	}
	for _, w := range p.workers {
		w.push(ops, first)
	}
}

// Flush implements takt.AsyncWorker.
func (p *producer) Flush(ctx context.Context) error {
	p.noteBacklog() // it may end before its time
	for _, w := range p.workers {
		go w.flush() // a commit may take its time
	}
	for _, w := range p.workers {
		select {
		case <-w.empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// closeTime is how long clients may take to end what is open after the drain.
const closeTime = time.Second

// Close implements takt.AsyncWorker. A client that hangs is left behind.
func (p *producer) Close() error {
	if p.unwatch != nil {
		p.unwatch()
	}
	if p.atEnd != nil {
		p.atEnd.Stop()
	}
	p.fateMu.Lock()
	p.closing = true
	p.fateMu.Unlock()
	if p.received { // the last receipt may come before its acknowledgement
		ctx, cancel := context.WithTimeout(p.ctx, closeTime)
		_ = p.Flush(ctx) // what is not acknowledged by then never is
		cancel()
	}
	if p.await != nil { // and brokers have time to end connections
		p.stored = p.await(p.ctx, p.meter.written())
	}
	p.cancel()
	p.graphite.stop()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, w := range p.workers {
			w.close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
	return nil
}

// finishAll ends the operations of records that were answered now; their answer came to this
// host at the instant arrived, if that is known.
func (p *producer) finishAll(records []record, arrived time.Time) {
	now := time.Since(p.start)
	good := make([]uint64, 0, len(records))
	p.meter.answered(records)
	if p.received {
		p.tally(records, now)
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.err != nil:
			err := p.reason(r.err)
			p.sink.Done(r.token, &takt.Result{Class: classify(err), Err: err})
		case p.received && p.oneWay:
		case p.received:
			p.sink.Record(phaseAck, now-r.due)
		default:
			good = append(good, r.token)
		}
	}
	if len(good) > 0 {
		p.finishGood(good, arrived)
	}
}

// reason is why a record failed, which had that error: when the topic is gone, clients say
// much of it.
func (p *producer) reason(err error) error {
	if gone := p.gone.Load(); gone != nil {
		return *gone
	}
	return err
}

// grow lets records go to the partitions that were added, once each client knows them.
func (p *producer) grow(ctx context.Context, partitions int32) bool {
	for _, w := range p.workers {
		if !w.client.knows(ctx, partitions) {
			return false
		}
	}
	p.meter.grow(partitions)
	p.partitions.Store(partitions)
	return true
}

// forsake ends the run, whose topic is gone.
func (p *producer) forsake(err error) {
	p.gone.Store(&err)
	if e, ok := p.sink.(engine.Ender); ok {
		e.End()
	}
	for _, w := range p.workers {
		w.client.forsake(err)
	}
}

// finishGood ends operations that went well.
func (p *producer) finishGood(tokens []uint64, arrived time.Time) {
	res := takt.Result{Arrived: arrived}
	p.wire.drain(&res)
	p.sink.DoneAll(tokens, &res)
}

// finishUniform ends the operations of a uniform batch that was acknowledged now.
func (p *producer) finishUniform(b *batch) {
	part := b.parts[0]
	p.meter.acknowledged(part.Partition(), len(b.tokens), part.bytes)
	p.finishGood(b.tokens, b.lastArrival())
}

// awaited is a record that was acknowledged, and may have been received meanwhile.
type awaited struct {
	token uint64
	acked time.Duration // since the run's start
}

// giveUp fails the operations whose record does not come, until the producer is closed: a
// closed loop would wait for them for ever.
func (p *producer) giveUp() {
	tick := time.NewTicker(max(p.timeout/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			return
		}
		for _, token := range p.overdue(time.Since(p.start)) {
			p.sink.Done(token, &takt.Result{Class: classLost, Err: p.errLost()})
		}
	}
}

// overdue are the operations whose record should have come by now, or comes no more. Those whose record
// came are over: they end only once.
func (p *producer) overdue(now time.Duration) (tokens []uint64) {
	p.fateMu.Lock()
	defer p.fateMu.Unlock()
	gone := p.gone.Load() != nil
	for p.awaited.len() > 0 && (gone || now-p.awaited.head().acked >= p.timeout) {
		tokens = append(tokens, p.awaited.pop().token)
	}
	return tokens
}

func (p *producer) errLost() error {
	if p.oneWay {
		return errors.New("written, and not received in time")
	}
	return errors.New("acknowledged, and not received in time")
}

// failedRecord is one that was not acknowledged while the run went on.
type failedRecord struct {
	stream    uint16
	partition int32
	number    uint64
}

// maxFailed bounds the failed records that e2e keeps, to see whether they arrived all
// the same.
const maxFailed = 1 << 16

// tally counts and keeps what was acknowledged by now, and keeps what was not.
func (p *producer) tally(records []record, now time.Duration) {
	p.fateMu.Lock()
	defer p.fateMu.Unlock()
	for i := range records {
		r := &records[i]
		if r.err == nil && !p.closing {
			p.acked++
			p.awaited.push(awaited{r.token, now})
		} else if len(p.failed) < maxFailed {
			p.failed = append(p.failed, failedRecord{r.stream, r.partition, r.number})
		}
	}
}

// lost is how many acknowledged records have not been received.
func (p *producer) lost(r *receiver) uint64 {
	p.fateMu.Lock()
	defer p.fateMu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	received := r.ledger.Received
	for _, f := range p.failed {
		if r.ledger.Has(streamKey{p.run, f.stream, f.partition}, f.number) {
			received-- // though it was not acknowledged
		}
	}
	return p.acked - min(p.acked, received)
}

// describe is the driver's part of the report.
func (p *producer) describe(r *takt.Report) {
	extra := r.Extra
	acked := map[string]uint64{}
	for i, n := range p.meter.written() {
		acked[strconv.Itoa(i)] = n
	}
	extra["run"] = p.run.String()
	extra["partitions"] = acked
	extra["batches"] = p.meter.batches.Load()
	extra["payload_bytes"] = p.meter.bytes.Load()
	if n := p.wire.closed.Load(); n > 0 {
		extra["connections_closed"] = n
	}
	if gone := p.gone.Load(); gone != nil {
		r.Warn("broke_off", "the run ended before its time: %v", *gone)
	}
	p.describeBacklog(r)
	p.wire.describeTopic(r)
	if g := p.graphite; g != nil && g.lost.Load() > 0 {
		r.Warn("graphite", "the figures of %d intervals did not reach Graphite: %v", g.lost.Load(), g.failure.Load())
	}
}
