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
func messageOf(m *sarama.ConsumerMessage, end int64) message {
	out := message{partition: m.Partition, offset: m.Offset, value: m.Value, sent: m.Timestamp, end: end}
	for _, h := range m.Headers {
		if string(h.Key) == stampHeader {
			out.header = h.Value
		}
	}
	return out
}

// gather appends first to all, and what is there behind it.
func gather(all []message, first *sarama.ConsumerMessage, from <-chan *sarama.ConsumerMessage, end int64) []message {
	for m := first; m != nil; {
		all = append(all, messageOf(m, end))
		if len(all) == maxTogether {
			break
		}
		select {
		case m = <-from: // nil: closed, which the next receive tells
		default:
			return all
		}
	}
	return all
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
func (s *saramaPartitions) consume(ctx context.Context, t *troubles, take func(all []message, at time.Time)) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for _, pc := range s.partitions {
		all.Go(func() {
			var all []message
			for {
				select {
				case m, open := <-pc.Messages():
					if !open {
						return
					}
					all = gather(all[:0], m, pc.Messages(), pc.HighWaterMarkOffset())
					take(all, time.Now())
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
	all.Wait()
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
	take  func(all []message, at time.Time)
}

func (o *Consume) openSaramaGroup() (consumer, error) {
	g, err := sarama.NewConsumerGroup(o.brokers(), o.Group, o.saramaConsumerConfig())
	if err != nil {
		return nil, err
	}
	return &saramaGroup{group: g, topic: o.Topic}, nil
}

// consume implements consumer.
func (s *saramaGroup) consume(ctx context.Context, t *troubles, take func(all []message, at time.Time)) error {
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
	var all []message
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			all = gather(all[:0], m, claim.Messages(), claim.HighWaterMarkOffset())
			s.take(all, time.Now())
			last := &all[len(all)-1]
			session.MarkOffset(s.topic, last.partition, last.offset+1, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func (s *saramaGroup) close() { s.group.Close() }
