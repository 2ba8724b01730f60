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

	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/internal/sock"
)

// link is the connection to one broker. One goroutine writes and reconnects; another reads
// the answers, which come in the order of the requests.
type link struct {
	*Producer
	addr    string
	wake    chan struct{} // has a token when the writer has work
	mu      sync.Mutex
	queue   ring.Queue[*Batch]
	flight  []request // requests without an answer, oldest first
	sending bool      // the newest request in flight is being sent
	sent    sync.Cond // signals that the newest request was sent
	settles int       // requests whose rejected batches have not been returned to the queue
	conn    *Conn
	failure error // error of conn; the writer clears conn and failure
}

// request is the batches that were sent together.
type request struct {
	batches  []*Batch
	deadline time.Time // earliest deadline of batches
}

// mostTogether is the largest size in bytes of a request with several batches. Brokers refuse
// requests above 100 MiB.
const mostTogether = 16 << 20

func newLink(p *Producer) *link {
	l := &link{Producer: p, wake: make(chan struct{}, 1)}
	l.sent.L = &l.mu
	return l
}

// moveTo sets the broker's address.
func (l *link) moveTo(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addr = addr
}

// push queues b.
func (l *link) push(b *Batch) {
	l.mu.Lock()
	l.queue.Push(b)
	l.mu.Unlock()
	l.poke()
}

func (l *link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// serve writes until the producer is closed.
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
	renew := l.conn != nil && l.conn.expired()
	switch {
	case l.ctx.Err() != nil:
	case l.failure != nil:
		err := l.failure
		l.mu.Unlock()
		l.broken(l, err)
		return true
	case l.queue.Len() == 0 || l.full(renew):
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
// before a renewal, batches rejected by an answer go first. The caller holds the lock.
func (l *link) full(renew bool) bool {
	n := len(l.flight) + l.settles
	return n >= l.opt.MaxOpen || renew && n > 0
}

// hangUp closes the connection. It returns the batches in flight and the queued batches.
func (l *link) hangUp() (list []*Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
	l.conn, l.failure = nil, nil
	l.sent.Broadcast()
	for _, r := range l.flight {
		list = append(list, r.batches...)
	}
	l.flight = l.flight[:0]
	for l.queue.Len() > 0 {
		list = append(list, l.queue.Pop())
	}
	return list
}

// withdraw returns the queued batches of that partition.
func (l *link) withdraw(partition int32) (list []*Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range l.queue.Len() {
		if b := l.queue.Pop(); b.Partition() == partition {
			list = append(list, b)
		} else {
			l.queue.Push(b)
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
	for i := range l.queue.Len() {
		deadline = earliest(deadline, l.queue.At(i))
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
	ctx, cancel := context.WithTimeout(ctx, l.opt.ConnectTimeout)
	defer cancel()
	l.mu.Lock()
	addr := l.addr
	l.mu.Unlock()
	nc, err := l.opt.Dial(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	conn, err := l.opt.Open(ctx, nc, addr)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil { // the producer was closed meanwhile
		conn.Close()
		return l.ctx.Err()
	}
	l.conn = conn
	l.tasks.Go(func() { l.read(conn) })
	return nil
}

// send sends the oldest batches in one request. The caller holds the lock, which send releases
// meanwhile.
func (l *link) send() {
	batches, late := l.take()
	if len(batches) == 0 {
		l.mu.Unlock()
	} else {
		l.sendBatches(batches)
	}
	for _, b := range late {
		l.done(b, time.Time{}, fmt.Errorf("%w: %w", ErrTooLate, os.ErrDeadlineExceeded))
	}
}

// sendBatches sends batches in one request. The caller holds the lock, which sendBatches
// releases meanwhile.
func (l *link) sendBatches(batches []*Batch) {
	conn, silent := l.conn, l.opt.Acks == 0
	deadline := earliest(batches[0].deadline, batches[1:]...)
	for _, b := range batches {
		b.sent, b.open = true, !silent
	}
	if !silent {
		l.flight, l.sending = append(l.flight, request{batches, deadline}), true
		l.await()
	}
	l.mu.Unlock()
	for _, b := range batches {
		if b.numbered {
			b.sign(b.identity, b.first)
		}
	}
	_ = conn.SetWriteDeadline(deadline)
	err := conn.send(batches)
	l.mu.Lock()
	if err != nil { // a request without its end is none
		for _, b := range batches {
			b.open = false
		}
	}
	l.sending = false
	l.sent.Broadcast()
	l.mu.Unlock()
	if err != nil {
		l.fail(conn, err)
	}
	if !silent {
		return // batches in flight are answered, or sent again
	}
	for _, b := range batches {
		if err != nil {
			l.refused(l, b, err)
		} else {
			l.done(b, time.Time{}, nil)
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

// take removes the oldest batches of different partitions from the queue; late are those past
// their deadline. The caller holds the lock.
func (l *link) take() (batches, late []*Batch) {
	now, bytes := time.Now(), 0
	for l.queue.Len() > 0 {
		b := *l.queue.Head()
		bytes += b.Size()
		twice := slices.ContainsFunc(batches, func(q *Batch) bool { return q.Partition() == b.Partition() })
		if twice || len(batches) > 0 && bytes > mostTogether {
			break
		}
		l.queue.Pop()
		if now.Before(b.deadline) {
			batches = append(batches, b)
		} else {
			late = append(late, b)
		}
	}
	return batches, late
}

// fail notes for the writer why conn is no longer usable.
func (l *link) fail(conn *Conn, err error) {
	l.mu.Lock()
	if l.conn == conn && l.failure == nil {
		l.failure = err
		conn.Close()
	}
	l.mu.Unlock()
	l.poke()
}

// read reads the answers of conn until it fails.
func (l *link) read(conn *Conn) {
	for {
		resp, err := conn.receive()
		arrived := sock.Arrived(conn.Conn)
		if err != nil {
			l.fail(conn, err)
			return
		}
		if f := l.opt.Throttled; f != nil && resp.ThrottleMillis > 0 {
			f(time.Duration(resp.ThrottleMillis) * time.Millisecond)
		}
		l.mu.Lock()
		for l.conn == conn && l.sending && len(l.flight) == 1 { // the batches' memory is in use until they are sent
			l.sent.Wait()
		}
		if l.conn != conn || len(l.flight) == 0 {
			l.mu.Unlock()
			l.fail(conn, errUnasked)
			return
		}
		batches := l.flight[0].batches
		l.flight = slices.Delete(l.flight, 0, 1)
		l.settles++
		l.await()
		l.mu.Unlock()
		l.settle(batches, resp, arrived)
	}
}

var (
	errUnasked = errors.New("the broker answers what it was not asked")
	errSilence = errors.New("the broker does not say what became of the records")
)

// settle ends acknowledged batches, after the rejected batches are queued again.
func (l *link) settle(batches []*Batch, resp *kmsg.ProduceResponse, arrived time.Time) {
	good := batches[:0]
	for _, b := range batches {
		err := verdict(resp, b.Partition())
		if err != nil && !(b.numbered && errors.Is(err, kerr.DuplicateSequenceNumber)) { // the broker has a duplicate already
			l.refused(l, b, err)
		} else {
			good = append(good, b)
		}
	}
	l.mu.Lock()
	l.settles--
	waits := l.queue.Len() > 0
	l.mu.Unlock()
	if waits {
		l.poke()
	}
	for _, b := range good {
		l.done(b, arrived, nil)
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
