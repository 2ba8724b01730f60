package consume

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/ledger"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// message is a received record.
type message struct {
	topic     string
	partition int32
	offset    int64
	value     []byte
	header    []byte    // header with the stamp, or nil
	sent      time.Time // timestamp of the record, in whole milliseconds
	end       int64     // offset after the partition's last record, as far as the client knows; 0: unknown in this message

	// The receiver sets the following fields.
	stamp    cluster.Stamp
	stamped  bool
	transfer time.Duration // transit time; negative: the clocks differ
}

func (m *message) place() place { return place{m.topic, m.partition} }

// maxBatch is the largest number of messages in a consumer's batch.
const maxBatch = 512

// taking receives messages of one partition that arrived together at the instant at. It
// returns how many of the first the run counted; the others must not be committed. It does
// not keep the batch.
type taking func(batch []message, at time.Time) int

// Consumer is a library that receives records. It reports its offsets and troubles to its
// receiver.
type Consumer interface {
	// consume hands over arriving messages until ctx ends, or an error is permanent. Several
	// goroutines may call take.
	consume(ctx context.Context, take taking) error
	// Follow also reads added partitions of a topic, from a number to another, unless the library
	// finds them itself. It may run in parallel with other methods.
	Follow(topic string, from, to int32)
	Close()
}

// Receiver counts arriving messages.
type Receiver struct {
	traffic *cluster.Traffic
	only    *cluster.RunID // run whose records count, for e2e; nil: all runs

	topics    []string // topics that are read
	committed bool     // without the records of aborted transactions

	until map[place]int64 // end offsets to reach, by partition; nil: the run ends otherwise
	full  func()          // called when all ends are reached

	mu         sync.Mutex
	ledger     *ledger.Ledger[cluster.StreamKey]
	from       string // start of transfer: due, sent, or "" for unknown yet
	skewed     uint64 // messages that arrived before they were due: the clocks differ
	partitions map[place]*partition
	turnover   turnover
	troubles   troubles
	held       map[int]func() bool // by member: whether its client has records that are not counted
	outages    *outages            // nil: another part of the run sees them
}

// troubles are errors from which a client recovered.
type troubles struct {
	mu    sync.Mutex
	count int
	last  error
}

func (t *troubles) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	t.last = err
}

// describe warns of the errors.
func (t *troubles) describe(rep *takt.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count > 0 {
		rep.Warn(warn.FetchErrors, "the consumer met %d errors and went on; the last one: %v", takt.Number("errors", t.count), t.last)
	}
}

// partition is the state of one partition.
type partition struct {
	received  uint64
	next, end int64 // offsets
	left      bool  // no member of this process reads the partition now
	orphan    bool  // and none outside either: its member is gone, and the group does not know it yet
	owner     int   // member of this process that reads it, or read it last

	start   int64   // where the log begins, as far as known
	got     int64   // offset after the last record that a fetch brought, counted or not
	looked  int64   // next at the last look at the log's beginning
	skipped skipped // what was not there
	guess   *guess  // nil: nothing was taken as deleted since the last records

	seen    int64         // offset after the last record that was ever received
	last    time.Time     // when the last records came
	paused  bool          // the group assigned the partition again, and no record has come since
	pauses  int           // number of pauses
	longest time.Duration // longest pause
}

// elsewhere reports whether the group may have given the partition to a member of another process.
func (p *partition) elsewhere() bool { return p.left && !p.orphan }

// lag is how many records this consumer has not read.
func (p *partition) lag() int64 {
	if p.elsewhere() {
		return 0
	}
	return p.end - p.next
}

// Lag is the sum over all partitions, as far as their ends are known.
func (r *Receiver) Lag() (sum int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitions {
		sum += max(0, p.lag())
	}
	return sum
}

// NewReceiver returns a Receiver for these topics that counts its bytes with t. only is the run whose
// records count; nil: all runs.
func NewReceiver(t *cluster.Traffic, only *cluster.RunID, topics ...string) *Receiver {
	return &Receiver{traffic: t, topics: topics, only: only, ledger: ledger.New[cluster.StreamKey](only != nil), partitions: map[place]*partition{}, held: map[int]func() bool{}}
}

// Start points of transfer latencies.
const (
	fromDue  = "due"
	fromSent = "sent"
)

