package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franzConsumer receives by franz-go.
type franzConsumer struct {
	client   *kgo.Client
	fetching chan struct{} // closed when the first fetch is on its way
	once     sync.Once
}

func (o *Consume) openFranzConsumer() (*franzConsumer, error) {
	f := &franzConsumer{fetching: make(chan struct{})}
	isolation := kgo.ReadUncommitted()
	if o.Committed {
		isolation = kgo.ReadCommitted()
	}
	opts := append(o.Cluster.franz(), kgo.FetchIsolationLevel(isolation), kgo.FetchMinBytes(int32(o.MinBytes)),
		kgo.FetchMaxWait(o.MaxWait), kgo.WithHooks(f))
	if o.Group != "" {
		opts = append(opts, kgo.ConsumerGroup(o.Group), kgo.AutoCommitMarks(), kgo.ConsumeTopics(o.Topic), kgo.ConsumeResetOffset(o.offset()))
	} else {
		at := map[int32]kgo.Offset{}
		for p, offset := range o.offsets {
			at[p] = kgo.NewOffset().At(offset)
		}
		opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: at}))
	}
	var err error
	f.client, err = kgo.NewClient(opts...)
	return f, err
}

func (o *Consume) offset() kgo.Offset {
	switch o.at {
	case offsetBeginning:
		return kgo.NewOffset().AtStart()
	case offsetLatest:
		return kgo.NewOffset().AtEnd()
	}
	return kgo.NewOffset().AfterMilli(o.at)
}

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (f *franzConsumer) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == kmsg.Fetch.Int16() {
		f.once.Do(func() { close(f.fetching) })
	}
}

// await waits until the broker knows that somebody listens.
func (f *franzConsumer) await(ctx context.Context) error {
	select {
	case <-f.fetching:
		return nil
	case <-ctx.Done():
		return errors.New("the consumer could not begin to fetch; check that the partitions have a leader")
	}
}

// consume implements consumer.
func (f *franzConsumer) consume(ctx context.Context, t *troubles, take taking) error {
	batch := make([]message, 0, maxBatch)
	for {
		fetches := f.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := time.Now()
		for _, e := range fetches.Errors() {
			if lasts(e.Err) {
				return fmt.Errorf("partition %d cannot be read: %w", e.Partition, e.Err)
			}
			t.add(e.Err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for records := range slices.Chunk(p.Records, maxBatch) {
				batch = batch[:0]
				for _, r := range records {
					batch = append(batch, message{partition: r.Partition, offset: r.Offset, value: r.Value, header: franzStamp(r), sent: r.Timestamp, end: p.HighWatermark})
				}
				if n := take(batch, now); n > 0 {
					f.client.MarkCommitRecords(records[n-1]) // nothing without a group
				}
			}
		})
	}
}

// franzStamp is the header with the stamp; nil: there is none.
func franzStamp(r *kgo.Record) []byte {
	for i := range r.Headers {
		if r.Headers[i].Key == stampHeader {
			return r.Headers[i].Value
		}
	}
	return nil
}

func (f *franzConsumer) close() { f.client.Close() }
