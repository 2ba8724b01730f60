package produce

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/twmb/franz-go/pkg/kgo"
)

// noop makes and serialises batches for Kafka's protocol, compressed and with their checksum,
// and discards them: the most that a generator can do.
type noop struct {
	traffic  *cluster.Traffic
	compress kgo.Compressor // nil: no compression
}

func (o *Options) openNoop() (client, error) {
	compress, err := o.compressor()
	return &noop{traffic: o.Traffic, compress: compress}, err
}

// write implements client.
func (n *noop) write(b *batch) {
	for _, p := range b.parts {
		p.Seal(b.began, n.compress)
		n.traffic.Sent.Add(int64(p.Size()))
		p.end(time.Time{}, nil)
	}
}

func (n *noop) knows(context.Context, int32) bool  { return true }
func (n *noop) forsake(error)                      {}
func (n *noop) commit(context.Context, bool) error { return nil }
func (n *noop) close()                             {}
