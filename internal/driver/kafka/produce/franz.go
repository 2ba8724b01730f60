package produce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franz sends records with franz-go.
type franz struct {
	client *kgo.Client
	topic  string
}

// beside is franz's data of a batch: the records for the library, and a callback for each,
// made once.
type beside struct {
	records  []kgo.Record
	headers  []kgo.RecordHeader
	promises []func(*kgo.Record, error)
}

// openFranz connects worker number i.
func (o *Options) openFranz(i int) (client, error) {
	acks, _ := acksOf(o.Acks)
	compression := codecOf(o.Compression)
	opts := append(o.Cluster.Franz(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), // takt's own writers collect batches
		kgo.MaxBufferedRecords(2*o.BatchSize*o.writersOf(o.Partitions)+1),
		kgo.ProducerBatchMaxBytes(int32(o.largest())),
		kgo.BrokerMaxWriteBytes(int32(max(100<<20, 2*o.largest()))),
		kgo.RecordDeliveryTimeout(o.Timeout), kgo.ProduceRequestTimeout(o.Timeout),
		kgo.MetadataMinAge(cluster.Freshness), kgo.RequiredAcks(acks), kgo.ProducerBatchCompression(compression.franz()),
	)
	switch {
	case o.Transaction > 0:
		opts = append(opts, kgo.TransactionalID(fmt.Sprintf("takt-%s-%d", o.RunID, o.firstStream+i)), kgo.TransactionTimeout(transactionTime))
	case o.Idempotence:
		opts = append(opts, kgo.AllowIdempotentProduceCancellation()) // a record without an answer must fail in time
	default:
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(o.MaxOpen))
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	f := &franz{client: c, topic: o.Topic}
	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout)
	defer cancel()
	err = c.Ping(ctx)
	if err == nil && o.Transaction > 0 {
		err = c.BeginTransaction()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return f, nil
}

// write implements client.
func (f *franz) write(b *batch) {
	s, _ := b.aside.(*beside)
	if s == nil {
		s = &beside{}
		b.aside = s
	}
	s.grow(b)
	for i := range b.contents {
		m, out := &b.contents[i], &s.records[i]
		*out = kgo.Record{Topic: f.topic, Partition: b.records[i].partition, Key: m.key, Value: m.value, Timestamp: b.began}
		if m.stamp != nil {
			s.headers[i] = kgo.RecordHeader{Key: cluster.StampHeader, Value: m.stamp}
			out.Headers = s.headers[i : i+1]
		}
		own := m.headers
		if own == nil {
			own = b.worker.text.headers.fixed
		}
		if len(own) > 0 {
			out.Headers = append(out.Headers[:len(out.Headers):len(out.Headers)], own...)
		}
	}
	for i := range b.contents {
		f.client.TryProduce(context.Background(), &s.records[i], s.promises[i])
	}
}

// grow makes room for the records of b. While records are in flight their number does not
// change.
func (s *beside) grow(b *batch) {
	for i := len(s.promises); i < len(b.contents); i++ {
		s.promises = append(s.promises, func(_ *kgo.Record, err error) { b.end(i, err) })
	}
	if n := len(b.contents); len(s.records) < n {
		s.records, s.headers = make([]kgo.Record, n), make([]kgo.RecordHeader, n)
	}
}

// commit implements client.
func (f *franz) commit(ctx context.Context, abort bool) error {
	var err error
	if !abort {
		err = f.client.EndTransaction(ctx, kgo.TryCommit)
	}
	if abort || err != nil {
		if gone := f.client.EndTransaction(ctx, kgo.TryAbort); gone != nil {
			return errors.Join(err, gone)
		}
	}
	_ = f.client.BeginTransaction() // a failure shows in the next records; the current ones are committed
	return err
}

// knows implements client.
func (f *franz) knows(_ context.Context, partitions int32) bool {
	for p := range partitions {
		if leader, _, err := f.client.PartitionLeader(f.topic, p); leader < 0 || err != nil {
			f.client.ForceMetadataRefresh()
			return false
		}
	}
	return true
}

// forsake implements client.
func (f *franz) forsake(error) { f.client.PurgeTopicsFromProducing(f.topic) }

func (f *franz) close() { f.client.Close() }

// transactionTime is the time after which the broker aborts an open transaction.
const transactionTime = time.Minute
