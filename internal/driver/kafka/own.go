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

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/kwire"
)

// own sends takt's own batches over a connection to each leader. franz-go finds the leaders.
//
// Parts for one partition keep their order. They are written in the order in which they come,
// and to a new leader only when the old one has answered. While one part has no leader, later
// parts wait behind it. Parts in flight together cannot be recalled, so a refusal of one
// changes the order, unless MaxOpen is 1.
type own struct {
	*Produce
	protocol kwire.Producer
	client   *kgo.Client
	compress kgo.Compressor // nil: no compression
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup

	mu      sync.Mutex
	links   map[int32]*link // links by broker
	lanes   []lane          // lanes by partition
	astray  []*part         // parts whose leader is unknown, or refused them
	gone    error           // error if the topic is gone: no leaders to look for
	looking bool
	looked  time.Time // last request for the leaders; only for look
	written uint64    // number of parts written
}

// lane is the route to one partition.
type lane struct {
	leader *link // nil: unknown
	last   *link // the link that received the previous part
	onWay  int   // number of parts that last has not answered
	astray bool  // a part has no leader: later parts wait behind it
}

// openOwn connects to all leaders.
func (o *Produce) openOwn() (client, error) {
	compress, err := o.compressor()
	if err != nil {
		return nil, err
	}
	_, acks := acksOf(o.Acks)
	c := &own{Produce: o, compress: compress, links: map[int32]*link{}, lanes: make([]lane, o.partitions), protocol: kwire.Producer{
		ClientID: clientID, Topic: o.Topic, Acks: int16(acks), Timeout: o.Timeout, Oldest: kwire.Oldest, Newest: o.newestProduce(), SASL: o.SASL.mechanism(),
	}}
	if o.Compression == "zstd" {
		c.protocol.Oldest = kwire.OldestZstd
	}
	if c.client, err = kgo.NewClient(append(o.franz(), kgo.RequestRetries(1))...); err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(c.ctx, o.ConnectTimeout)
	defer cancel()
	if err = c.find(ctx); err == nil {
		err = c.connect(ctx)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// connect connects all links in advance, so that no record waits for a connection.
func (c *own) connect(ctx context.Context) error {
	for _, l := range c.links {
		if err := l.connect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find asks for the leaders.
func (c *own) find(ctx context.Context) error {
	resp, err := c.metadata(ctx, c.client)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	addrs := map[int32]string{}
	for _, b := range resp.Brokers {
		addrs[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	if more := len(resp.Topics[0].Partitions) - len(c.lanes); more > 0 {
		c.lanes = append(c.lanes, make([]lane, more)...)
	}
	for i := range c.lanes {
		c.lanes[i].leader = nil
	}
	for _, p := range resp.Topics[0].Partitions {
		addr, known := addrs[p.Leader]
		if !known {
			continue
		}
		l := c.links[p.Leader]
		if l == nil {
			l = newLink(c)
			c.links[p.Leader] = l
			c.tasks.Go(l.serve)
		}
		l.moveTo(addr)
		c.lanes[p.Partition].leader = l
	}
	return nil
}

// write implements client.
func (c *own) write(b *batch) {
	deadline := b.began.Add(c.Timeout)
	for _, p := range b.parts {
		p.deadline = deadline
		p.Seal(b.began, c.compress)
	}
	c.mu.Lock()
	for _, p := range b.parts {
		c.written++
		p.turn = c.written
		c.route(p)
	}
	c.mu.Unlock()
}

// route queues p at its leader's link, unless p would overtake others of its partition. The
// caller holds the lock.
func (c *own) route(p *part) {
	lane := &c.lanes[p.Partition()]
	if lane.leader == nil || lane.astray || lane.onWay > 0 && lane.last != lane.leader {
		c.stray(p)
		return
	}
	lane.last = lane.leader
	lane.onWay++
	lane.leader.push(p)
}

// stray keeps p until its leader is found. The caller holds the lock.
func (c *own) stray(p *part) {
	c.astray = append(c.astray, p)
	c.lanes[p.Partition()].astray = true
	c.search()
}

// done ends a part that its link has finished: err is nil if it was acknowledged.
func (c *own) done(p *part, err error) {
	c.mu.Lock()
	c.lanes[p.Partition()].onWay--
	c.mu.Unlock()
	p.end(err)
}

// refused handles a part that the leader of l refused or did not receive. If the part may be
// sent again, so may the parts behind it, later.
func (c *own) refused(l *link, p *part, err error) {
	c.mu.Lock()
	list := []*part{p}
	if passes(err) {
		list = append(list, l.withdraw(p.Partition())...)
	}
	over := c.again(list, err)
	c.mu.Unlock()
	c.end(over)
}

// broken handles the parts of l after its connection broke.
func (c *own) broken(l *link, err error) {
	c.mu.Lock()
	over := c.again(l.hangUp(), err)
	if c.protocol.Acks == 0 && c.ctx.Err() == nil {
		// Without acknowledgements, a closed connection is all that shows that the broker is
		// no longer the leader.
		for i := range c.lanes {
			if lane := &c.lanes[i]; lane.leader == l {
				lane.leader = nil
			}
		}
		c.search()
	}
	c.mu.Unlock()
	c.end(over)
}

// again retries parts that were not acknowledged, and returns the parts that may not be sent
// again. The caller holds the lock.
func (c *own) again(list []*part, err error) (over []*part) {
	for _, p := range list {
		c.lanes[p.Partition()].onWay--
		p.err = err
		if c.ctx.Err() == nil && c.gone == nil && passes(err) && time.Now().Before(p.deadline) {
			c.stray(p)
		} else {
			over = append(over, p)
		}
	}
	return over
}

// passes reports whether sending a record again may succeed.
func passes(err error) bool {
	var broker *kerr.Error
	return !errors.As(err, &broker) || broker.Retriable
}

// end ends parts with their last errors.
func (c *own) end(list []*part) {
	for _, p := range list {
		err := p.err
		switch {
		case c.ctx.Err() != nil:
			err = kgo.ErrClientClosed
		case err == nil:
			err = fmt.Errorf("%w: the partition has no leader", errTooLate)
		case passes(err):
			err = fmt.Errorf("%w: %w", errTooLate, err)
		}
		p.end(err)
	}
}

// errTooLate is the error of records that were not acknowledged within --timeout.
var errTooLate = errors.New("not acknowledged in time")

const (
	lookEvery  = 100 * time.Millisecond // time between two requests for the leaders
	lookTime   = time.Second            // time limit for an answer
	redialTime = 2 * time.Second        // time limit for a new connection; meanwhile the leader may change
)

// search starts look unless it runs. The caller holds the lock.
func (c *own) search() {
	if !c.looking {
		c.looking = true
		c.tasks.Go(c.look)
	}
}

// look looks for the leaders until no part is without one.
func (c *own) look() {
	for done := false; !done; {
		select {
		case <-c.ctx.Done():
		case <-time.After(lookEvery - time.Since(c.looked)):
		}
		ctx, cancel := context.WithDeadline(c.ctx, c.patience())
		err := c.find(ctx)
		cancel()
		c.looked = time.Now()
		var over []*part
		over, done = c.reroute(err)
		c.end(over)
	}
}

// patience is the deadline for an answer about the leaders.
func (c *own) patience() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return earliest(time.Now().Add(lookTime), c.astray...)
}

// earliest is the earliest of deadline and the deadlines of parts.
func earliest(deadline time.Time, parts ...*part) time.Time {
	for _, p := range parts {
		if p.deadline.Before(deadline) {
			deadline = p.deadline
		}
	}
	return deadline
}

// reroute sends parts on after a request for the leaders with the result err. It returns the
// parts that are too late, and whether every part has a leader.
func (c *own) reroute(err error) (over []*part, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.astray
	c.astray = nil
	slices.SortFunc(list, func(a, b *part) int { return cmp.Compare(a.turn, b.turn) })
	for i := range c.lanes {
		c.lanes[i].astray = false
	}
	for _, p := range list {
		switch {
		case c.ctx.Err() != nil || c.gone != nil || !time.Now().Before(p.deadline):
			over = append(over, p)
			if p.err == nil {
				p.err = err
			}
		case err != nil:
			c.stray(p)
		default:
			c.route(p)
		}
	}
	c.looking = len(c.astray) > 0
	return over, !c.looking
}

// knows implements client.
func (c *own) knows(ctx context.Context, partitions int32) bool {
	if err := c.find(ctx); err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lanes) >= int(partitions) && !slices.ContainsFunc(c.lanes, func(l lane) bool { return l.leader == nil })
}

// forsake implements client: parts without a leader end with the next look.
func (c *own) forsake(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = err
	c.search()
}

// commit implements client: there are no transactions.
func (c *own) commit(context.Context, bool) error { return nil }

// close implements client.
func (c *own) close() {
	c.cancel()
	c.mu.Lock()
	for _, l := range c.links {
		l.close()
	}
	c.mu.Unlock()
	c.tasks.Wait()
	c.client.Close()
}
