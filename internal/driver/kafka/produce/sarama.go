package produce

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
)

// saramaMessages is the data of a batch for both sarama producers.
type saramaMessages struct {
	list []*sarama.ProducerMessage
	all  []sarama.ProducerMessage
}

// messages are the records of b for sarama, with their place in b.
func messages(b *batch, topic string, fixed []sarama.RecordHeader) []*sarama.ProducerMessage {
	s, _ := b.aside.(*saramaMessages)
	if s == nil || len(s.all) < len(b.records) {
		s = &saramaMessages{all: make([]sarama.ProducerMessage, len(b.records))}
		b.aside = s
	}
	s.list = s.list[:0]
	for i := range b.records {
		c, m := &b.contents[i], &s.all[i]
		*m = sarama.ProducerMessage{Topic: topic, Partition: b.records[i].partition, Value: sarama.ByteEncoder(c.value), Timestamp: b.began, Metadata: place{b, i}}
		if c.value == nil {
			m.Value = nil // a tombstone
		}
		if c.key != nil {
			m.Key = sarama.ByteEncoder(c.key)
		}
		if c.stamp != nil {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(cluster.StampHeader), Value: c.stamp})
		}
		if c.headers != nil {
			m.Headers = append(m.Headers, saramaHeaders(c.headers)...)
		} else {
			m.Headers = append(m.Headers, fixed...)
		}
		s.list = append(s.list, m)
	}
	return s.list
}

// place is a record of a batch, for the Metadata of its message.
type place struct {
	batch *batch
	i     int
}

func (o *Options) saramaConfig() *sarama.Config {
	s := o.Cluster.Sarama()
	_, acks := acksOf(o.Acks)
	compression := codecOf(o.Compression)
	p := &s.Producer
	p.RequiredAcks, p.Compression, p.Partitioner = acks, compression.sarama, sarama.NewManualPartitioner
	p.MaxMessageBytes = o.largest()
	p.Flush.MaxMessages = o.BatchSize
	p.Timeout = o.Timeout
	s.Net.ReadTimeout, s.Net.WriteTimeout = o.Timeout, o.Timeout
	p.Retry.Backoff = 100 * time.Millisecond
	p.Retry.Max = max(1, int(o.Timeout/p.Retry.Backoff)) // about the timeout in all, as with franz-go
	p.Return.Successes, p.Return.Errors = true, true
	s.Net.MaxOpenRequests = o.MaxOpen
	if o.Idempotence {
		p.Idempotent, s.Net.MaxOpenRequests = true, 1 // sarama demands it
	}
	return s
}

// saramaClient is what both sarama producers have in common. There is room for each batch in
// flight.
type saramaClient struct {
	client  sarama.Client
	topic   string
	headers []sarama.RecordHeader // of every record
	batches chan *batch
}

func (o *Options) openSarama() (*saramaClient, error) {
	c, err := sarama.NewClient(o.Addresses(), o.saramaConfig())
	if err != nil {
		return nil, err
	}
	return &saramaClient{client: c, topic: o.Topic, headers: saramaHeaders(o.text.headers.fixed), batches: make(chan *batch, o.writersOf(o.Partitions))}, nil
}

// write implements client.
func (s *saramaClient) write(b *batch) { s.batches <- b }

// knows implements client: it asks for the topic.
func (s *saramaClient) knows(_ context.Context, partitions int32) bool {
	if err := s.client.RefreshMetadata(s.topic); err != nil {
		return false
	}
	list, err := s.client.WritablePartitions(s.topic)
	return err == nil && len(list) >= int(partitions)
}

// forsake has nothing to do: sarama gives up after its tries.
func (s *saramaClient) forsake(error) {}

func (s *saramaClient) commit(context.Context, bool) error { return nil }

// saramaSync sends as the seed does: each writer has its own producer, sends one batch and
// waits. All share the connections of one client.
type saramaSync struct {
	*saramaClient
	writers sync.WaitGroup
}

func (o *Options) openSaramaSync() (client, error) {
	c, err := o.openSarama()
	if err != nil {
		return nil, err
	}
	s := &saramaSync{saramaClient: c}
	for range o.Writers {
		p, err := sarama.NewSyncProducerFromClient(c.client)
		if err != nil {
			s.close()
			return nil, err
		}
		s.writers.Go(func() { s.run(p) })
	}
	return s, nil
}

func (s *saramaSync) run(p sarama.SyncProducer) {
	defer p.Close()
	for b := range s.batches {
		s.send(p, b)
	}
}

func (s *saramaSync) send(p sarama.SyncProducer, b *batch) {
	err := p.SendMessages(messages(b, s.topic, s.headers))
	if err != nil {
		b.aside = nil // sarama still reads failed messages
	}
	var each sarama.ProducerErrors
	switch {
	case err == nil:
	case errors.As(err, &each):
		for _, e := range each {
			b.records[e.Msg.Metadata.(place).i].err = e.Err
		}
	default:
		for i := range b.records {
			b.records[i].err = err
		}
	}
	for i := range b.records {
		b.end(i, b.records[i].err)
	}
}

func (s *saramaSync) close() {
	close(s.batches)
	s.writers.Wait()
	s.client.Close()
}

// saramaAsync sends with sarama's asynchronous producer.
type saramaAsync struct {
	*saramaClient
	producer sarama.AsyncProducer
	done     sync.WaitGroup
}

func (o *Options) openSaramaAsync() (client, error) {
	c, err := o.openSarama()
	if err != nil {
		return nil, err
	}
	p, err := sarama.NewAsyncProducerFromClient(c.client)
	if err != nil {
		c.client.Close()
		return nil, err
	}
	s := &saramaAsync{saramaClient: c, producer: p}
	s.done.Go(s.feed)
	s.done.Go(func() {
		for m := range p.Successes() {
			at := m.Metadata.(place)
			at.batch.end(at.i, nil)
		}
	})
	s.done.Go(func() {
		for e := range p.Errors() {
			at := e.Msg.Metadata.(place)
			at.batch.aside = nil // sarama still reads failed messages
			at.batch.end(at.i, e.Err)
		}
	})
	return s, nil
}

// feed passes batches to the producer, whose input blocks at 256 records. Blocking here
// delays only later batches.
func (s *saramaAsync) feed() {
	for b := range s.batches {
		for _, m := range messages(b, s.topic, s.headers) {
			s.producer.Input() <- m
		}
	}
	s.producer.AsyncClose()
}

func (s *saramaAsync) close() {
	close(s.batches)
	s.done.Wait()
	s.client.Close()
}
