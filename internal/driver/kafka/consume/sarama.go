package consume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
)

func (o *Options) saramaConsumerConfig() *sarama.Config {
	s := o.Cluster.Sarama()
	c := &s.Consumer
	c.Fetch.Min, c.MaxWaitTime, c.Return.Errors = int32(o.MinBytes), o.MaxWait, true
	c.Retry.Backoff = cluster.Freshness // sarama's default of 2 s is how long a new leader was not read
	c.Offsets.Initial = sarama.OffsetOldest
	if o.At == cluster.OffsetLatest {
		c.Offsets.Initial = sarama.OffsetNewest
	}
	c.Group.InstanceId = o.Instance
	o.Members.sarama(s)
	if o.Committed {
		c.IsolationLevel = sarama.ReadCommitted
	}
	return s
}

// messageOf converts m.
func messageOf(m *sarama.ConsumerMessage) message {
	out := message{topic: m.Topic, partition: m.Partition, offset: m.Offset, value: m.Value, sent: m.Timestamp}
	for _, h := range m.Headers {
		if string(h.Key) == cluster.StampHeader {
			out.header = h.Value
		}
	}
	return out
}

// gather appends first and the waiting messages to batch.
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

// saramaPartitions receives with sarama from fixed partitions.
type saramaPartitions struct {
	*Options
	r        *Receiver
	consumer sarama.Consumer

	mu         sync.Mutex
	partitions []sarama.PartitionConsumer
	read       func(sarama.PartitionConsumer) // begins to read; nil: before and after the run
}

func (o *Options) openSaramaPartitions(r *Receiver) (Consumer, error) {
	c, err := sarama.NewConsumer(o.Addresses(), o.saramaConsumerConfig())
	if err != nil {
		return nil, err
	}
	s := &saramaPartitions{Options: o, r: r, consumer: c}
	for p, offset := range o.offsets {
		r.begin(0, p, offset)
		if err := s.open(p, offset); err != nil {
			s.Close()
			return nil, fmt.Errorf("%v cannot be read: %w", p, err)
		}
	}
	return s, nil
}

// open begins to fetch a partition.
func (s *saramaPartitions) open(at place, offset int64) error {
	pc, err := s.consumer.ConsumePartition(at.topic, at.partition, offset)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitions = append(s.partitions, pc)
	if s.read != nil {
		s.read(pc)
	}
	return nil
}

// Follow implements consumer.
func (s *saramaPartitions) Follow(topic string, from, to int32) {
	for n := from; n < to; n++ {
		p := place{topic, n}
		s.r.begin(0, p, 0)
		if err := s.open(p, sarama.OffsetOldest); err != nil {
			s.r.troubles.add(fmt.Errorf("%v, which was added, cannot be read: %w", p, err))
		}
	}
}

// consume implements consumer.
func (s *saramaPartitions) consume(ctx context.Context, take taking) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var readers sync.WaitGroup
	s.mu.Lock()
	s.read = func(pc sarama.PartitionConsumer) {
		readers.Go(func() {
			if err := s.readPartition(ctx, pc, take); err != nil {
				fail(err)
			}
		})
	}
	for _, pc := range s.partitions {
		s.read(pc)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.read = nil
	s.mu.Unlock()
	readers.Wait()
	return context.Cause(ctx)
}

// readPartition hands over messages of pc until ctx ends, or an error is permanent.
func (s *saramaPartitions) readPartition(ctx context.Context, pc sarama.PartitionConsumer, take taking) error {
	var batch []message
	for {
		select {
		case m, open := <-pc.Messages():
			if !open {
				return nil
			}
			batch = gather(batch[:0], m, pc.Messages())
			batch[len(batch)-1].end = pc.HighWaterMarkOffset()
			take(batch, time.Now())
		case err := <-pc.Errors():
			if err == nil {
				continue // closed, as is Messages
			}
			if cluster.Lasts(err) {
				return err
			}
			s.r.troubles.add(err)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *saramaPartitions) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pc := range s.partitions {
		pc.AsyncClose()
	}
	for _, pc := range s.partitions {
		for range pc.Messages() { // discard fetched messages
		}
		for range pc.Errors() {
		}
	}
	s.consumer.Close()
}

// saramaGroup receives with sarama as a member of a group.
type saramaGroup struct {
	*Options
	r     *Receiver
	group sarama.ConsumerGroup
	take  taking
}

func (o *Options) openSaramaGroup(r *Receiver) (Consumer, error) {
	g, err := sarama.NewConsumerGroup(o.Addresses(), o.Group, o.saramaConsumerConfig())
	if err != nil {
		return nil, err
	}
	return &saramaGroup{Options: o, r: r, group: g}, nil
}

// Follow implements consumer: a group finds partitions itself.
func (s *saramaGroup) Follow(string, int32, int32) {}

// consume implements consumer.
func (s *saramaGroup) consume(ctx context.Context, take taking) error {
	s.take = take
	go func() {
		for err := range s.group.Errors() {
			s.r.troubles.add(err)
		}
	}()
	for ctx.Err() == nil {
		err := s.group.Consume(ctx, s.Names(), s)
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			break
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// Setup implements sarama.ConsumerGroupHandler. A partition added during the run without a
// committed offset is read from its beginning.
func (s *saramaGroup) Setup(session sarama.ConsumerGroupSession) error {
	mine := placesOf(session.Claims())
	s.r.generation(s.member, session.MemberID(), session.GenerationID())
	for _, p := range s.r.of(s.member) {
		if !slices.Contains(mine, p) {
			s.r.leave(s.member, p)
		}
	}
	for _, p := range mine {
		if p.partition >= s.known[p.topic] {
			session.MarkOffset(p.topic, p.partition, 0, "") // no effect if a later offset was committed
		}
	}
	return nil
}

// Cleanup implements sarama.ConsumerGroupHandler.
func (s *saramaGroup) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (s *saramaGroup) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	var batch []message
	if err := s.claimed(session.Context(), claim); err != nil {
		s.r.troubles.add(err)
	}
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			batch = gather(batch[:0], m, claim.Messages())
			batch[len(batch)-1].end = claim.HighWaterMarkOffset()
			if n := s.take(batch, time.Now()); n > 0 {
				session.MarkOffset(m.Topic, m.Partition, batch[n-1].offset+1, "")
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

// claimed notes the start of a claim.
func (s *saramaGroup) claimed(ctx context.Context, claim sarama.ConsumerGroupClaim) error {
	p, at := place{claim.Topic(), claim.Partition()}, claim.InitialOffset()
	if at < 0 { // sarama's constants for the ends are Kafka's
		starts, err := s.offsetsOf(ctx, []place{p}, at)
		if err != nil {
			return err
		}
		at = starts[p]
	}
	s.r.begin(s.member, p, at)
	return nil
}

func (s *saramaGroup) Close() { s.group.Close() }
