package kafka

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/taktload/takt/pkg/takt"
)

// wire counts what goes over the connections of a run: with compression and
// protocol, which no record knows of itself.
type wire struct{ sent, received atomic.Int64 }

// drain moves what was counted since the last call into r, so that the sum of all
// results is what went over the wire.
func (w *wire) drain(r *takt.Result) {
	r.BytesSent, r.BytesReceived = w.sent.Swap(0), w.received.Swap(0)
}

// counted is a connection that is counted.
type counted struct {
	net.Conn
	wire *wire
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wire.sent.Add(int64(n))
	return n, err
}

// WriteBuffers writes pieces in one call, if the connection can do that.
func (c *counted) WriteBuffers(b *net.Buffers) (int64, error) {
	n, err := b.WriteTo(c.Conn)
	c.wire.sent.Add(n)
	return n, err
}

func (c *Cluster) count(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &counted{conn, c.wire}, nil
}
