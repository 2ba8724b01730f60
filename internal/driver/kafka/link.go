package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/kwire"
	"github.com/taktload/takt/internal/sock"
)

// link is the connection to one broker. One goroutine writes and reconnects; another reads
// the answers, which come in the order of the requests.
type link struct {
	*own
	addr    string
	wake    chan struct{} // has a token when the writer has work
	mu      sync.Mutex
	queue   ring[*part]
	flight  []request // requests without an answer, oldest first
	sending bool      // the newest request in flight is being sent
	sent    sync.Cond // signals that the newest request was sent
	settles int       // requests whose rejected records have not been returned to the queue
	conn    *kwire.Conn
	failure error // error of conn; the writer clears conn and failure

	batches []*kwire.Batch // only for the writer
}

// request is the parts that were sent together.
type request struct {
	parts    []*part
	deadline time.Time // earliest deadline of parts
}

// mostTogether is the largest size in bytes of a request with several parts. Brokers refuse
// requests above 100 MiB.
const mostTogether = 16 << 20

func newLink(c *own) *link {
	l := &link{own: c, wake: make(chan struct{}, 1)}
	l.sent.L = &l.mu
	return l
}

// moveTo sets the broker's address.
func (l *link) moveTo(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addr = addr
}

// push queues p.
func (l *link) push(p *part) {
	l.mu.Lock()
	l.queue.push(p)
	l.mu.Unlock()
	l.poke()
}

func (l *link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// serve writes until the client is closed.
func (l *link) serve() {
	for {
		select {
		case <-l.wake:
		case <-l.ctx.Done():
			l.broken(l, l.ctx.Err())
			return
		}
		for l.step() {
		}
	}
}

// step does the next work and reports whether there may be more.
func (l *link) step() bool {
	l.mu.Lock()
	renew := l.conn != nil && l.conn.Expired()
	switch {
	case l.ctx.Err() != nil:
	case l.failure != nil:
		err := l.failure
		l.mu.Unlock()
		l.broken(l, err)
		return true
	case l.queue.len() == 0 || l.full(renew):
	case l.conn == nil || renew:
		l.reconnect()
		return true
	default:
		l.send()
		return true
	}
	l.mu.Unlock()
	return false
}

// full reports whether no other request may be sent now: with MaxOpen requests open, or
// before a renewal, records rejected by an answer go first. The caller holds the lock.
func (l *link) full(renew bool) bool {
	n := len(l.flight) + l.settles
	return n >= l.MaxOpen || renew && n > 0
}

// hangUp closes the connection. It returns the parts in flight and the queued parts.
func (l *link) hangUp() (list []*part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
	l.conn, l.failure = nil, nil
	l.sent.Broadcast()
	for _, r := range l.flight {
		list = append(list, r.parts...)
	}
	l.flight = l.flight[:0]
	for l.queue.len() > 0 {
		list = append(list, l.queue.pop())
	}
	return list
}

// withdraw returns the queued parts of that partition.
func (l *link) withdraw(partition int32) (list []*part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range l.queue.len() {
		if p := l.queue.pop(); p.Partition() == partition {
			list = append(list, p)
		} else {
			l.queue.push(p)
		}
	}
	return list
}

// reconnect replaces the connection. The caller holds the lock, which reconnect releases
// meanwhile.
func (l *link) reconnect() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
	deadline := time.Now().Add(redialTime)
	for i := range l.queue.len() {
		deadline = earliest(deadline, l.queue.at(i))
	}
	l.mu.Unlock()
	ctx, cancel := context.WithDeadline(l.ctx, deadline)
	err := l.connect(ctx)
	cancel()
	if err != nil {
		l.broken(l, err)
	}
}

// connect makes the connection.
func (l *link) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.ConnectTimeout)
	defer cancel()
	l.mu.Lock()
	addr := l.addr
	l.mu.Unlock()
	nc, err := l.dialBroker(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	conn, err := l.protocol.Open(ctx, nc, addr)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil { // the client was closed meanwhile
		conn.Close()
		return l.ctx.Err()
	}
	l.conn = conn
	l.tasks.Go(func() { l.read(conn) })
	return nil
}

