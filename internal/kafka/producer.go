package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/taktload/takt/internal/pause"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options is what a Producer sends, and how it connects.
type Options struct {
	Protocol                      // Timeout also limits a batch, from Send to its acknowledgement
	Compress       kgo.Compressor // nil: no compression
	Partitions     int32          // number of known partitions
	MaxOpen        int            // largest number of open requests per connection
	ConnectTimeout time.Duration
	// Dial connects to a broker; with TLS, if the broker wants TLS.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Leaders asks for the leaders of the topic's partitions, and for the brokers' addresses.
	Leaders func(ctx context.Context) (*kmsg.MetadataResponse, error)
	// Identify asks a broker for an identity; brokers then drop what a retry wrote twice, and
	// batches of a partition keep their order. MaxOpen is at most MostOpenNumbered, and Acks -1.
	// nil: no identity.
	Identify func(ctx context.Context) (Identity, error)
	// Again is called when a batch of a partition waits to be sent again because of err. records is
	// the number of its records, 0 if they were not sent yet, or were counted before. since is when
	// Send got it. It must not call the producer. nil: nobody wants to know.
	Again func(partition int32, records int, since time.Time, err error)
	// Throttled is called when a broker says for how long it makes the producer wait, because of a
	// quota: until then it reads no request of the connection. nil: nobody wants to know.
	Throttled func(time.Duration)
}

// Producer sends batches over a connection to each leader.
//
// Batches for one partition keep their order. They are written in the order in which they
// come, and to a new leader only when the old one has answered. While one batch has no
// leader, later batches wait behind it. Batches in flight together cannot be recalled, so a
// refusal of one changes the order, unless MaxOpen is 1, or Options.Identify is set.
type Producer struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	links   map[int32]*link // links by broker
	routes  []route         // routes by partition
	astray  []*Batch        // batches whose leader is unknown, or refused them
	gone    error           // error if the topic is gone: no leaders to look for
	looking bool
	looked  time.Time // last request for the leaders; only for look
	turns   uint64    // number of batches sent

	identity Identity
	spent    bool // a partition needs another identity
}

// route is the way to one partition.
type route struct {
	leader *link // nil: unknown
	last   *link // the link that received the previous batch
	onWay  int   // number of batches that last has not answered
	astray bool  // a batch has no leader: later batches wait behind it
	// fenced: batches to be sent again wait until all that are in flight have their result, so that
	// their numbers come in order.
	fenced  bool
	numbers numbering
}

