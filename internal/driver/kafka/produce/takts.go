package produce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/pause"
)

// takts is takt's own producer as a client. franz-go finds the leaders.
type takts struct {
	*kafka.Producer
	leaders *kgo.Client
}

// openTakts connects to all leaders.
func (o *Options) openTakts(run *Run) (client, error) {
	compress, err := o.compressor()
	if err != nil {
		return nil, err
	}
	leaders, err := kgo.NewClient(append(o.Franz(), kgo.RequestRetries(1))...)
	if err != nil {
		return nil, err
	}
	_, acks := acksOf(o.Acks)
	opt := kafka.Options{
		Protocol: kafka.Protocol{
			ClientID: o.ClientID, Topic: o.Topic, Acks: int16(acks), Timeout: o.Timeout, Oldest: kafka.Oldest, Newest: o.NewestProduce(), SASL: o.SASL.FranzMechanism(),
		},
		Compress: compress, Partitions: o.Partitions, MaxOpen: o.MaxOpen, ConnectTimeout: o.ConnectTimeout, Dial: o.DialBroker,
		Leaders: func(ctx context.Context) (*kmsg.MetadataResponse, error) { return o.Metadata(ctx, leaders) },
		Again:   run.again, Throttled: o.Traffic.Throttled,
	}
	if o.Compression == "zstd" {
		opt.Oldest = kafka.OldestZstd
	}
	if o.Idempotence {
		opt.MaxOpen = min(opt.MaxOpen, kafka.MostOpenNumbered)
		opt.Identify = func(ctx context.Context) (kafka.Identity, error) { return identify(ctx, leaders) }
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout)
	defer cancel()
	p, err := kafka.NewProducer(ctx, opt)
	if err != nil {
		leaders.Close()
		return nil, err
	}
	return &takts{p, leaders}, nil
}

// identifyEvery is the time between two requests for an identity.
const identifyEvery = 50 * time.Millisecond

// identify asks for the identity of an idempotent producer. A broker that has just started says
// "later" first.
func identify(ctx context.Context, c *kgo.Client) (kafka.Identity, error) {
	for {
		resp, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(ctx, c)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		var refusal *kerr.Error
		switch {
		case err == nil:
			return kafka.Identity{ID: resp.ProducerID, Epoch: resp.ProducerEpoch}, nil
		case errors.As(err, &refusal) && !refusal.Retriable:
			return kafka.Identity{}, fmt.Errorf("no producer id for --idempotence, which is the default of --required-acks all: %w; let the user write idempotently, or use --idempotence=false", err)
		case refusal == nil || ctx.Err() != nil:
			return kafka.Identity{}, fmt.Errorf("no producer id for --idempotence yet: %w", err)
		}
		pause.For(identifyEvery, ctx.Done())
	}
}

// write implements client.
func (t *takts) write(b *batch) {
	b.sealed = b.sealed[:0]
	for _, p := range b.parts {
		b.sealed = append(b.sealed, &p.Batch)
	}
	t.Send(b.sealed, b.began)
}

// commit implements client: there are no transactions.
func (t *takts) commit(context.Context, bool) error { return nil }

func (t *takts) knows(ctx context.Context, partitions int32) bool { return t.Knows(ctx, partitions) }

func (t *takts) forsake(err error) { t.Forsake(err) }

func (t *takts) close() {
	t.Close()
	t.leaders.Close()
}
