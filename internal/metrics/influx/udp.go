package influx

import (
	"bytes"
	"context"
	"net"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/reach"
)

// mostPacket is the size of a packet in bytes that every network carries in one piece.
const mostPacket = 1400

// packets sends lines as UDP packets. Nobody answers: what is lost on the way is not known, but for a port
// that is closed on this machine.
type packets struct {
	address string
	conn    net.Conn // nil: not yet
}

// Export implements metrics.Exporter.
func (p *packets) Export(ctx context.Context, b *metrics.Batch) (err error) {
	if p.conn == nil {
		if p.conn, err = reach.Dial(ctx, "udp", p.address); err != nil {
			p.conn = nil
			return err
		}
	}
	for text := lines(b); len(text) > 0 && err == nil; {
		n := whole(text)
		_, err = p.conn.Write(text[:n])
		text = text[n:]
	}
	return err
}

// whole is the length of the first lines that fit into a packet, one at least.
func whole(text []byte) int {
	if len(text) <= mostPacket {
		return len(text)
	}
	if n := bytes.LastIndexByte(text[:mostPacket], '\n'); n >= 0 {
		return n + 1
	}
	return bytes.IndexByte(text, '\n') + 1
}

// Close implements metrics.Exporter.
func (p *packets) Close(context.Context) error {
	if p.conn == nil {
		return nil
	}
	return p.conn.Close()
}