// NewProducer connects to all leaders. ctx limits only NewProducer.
func NewProducer(ctx context.Context, o Options) (*Producer, error) {
	p := &Producer{opt: o, links: map[int32]*link{}, routes: make([]route, o.Partitions)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	err := p.find(ctx)
	if err == nil {
		err = p.connect(ctx)
	}
	if err == nil && o.Identify != nil {
		p.identity, err = o.Identify(ctx)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// connect connects all links in advance, so that no record waits for a connection.
func (p *Producer) connect(ctx context.Context) error {
	for _, l := range p.links {
		err := l.connect(ctx)
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			err = fmt.Errorf("the broker at %s, which leads partitions, cannot be reached: %w; check that it runs, and its advertised.listeners", l.addr, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find asks for the leaders.
func (p *Producer) find(ctx context.Context) error {
	resp, err := p.opt.Leaders(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	addrs := map[int32]string{}
	for _, broker := range resp.Brokers {
		addrs[broker.NodeID] = net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port)))
	}
	if more := len(resp.Topics[0].Partitions) - len(p.routes); more > 0 {
		p.routes = append(p.routes, make([]route, more)...)
	}
	for i := range p.routes {
		p.routes[i].leader = nil
	}
	for _, partition := range resp.Topics[0].Partitions {
		addr, known := addrs[partition.Leader]
		if !known {
			continue
		}
		l := p.links[partition.Leader]
		if l == nil {
			l = newLink(p)
			p.links[partition.Leader] = l
			p.tasks.Go(l.serve)
		}
		l.moveTo(addr)
		p.routes[partition.Partition].leader = l
	}
	return nil
}

// Send sends batches without waiting for the answers, each of which goes to Batch.Ended. at is
// the time of their records, and when their time limit began. The producer does not keep
// list.
func (p *Producer) Send(list []*Batch, at time.Time) {
	deadline := at.Add(p.opt.Timeout)
	for _, b := range list {
		b.deadline, b.err, b.sent, b.counted, b.numbered = deadline, nil, false, false, false
		b.Seal(at, p.opt.Compress)
	}
	p.mu.Lock()
	for _, b := range list {
		p.turns++
		b.turn = p.turns
		p.forward(b)
	}
	p.mu.Unlock()
}

// forward queues b at its leader's link, unless b would overtake others of its partition. The
// caller holds the lock.
func (p *Producer) forward(b *Batch) {
	r := &p.routes[b.Partition()]
	if r.leader == nil || r.astray || r.fenced || r.onWay > 0 && r.last != r.leader || !p.number(b, r) {
		p.stray(b)
		return
	}
	r.last = r.leader
	r.onWay++
	r.leader.push(b)
}

// stray keeps b until its leader is found. The caller holds the lock.
func (p *Producer) stray(b *Batch) {
	p.astray = append(p.astray, b)
	p.routes[b.Partition()].astray = true
	p.search()
}

// done ends a batch that its link has finished: err is nil if it was acknowledged.
func (p *Producer) done(b *Batch, arrived time.Time, err error) {
	p.mu.Lock()
	p.routes[b.Partition()].onWay--
	if err == nil {
		p.acknowledge(b)
	} else {
		p.abandon(b)
	}
	p.mu.Unlock()
	b.Ended(arrived, err)
}

// refused handles a batch that the leader of l refused or did not receive. If the batch may
// be sent again, so may the batches behind it, later.
func (p *Producer) refused(l *link, b *Batch, err error) {
	p.mu.Lock()
	list := []*Batch{b}
	if passes(err) || b.numbered && isOutOfOrder(err) {
		list = append(list, l.withdraw(b.Partition())...)
	}
	over := p.again(list, err)
	p.mu.Unlock()
	p.end(over)
}

// broken handles the batches of l after its connection broke.
func (p *Producer) broken(l *link, err error) {
	p.mu.Lock()
	over := p.again(l.hangUp(), err)
	if p.opt.Acks == 0 && p.ctx.Err() == nil {
		// Without acknowledgements, a closed connection is all that shows that the broker is
		// no longer the leader.
		for i := range p.routes {
			if r := &p.routes[i]; r.leader == l {
				r.leader = nil
			}
		}
		p.search()
	}
	p.mu.Unlock()
	p.end(over)
}

// again retries batches that were not acknowledged, and returns the batches that may not be
// sent again. The caller holds the lock.
func (p *Producer) again(list []*Batch, err error) (over []*Batch) {
	for _, b := range list {
		p.routes[b.Partition()].onWay--
		b.err = err
		b.doubt(err)
		if p.ctx.Err() == nil && p.gone == nil && time.Now().Before(b.deadline) && p.retries(b, err) {
			p.tell(b)
			if !b.numbered && isOutOfOrder(err) { // it begins again, perhaps when there is another identity
				b.err = nil
			}
			p.stray(b)
		} else {
			p.abandon(b)
			over = append(over, b)
		}
	}
	return over
}

// tell calls Options.Again for b.
func (p *Producer) tell(b *Batch) {
	if p.opt.Again == nil || b.err == nil {
		return
	}
	records := 0
	if b.sent && !b.counted {
		b.counted, records = true, b.Len()
	}
	p.opt.Again(b.Partition(), records, b.deadline.Add(-p.opt.Timeout), b.err)
}

// passes reports whether sending a batch again may succeed.
func passes(err error) bool {
	var broker *kerr.Error
	return !errors.As(err, &broker) || broker.Retriable
}

// Refuses reports whether err is a broker's refusal of records, after which it does not have them.
// After its other errors it may: it writes the records first, and waits for other replicas.
func Refuses(err error) bool {
	var broker *kerr.Error
	if !errors.As(err, &broker) {
		return false
	}
	switch broker {
	case kerr.UnknownServerError, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.NetworkException:
		return false
	}
	return true
}

// doubt notes that b was not acknowledged, because of err.
func (b *Batch) doubt(err error) {
	if b.open && !Refuses(err) {
		b.doubts++
	}
	b.open = false
}

// Copies is how often the topic may have the batch, from its result err on: as often as it was
// sent and neither acknowledged nor refused, and once if it was acknowledged. Brokers keep one of
// those that have numbers.
func (b *Batch) Copies(err error) int {
	n := b.doubts
	if err == nil {
		n++
	}
	if b.numbered {
		return min(n, 1)
	}
	return n
}

// end ends batches with their last errors.
func (p *Producer) end(list []*Batch) {
	for _, b := range list {
		err := b.err
		switch {
		case p.ctx.Err() != nil:
			err = kgo.ErrClientClosed
		case err == nil:
			err = fmt.Errorf("%w: the partition has no leader", ErrTooLate)
		case passes(err):
			err = fmt.Errorf("%w: %w", ErrTooLate, err)
		}
		b.Ended(time.Time{}, err)
	}
}

// ErrTooLate is the error of a batch that was not acknowledged within Protocol.Timeout.
var ErrTooLate = errors.New("not acknowledged in time")

const (
	lookEvery  = 100 * time.Millisecond // time between two requests for the leaders
	lookTime   = time.Second            // time limit for an answer
	leastLook  = lookEvery / 2          // the same, however soon a batch is too late
	redialTime = 2 * time.Second        // time limit for a new connection; meanwhile the leader may change
)

// search starts look unless it runs. The caller holds the lock.
func (p *Producer) search() {
	if !p.looking {
		p.looking = true
		p.tasks.Go(p.look)
	}
}

// look looks for the leaders until no batch is without one.
func (p *Producer) look() {
	for done := false; !done; {
		pause.For(lookEvery-time.Since(p.looked), p.ctx.Done())
		ctx, cancel := context.WithDeadline(p.ctx, p.patience())
		err := errors.Join(p.find(ctx), p.renew(ctx))
		cancel()
		p.looked = time.Now()
		var over []*Batch
		over, done = p.reroute(err)
		p.end(over)
	}
}

// patience is the deadline for an answer about the leaders. While many batches wait, one is too late
// at every look, so that without leastLook no answer would ever come in time: after an outage that
// was longer than Protocol.Timeout no leader was found again.
func (p *Producer) patience() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	deadline, least := earliest(now.Add(lookTime), p.astray...), now.Add(leastLook)
	if deadline.Before(least) {
		return least
	}
	return deadline
}

// earliest is the earliest of deadline and the deadlines of batches.
func earliest(deadline time.Time, batches ...*Batch) time.Time {
	for _, b := range batches {
		if b.deadline.Before(deadline) {
			deadline = b.deadline
		}
	}
	return deadline
}

// reroute sends batches on after a request for the leaders with the result err. It returns
// the batches that are too late, and whether every batch has a leader.
func (p *Producer) reroute(err error) (over []*Batch, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.astray
	p.astray = nil
	slices.SortFunc(list, func(a, b *Batch) int { return cmp.Compare(a.turn, b.turn) })
	for i := range p.routes {
		p.routes[i].astray, p.routes[i].fenced = false, false
	}
	for _, b := range list {
		r := &p.routes[b.Partition()]
		r.fenced = p.opt.Identify != nil && r.onWay > 0
	}
	for _, b := range list {
		switch {
		case p.ctx.Err() != nil || p.gone != nil || !time.Now().Before(b.deadline):
			p.abandon(b)
			over = append(over, b)
			if b.err == nil {
				b.err = err
			}
		case err != nil:
			p.stray(b)
		default:
			p.forward(b)
		}
	}
	p.looking = len(p.astray) > 0
	return over, !p.looking
}

// Knows reports whether the leaders of this number of partitions are known, after asking for
// them.
func (p *Producer) Knows(ctx context.Context, partitions int32) bool {
	if err := p.find(ctx); err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.routes) >= int(partitions) && !slices.ContainsFunc(p.routes, func(r route) bool { return r.leader == nil })
}

// Forsake fails batches that are to be sent again, now and later: the topic is gone because
// of err.
func (p *Producer) Forsake(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = err
	p.search()
}

// Close fails all batches in flight and ends all connections.
func (p *Producer) Close() {
	p.cancel()
	p.mu.Lock()
	for _, l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.tasks.Wait()
}
