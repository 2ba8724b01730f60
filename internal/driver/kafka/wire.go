package kafka

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/taktload/takt/internal/kwire"
	"github.com/taktload/takt/internal/sock"
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
func (c *counted) WriteBuffers(pieces [][]byte) (n int64, err error) {
	if g, ok := c.Conn.(kwire.Gatherer); ok {
		n, err = g.WriteBuffers(pieces)
	} else {
		b := net.Buffers(pieces)
		n, err = b.WriteTo(c.Conn)
	}
	c.wire.sent.Add(n)
	return n, err
}

func (c *Cluster) count(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &counted{sock.Quiet(conn), c.wire}, nil
}
