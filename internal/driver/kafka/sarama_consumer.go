package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func (o *Consume) saramaConsumerConfig() *sarama.Config {
	s := o.Cluster.sarama()
	c := &s.Consumer
	c.Fetch.Min, c.MaxWaitTime, c.Return.Errors = int32(o.MinBytes), o.MaxWait, true
	c.Offsets.Initial = sarama.OffsetOldest
	if o.at == offsetLatest {
		c.Offsets.Initial = sarama.OffsetNewest
	}
	if o.Committed {
		c.IsolationLevel = sarama.ReadCommitted
	}
	return s
}

// messageOf is m as takt sees it.
func messageOf(m *sarama.ConsumerMessage) message {
	out := message{partition: m.Partition, offset: m.Offset, value: m.Value, sent: m.Timestamp}
	for _, h := range m.Headers {
		if string(h.Key) == stampHeader {
			out.header = h.Value
		}
	}
	return out
}

// gather appends first to batch, and what is there behind it.
func gather(batch []message, first *sarama.ConsumerMessage, from <-chan *sarama.ConsumerMessage) []message {
	for batch = append(batch, messageOf(first)); len(batch) < maxBatch; {
		select {
		case m, open := <-from:
			if !open {
				return batch
			}
			batch = append(batch, messageOf(m))
		default:
			return batch
		}
	}
	return batch
}

// saramaPartitions receives by sarama from partitions that are assigned.
type saramaPartitions struct {
	consumer   sarama.Consumer
	partitions []sarama.PartitionConsumer
}

func (o *Consume) openSaramaPartitions() (consumer, error) {
	c, err := sarama.NewConsumer(o.brokers(), o.saramaConsumerConfig())
	if err != nil {
		return nil, err
	}
	s := &saramaPartitions{consumer: c}
	for p, offset := range o.offsets {
		pc, err := c.ConsumePartition(o.Topic, p, offset)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("partition %d cannot be read: %w", p, err)
		}
		s.partitions = append(s.partitions, pc)
	}
	return s, nil
}

// consume implements consumer.
func (s *saramaPartitions) consume(ctx context.Context, t *troubles, take taking) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var readers sync.WaitGroup
	for _, pc := range s.partitions {
		readers.Go(func() {
			var batch []message
			for {
				select {
				case m, open := <-pc.Messages():
					if !open {
						return
					}
					batch = gather(batch[:0], m, pc.Messages())
					batch[len(batch)-1].end = pc.HighWaterMarkOffset()
					take(batch, time.Now())
				case err := <-pc.Errors():
					if err == nil {
						continue // closed, and Messages too
					}
					if lasts(err) {
						fail(err)
						return
					}
					t.add(err)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	readers.Wait()
	return context.Cause(ctx)
}

func (s *saramaPartitions) close() {
	for _, pc := range s.partitions {
		pc.AsyncClose()
	}
	for _, pc := range s.partitions {
		for range pc.Messages() { // what was fetched and nobody wants any more
		}
		for range pc.Errors() {
		}
	}
	s.consumer.Close()
}

// saramaGroup receives by sarama as a member of a group.
type saramaGroup struct {
	group sarama.ConsumerGroup
	topic string
	take  taking
}

func (o *Consume) openSaramaGroup() (consumer, error) {
	g, err := sarama.NewConsumerGroup(o.brokers(), o.Group, o.saramaConsumerConfig())
	if err != nil {
		return nil, err
	}
	return &saramaGroup{group: g, topic: o.Topic}, nil
}

// consume implements consumer.
func (s *saramaGroup) consume(ctx context.Context, t *troubles, take taking) error {
	s.take = take
	go func() {
		for err := range s.group.Errors() {
			t.add(err)
		}
	}()
	for ctx.Err() == nil {
		err := s.group.Consume(ctx, []string{s.topic}, s)
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			break
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// Setup implements sarama.ConsumerGroupHandler.
func (s *saramaGroup) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup implements sarama.ConsumerGroupHandler.
func (s *saramaGroup) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (s *saramaGroup) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	var batch []message
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			batch = gather(batch[:0], m, claim.Messages())
			batch[len(batch)-1].end = claim.HighWaterMarkOffset()
			if n := s.take(batch, time.Now()); n > 0 {
				session.MarkOffset(s.topic, m.Partition, batch[n-1].offset+1, "")
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (s *saramaGroup) close() { s.group.Close() }
