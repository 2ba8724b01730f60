package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Traffic counts the bytes of a run's connections, including compression and protocol, which no
// single record has. It also counts changes of the topic.
type Traffic struct {
	Sent, received atomic.Int64 // numbers of bytes
	Closed         atomic.Int64 // number of connections closed by a broker
	added          atomic.Int32 // number of partitions that others added
	throttles      atomic.Int64 // number of answers with which a broker made takt wait

	mu    sync.Mutex
	waits []wait        // of a quota, in their order, without overlaps
	held  time.Duration // time up to the end of the last of them in which any broker made takt wait
}

// wait is a time in which a broker answers nothing, because takt is above its quota.
type wait struct{ from, to time.Time }

// maxWaits limits the waits that are kept apart.
const maxWaits = 10_000

// hold notes a wait of d, which is above 0, from now on. Waits of several brokers are one.
func (w *Traffic) hold(now time.Time, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to, last := now.Add(d), len(w.waits)-1
	if last < 0 {
		w.waits, w.held = append(w.waits, wait{now, to}), d
		return
	}
	before := w.waits[last].to
	w.held += max(0, min(d, to.Sub(before)))
	switch {
	case !now.Before(before.Add(together)) && last+1 < maxWaits:
		w.waits = append(w.waits, wait{now, to})
	case to.After(before):
		w.waits[last].to = to
	}
}

// together is the time between two waits that are one: the broker answers one request between them.
const together = 200 * time.Millisecond

// Held reports whether the brokers made takt wait for a time without answers, but for less than patience of it. A zero
// to is now.
func (w *Traffic) Held(from, to time.Time, patience time.Duration) bool {
	if to.IsZero() {
		to = time.Now()
	}
	rest := to.Sub(from)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.waits {
		begin, end := one.from, one.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		rest -= max(0, end.Sub(begin))
	}
	return len(w.waits) > 0 && rest < patience
}

// HeldSince is Held for times since the start of a run; a to below 0 is now.
func (w *Traffic) HeldSince(start time.Time) func(from, to time.Duration) bool {
	return func(from, to time.Duration) bool {
		until := start.Add(to)
		if to < 0 {
			until = time.Time{}
		}
		return w.Held(start.Add(from), until, outage.Silence)
	}
}

// throttled is the time until now in which any broker made takt wait.
func (w *Traffic) throttled() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.waits); n > 0 {
		return w.held - max(0, time.Until(w.waits[n-1].to))
	}
	return 0
}

// OverQuota reports whether the waits for a quota shape the figures of a run.
func (w *Traffic) OverQuota(rep *takt.Report) bool {
	d := w.throttled()
	return d > 0 && d.Seconds() >= quotaShare*(rep.WarmupS+rep.DurationS)
}

// Throttled notes that a broker made takt wait for so long, because takt was above its quota.
func (w *Traffic) Throttled(d time.Duration) {
	if d > 0 {
		w.throttles.Add(1)
		w.hold(time.Now(), d)
	}
}

// OnBrokerThrottle implements kgo.HookBrokerThrottle.
func (w *Traffic) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) { w.Throttled(d) }

// quotaShare is the part of a run, from which the waits for a quota shape its figures.
const quotaShare = 0.01

// describeQuota warns of a quota.
func (w *Traffic) describeQuota(rep *takt.Report) {
	n, d := w.throttles.Load(), w.throttled()
	if !w.OverQuota(rep) {
		return
	}
	rep.Extra["throttled_s"] = d.Seconds()
	rep.Warn(warn.Quota, "the brokers made takt wait with %d answers, for %s with the drain, because it was above their quota: that time is the brokers', and so is a backlog; %s",
		takt.Number("answers", n), figure.Time("waited", d), takt.Advice("raise the quota of the user or of --client-id, or lower the rate"))
}

// Drain moves the counts since the last call into r, so that the sum of all results is the
// bytes on the wire.
func (w *Traffic) Drain(r *takt.Result) {
	r.BytesSent, r.BytesReceived = w.Sent.Swap(0), w.received.Swap(0)
}

// counted is a connection with counters.
type counted struct {
	net.Conn
	traffic *Traffic
	over    atomic.Bool // closed by either side
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.received.Add(int64(n))
	c.look(err)
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.Sent.Add(int64(n))
	c.look(err)
	return n, err
}

// NetConn is the connection below, for sock.Arrived.
func (c *counted) NetConn() net.Conn { return c.Conn }

// Close closes the connection, which then does not count as closed by a broker.
func (c *counted) Close() error {
	c.over.Store(true)
	return c.Conn.Close()
}

// look counts the connection once if err means that the broker closed it.
func (c *counted) look(err error) {
	if err != nil && hungUp(err) && c.over.CompareAndSwap(false, true) {
		c.traffic.Closed.Add(1)
	}
}

// hungUp reports whether the other side closed the connection, which may be a pipe in tests.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// WriteBuffers writes pieces in one call, if the connection supports it.
func (c *counted) WriteBuffers(pieces [][]byte) (n int64, err error) {
	if g, ok := c.Conn.(kafka.Gatherer); ok {
		n, err = g.WriteBuffers(pieces)
	} else {
		b := net.Buffers(pieces)
		n, err = b.WriteTo(c.Conn)
	}
	c.traffic.Sent.Add(n)
	c.look(err)
	return n, err
}

func (c *Cluster) count(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: sock.Quiet(conn), traffic: c.Traffic}, nil
}