// decode reads the stamps of messages.
func (r *Receiver) decode(batch []message, at time.Time) {
	for i := range batch {
		m := &batch[i]
		if m.stamp, m.stamped = cluster.ReadStamp(m.header); !m.stamped {
			m.stamp, m.stamped = cluster.ReadStamp(m.value)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		batch[i].transfer = r.transfer(&batch[i], at)
	}
}

// transfer is the transit time of a message. The first message decides where it starts,
// because figures of two kinds cannot be merged. The caller holds the lock.
func (r *Receiver) transfer(m *message, at time.Time) time.Duration {
	kind, began := fromSent, m.sent
	if m.stamped {
		kind, began = fromDue, time.Unix(0, m.stamp.Due)
	}
	if r.from == "" {
		r.from = kind
	}
	if kind != r.from || began.IsZero() {
		return 0
	}
	return at.Sub(began)
}

// ours reports whether a message counts.
func (r *Receiver) ours(m *message) bool {
	return m.stamped && (r.only == nil || m.stamp.Run == *r.only)
}

// count counts the first messages of a batch, up to wanted.
func (r *Receiver) count(batch []message, wanted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place(batch, wanted)
	for i := range wanted {
		m := &batch[i]
		if m.transfer < 0 {
			r.skewed++
		}
		if r.ours(m) {
			r.ledger.Note(cluster.StreamKey{Run: m.stamp.Run, Stream: m.stamp.Stream, Partition: m.partition}, m.stamp.Number)
		} else {
			r.ledger.Foreign++
		}
	}
}

// place counts a batch for its partition. The caller holds the lock.
func (r *Receiver) place(batch []message, wanted int) {
	first, last := &batch[0], &batch[len(batch)-1]
	p := r.partitions[first.place()]
	if p == nil {
		p = &partition{next: first.offset, got: last.offset + 1}
		r.partitions[first.place()] = p
	}
	p.came(first.offset)
	p.got, p.end = max(p.got, last.offset+1), max(p.end, last.end, last.offset+1)
	if wanted > 0 {
		p.received += uint64(wanted)
		p.next = batch[wanted-1].offset + 1
		for i := 0; i < wanted && batch[i].offset < p.seen; i++ {
			r.turnover.reread++
		}
		p.seen = max(p.seen, p.next)
	}
	r.checkEnds()
}

// begin notes the offset from which a member reads a partition. Without a group the member is 0.
func (r *Receiver) begin(member int, at place, offset int64) {
	r.outages.begun(at, time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.partitions[at]
	if p == nil {
		p = &partition{owner: member}
		r.partitions[at] = p
	} else if r.turnover.settled {
		p.paused = true
		if p.owner != member {
			r.turnover.moves++
		}
	}
	p.next, p.got, p.end, p.left, p.orphan, p.owner = offset, offset, max(p.end, offset), false, false, member
	p.guess = nil
	r.trySettle()
	r.checkEnds()
}

// add notes a partition that nobody has read, and where its reading would have begun.
func (r *Receiver) add(at place, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.partitions[at] == nil {
		r.partitions[at] = &partition{next: offset}
	}
}

// unread notes that no process reads a partition that this one gave up, unless others have committed
// a later offset since: then its lag is theirs. It reports whether this process ever had the partition.
func (r *Receiver) unread(at place, committed int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.partitions[at]
	if p == nil {
		return false
	}
	p.orphan = committed <= p.next
	return true
}

// others reports whether some members are not of this process.
func (r *Receiver) others(members []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(members, func(id string) bool { return !slices.Contains(r.turnover.ids, id) })
}

// leave notes that a member no longer reads a partition.
func (r *Receiver) leave(member int, at place) {
	r.mu.Lock()
	if p := r.partitions[at]; p != nil && p.owner == member {
		p.left = true
	}
	r.mu.Unlock() // outages ask what has arrived
	r.outages.left(at, time.Now())
}

// lagOf is how many records of a partition are not read.
func (r *Receiver) lagOf(at place) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.partitions[at]; p != nil {
		return p.lag()
	}
	return 0
}

// leaveAll notes that a member reads nothing any more. What the group has not taken from it nobody reads
// until the member is back, or the group notices.
func (r *Receiver) leaveAll(member int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitions {
		if p.owner == member && !p.left {
			p.left, p.orphan = true, true
		}
	}
}

// of are the partitions that a member reads.
func (r *Receiver) of(member int) (list []place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, p := range r.partitions {
		if !p.left && p.owner == member {
			list = append(list, at)
		}
	}
	return list
}

// pass notes the offset up to which a partition was read: Kafka's own records are not
// messages.
func (r *Receiver) pass(number place, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.partitions[number]; p != nil {
		p.next, p.end = max(p.next, offset), max(p.end, offset)
	}
	r.checkEnds()
}

// checkEnds calls full when all partitions were read to the end. The caller holds the lock.
func (r *Receiver) checkEnds() {
	if r.until == nil {
		return
	}
	reads := false
	for number, p := range r.partitions {
		if !p.elsewhere() && p.next < r.until[number] {
			return
		}
		reads = reads || !p.left
	}
	if reads {
		r.full()
	}
}

// read are the partitions that this consumer reads, or should.
func (r *Receiver) read() (list []place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for number, p := range r.partitions {
		if !p.elsewhere() {
			list = append(list, number)
		}
	}
	return list
}

// readOf are the partitions of a topic that this consumer reads.
func (r *Receiver) readOf(topic string) (list []int32) {
	for _, p := range r.read() {
		if p.topic == topic {
			list = append(list, p.partition)
		}
	}
	return list
}

// setEnds sets the partitions' end offsets.
func (r *Receiver) setEnds(ends map[place]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for number, end := range ends {
		if p := r.partitions[number]; p != nil {
			p.end = max(p.next, end)
		}
	}
}

// look notes the ends of a topic's partitions during the run. Answers to fetches may know later ones.
func (r *Receiver) look(topic string, l cluster.Look) {
	r.mu.Lock()
	for number, end := range l.Ends {
		if p := r.partitions[place{topic, number}]; p != nil {
			p.end = max(p.end, end)
		}
	}
	for number, start := range l.Starts {
		r.begins(place{topic, number}, start)
	}
	r.checkEnds()
	for at, p := range r.partitions {
		if at.topic == topic && p.left { // nobody fetches from it
			delete(l.Ends, at.partition)
			delete(l.Errs, at.partition)
		}
	}
	r.mu.Unlock()
	r.outages.looked(topic, l, time.Now(), r.lagOf)
}

// receive is takt.Driver.Receive of consumers.
func (r *Receiver) receive(ctx context.Context, c Consumer, sink takt.Sink) error {
	pool := sync.Pool{New: func() any { return new([maxBatch]takt.Result) }}
	return c.consume(ctx, func(batch []message, at time.Time) int {
		r.decode(batch, at)
		results := pool.Get().(*[maxBatch]takt.Result)
		defer pool.Put(results)
		for i := range batch {
			results[i].Phases[cluster.PhaseTransfer] = max(0, batch[i].transfer)
		}
		r.traffic.Drain(&results[0])
		wanted := sink.Received(results[:len(batch)])
		if wanted > 0 {
			r.recordPause(sink, batch, at)
		}
		r.count(batch, wanted)
		r.outages.arrived(batch[0].place(), at)
		return wanted
	})
}

// ReceiveOwn ends an operation of this process when its record arrives. sink is that of the
// operations.
func (r *Receiver) ReceiveOwn(ctx context.Context, c Consumer, sink takt.Sink) error {
	return c.consume(ctx, func(batch []message, at time.Time) int {
		r.decode(batch, at)
		for i := range batch {
			m := &batch[i]
			r.count(batch[i:i+1], 1)
			if !r.ours(m) {
				continue
			}
			var res takt.Result
			r.traffic.Drain(&res)
			res.Phases[cluster.PhaseTransfer] = max(0, m.transfer)
			sink.Done(m.stamp.Token, &res)
		}
		return len(batch)
	})
}

// Lost is the number of messages that should have arrived and did not, which missing computes
// from the messages that arrived.
func (r *Receiver) Lost(missing func(received uint64, has func(cluster.StreamKey, uint64) bool) uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return missing(r.ledger.Received, r.ledger.Has)
}

// Has reports whether a record of a stream arrived.
func (r *Receiver) Has(stream cluster.StreamKey, number uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Has(stream, number)
}

// Arrivals are the records so far that came twice, or after a later one.
func (r *Receiver) Arrivals() outage.Arrivals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return outage.Arrivals{Doubled: r.ledger.Duplicate, Reordered: r.ledger.Reordered}
}

// Describe adds the driver's part of the report.
func (r *Receiver) Describe(rep *takt.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.describePartitions(rep)
	r.describeGroup(rep)
	if r.from != "" {
		rep.Extra["transfer_from"] = r.from
	}
	if r.only != nil {
		rep.Extra["received"] = r.ledger.Received
	}
	r.ledger.Describe(rep.Extra)
	r.describeSkipped(rep, r.committed)
	r.troubles.describe(rep)
	if r.skewed > 0 {
		rep.Warn(warn.ClockSkew, "%d records arrived before they were due: the clocks of sender and receiver differ, and transfer times are wrong by as much", takt.Number("records", r.skewed))
	}
}