// send sends the oldest parts in one request. The caller holds the lock, which send releases
// meanwhile.
func (l *link) send() {
	parts, late := l.take()
	if len(parts) == 0 {
		l.mu.Unlock()
	} else {
		l.sendParts(parts)
	}
	for _, p := range late {
		l.done(p, fmt.Errorf("%w: %w", errTooLate, os.ErrDeadlineExceeded))
	}
}

// sendParts sends parts in one request. The caller holds the lock, which sendParts releases
// meanwhile.
func (l *link) sendParts(parts []*part) {
	conn, silent := l.conn, l.protocol.Acks == 0
	deadline := earliest(parts[0].deadline, parts[1:]...)
	if !silent {
		l.flight, l.sending = append(l.flight, request{parts, deadline}), true
		l.await()
	}
	l.mu.Unlock()
	l.batches = l.batches[:0]
	for _, p := range parts {
		l.batches = append(l.batches, &p.Batch)
	}
	_ = conn.SetWriteDeadline(deadline)
	err := conn.Send(l.batches)
	l.mu.Lock()
	l.sending = false
	l.sent.Broadcast()
	l.mu.Unlock()
	if err != nil {
		l.fail(conn, err)
	}
	if !silent {
		return // parts in flight are answered, or sent again
	}
	for _, p := range parts {
		if err != nil {
			l.refused(l, p, err)
		} else {
			l.done(p, nil)
		}
	}
}

// await sets the deadline for answers. The caller holds the lock.
func (l *link) await() {
	first := time.Time{}
	for i, r := range l.flight {
		if i == 0 || r.deadline.Before(first) {
			first = r.deadline
		}
	}
	_ = l.conn.SetReadDeadline(first) // fails on a closed connection, as reading does
}

// take removes the oldest parts of different partitions from the queue; late are those past
// their deadline. The caller holds the lock.
func (l *link) take() (parts, late []*part) {
	now, bytes := time.Now(), 0
	for l.queue.len() > 0 {
		p := *l.queue.head()
		bytes += p.Size()
		twice := slices.ContainsFunc(parts, func(q *part) bool { return q.Partition() == p.Partition() })
		if twice || len(parts) > 0 && bytes > mostTogether {
			break
		}
		l.queue.pop()
		if now.Before(p.deadline) {
			parts = append(parts, p)
		} else {
			late = append(late, p)
		}
	}
	return parts, late
}

// fail notes for the writer why conn is no longer usable.
func (l *link) fail(conn *kwire.Conn, err error) {
	l.mu.Lock()
	if l.conn == conn && l.failure == nil {
		l.failure = err
		conn.Close()
	}
	l.mu.Unlock()
	l.poke()
}

// read reads the answers of conn until it fails.
func (l *link) read(conn *kwire.Conn) {
	for {
		resp, err := conn.Receive()
		arrived := sock.Arrived(conn.Conn)
		if err != nil {
			l.fail(conn, err)
			return
		}
		l.mu.Lock()
		for l.conn == conn && l.sending && len(l.flight) == 1 { // the parts' memory is in use until they are sent
			l.sent.Wait()
		}
		if l.conn != conn || len(l.flight) == 0 {
			l.mu.Unlock()
			l.fail(conn, errUnasked)
			return
		}
		parts := l.flight[0].parts
		l.flight = slices.Delete(l.flight, 0, 1)
		l.settles++
		l.await()
		l.mu.Unlock()
		l.settle(parts, resp, arrived)
	}
}

var (
	errUnasked = errors.New("the broker answers what it was not asked")
	errSilence = errors.New("the broker does not say what became of the records")
)

// settle ends acknowledged parts, after the rejected parts are queued again.
func (l *link) settle(parts []*part, resp *kmsg.ProduceResponse, arrived time.Time) {
	good := parts[:0]
	for _, p := range parts {
		if err := verdict(resp, p.Partition()); err != nil {
			l.refused(l, p, err)
		} else {
			good = append(good, p)
		}
	}
	l.mu.Lock()
	l.settles--
	waits := l.queue.len() > 0
	l.mu.Unlock()
	if waits {
		l.poke()
	}
	for _, p := range good {
		p.batch.arrive(arrived)
		l.done(p, nil)
	}
}

// verdict is the broker's answer for a partition.
func verdict(resp *kmsg.ProduceResponse, partition int32) error {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.Partition == partition {
				return kerr.ErrorForCode(p.ErrorCode)
			}
		}
	}
	return errSilence
}

// close ends everything that the link's goroutines may wait for.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
}
