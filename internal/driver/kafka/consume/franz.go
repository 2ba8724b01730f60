package consume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franzConsumer receives with franz-go.
type franzConsumer struct {
	*Options
	r        *Receiver
	client   *kgo.Client
	fetching chan struct{} // closed when the first fetch is sent
	once     sync.Once
	over     atomic.Bool // the run is over
	handing  atomic.Bool // records are taken from the client and not all counted
	answers  sync.Map    // by broker: instant of the last answer to a fetch

	take  taking
	batch []message
	data  []*kgo.Record // records of batch

	failure error // of --capture
}

func (o *Options) openFranzConsumer(r *Receiver) (*franzConsumer, error) {
	f := &franzConsumer{Options: o, r: r, fetching: make(chan struct{})}
	isolation := kgo.ReadUncommitted()
	if o.Committed {
		isolation = kgo.ReadCommitted()
	}
	opts := append(o.Cluster.Franz(), kgo.FetchIsolationLevel(isolation), kgo.FetchMinBytes(int32(o.MinBytes)),
		kgo.FetchMaxWait(o.MaxWait), kgo.KeepControlRecords(), kgo.MetadataMinAge(cluster.Freshness), kgo.WithHooks(f))
	if o.Group != "" {
		opts = append(opts, kgo.ConsumerGroup(o.Group), kgo.AutoCommitMarks(), kgo.ConsumeTopics(o.Names()...), kgo.ConsumeResetOffset(o.offset()),
			kgo.MetadataMaxAge(cluster.WatchEvery), kgo.AdjustFetchOffsetsFn(f.assigned), kgo.OnPartitionsRevoked(f.revoked), kgo.OnPartitionsLost(f.lost),
			kgo.OnPartitionsAssigned(f.joined))
		opts = append(opts, o.Members.franz()...)
		if o.Instance != "" {
			opts = append(opts, kgo.InstanceID(o.Instance))
		}
	} else {
		at := map[string]map[int32]kgo.Offset{}
		for p, offset := range o.offsets {
			if at[p.topic] == nil {
				at[p.topic] = map[int32]kgo.Offset{}
			}
			at[p.topic][p.partition] = kgo.NewOffset().At(offset)
			r.begin(0, p, offset)
		}
		opts = append(opts, kgo.ConsumePartitions(at))
	}
	var err error
	if f.client, err = kgo.NewClient(opts...); err != nil {
		return nil, err
	}
	r.outages.watch(o.member, f.answered) // others may ask at once
	r.mu.Lock()
	r.held[o.member] = f.holds
	r.mu.Unlock()
	return f, nil
}

func (o *Options) offset() kgo.Offset {
	switch o.At {
	case cluster.OffsetBeginning:
		return kgo.NewOffset().AtStart()
	case cluster.OffsetLatest:
		return kgo.NewOffset().AtEnd()
	}
	return kgo.NewOffset().AfterMilli(o.At)
}

// assigned returns the start offsets of the partitions that the group gave this member.
func (f *franzConsumer) assigned(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var open []place
	nowhere := f.offset().EpochOffset().Offset
	for topic, list := range offsets {
		for n, offset := range list {
			p := place{topic, n}
			if at := offset.EpochOffset().Offset; at >= 0 && at != nowhere {
				f.r.begin(f.member, p, at)
			} else {
				open = append(open, p)
			}
		}
	}
	starts, err := f.startsOf(ctx, open)
	for p, at := range starts {
		offsets[p.topic][p.partition] = kgo.NewOffset().At(at)
		f.r.begin(f.member, p, at)
	}
	return offsets, err
}

// joined notes the generation of the group that this member is part of.
func (f *franzConsumer) joined(_ context.Context, cl *kgo.Client, _ map[string][]int32) {
	if id, generation := cl.GroupMetadata(); generation >= 0 {
		f.r.generation(f.member, id, generation)
	}
}

// revoked commits the offsets read, before other members of the group continue.
func (f *franzConsumer) revoked(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.CloseTime) // ctx may already have ended
	defer cancel()
	if err := cl.CommitMarkedOffsets(commit); err != nil && !errors.Is(err, errCut) {
		f.r.troubles.add(fmt.Errorf("what was read cannot be committed: %w", err))
	}
	f.lost(ctx, cl, partitions)
}

// lost notes the partitions that other members of the group read now. At the end of the run
// the group takes all partitions, which does not matter any more.
func (f *franzConsumer) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	if f.over.Load() {
		return
	}
	for _, p := range placesOf(partitions) {
		f.r.leave(f.member, p)
	}
}

// Follow implements consumer; a group finds partitions itself.
func (f *franzConsumer) Follow(topic string, from, to int32) {
	if f.Group != "" {
		return
	}
	at := map[int32]kgo.Offset{}
	for p := from; p < to; p++ {
		at[p] = kgo.NewOffset().AtStart()
		f.r.begin(0, place{topic, p}, 0)
	}
	f.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: at})
}

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (f *franzConsumer) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == kmsg.Fetch.Int16() {
		f.once.Do(func() { close(f.fetching) })
	}
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (f *franzConsumer) OnBrokerRead(broker kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == kmsg.Fetch.Int16() && err == nil {
		f.answers.Store(broker.NodeID, time.Now())
	}
}

// answered is the instant at which the leader of a partition last answered a fetch; zero: unknown.
func (f *franzConsumer) answered(at place) time.Time {
	leader, _, err := f.client.PartitionLeader(at.topic, at.partition)
	if when, ok := f.answers.Load(leader); ok && err == nil {
		return when.(time.Time)
	}
	return time.Time{}
}

// holds reports whether the client has records that are not counted yet.
func (f *franzConsumer) holds() bool {
	return f.handing.Load() || f.client.BufferedFetchRecords() > 0
}

// await waits until the broker has the first fetch.
func (f *franzConsumer) await(ctx context.Context) error {
	select {
	case <-f.fetching:
		return nil
	case <-ctx.Done():
		return errors.New("the consumer could not begin to fetch; check that the partitions have a leader")
	}
}

// consume implements consumer.
func (f *franzConsumer) consume(ctx context.Context, take taking) error {
	f.take = take
	for {
		f.handing.Store(false)
		fetches := f.client.PollFetches(ctx)
		f.handing.Store(true)
		if ctx.Err() != nil {
			f.over.Store(!errors.Is(context.Cause(ctx), errRestart))
			return ctx.Err()
		}
		now := time.Now()
		for _, e := range fetches.Errors() {
			if cluster.Lasts(e.Err) {
				return f.lasting(e)
			}
			f.r.troubles.add(e.Err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for records := range slices.Chunk(p.Records, maxBatch) {
				f.hand(records, p.LogStartOffset, p.HighWatermark, now)
			}
		})
		if f.failure != nil {
			return f.failure
		}
	}
}

// lasting is the error of the run after a permanent error of the client.
func (f *franzConsumer) lasting(e kgo.FetchError) error {
	if f.Group != "" && e.Topic == "" {
		return fmt.Errorf("the group %s cannot be joined: %w; check the user's rights, --session-timeout, --assignor and --group-protocol", f.Group, e.Err)
	}
	return fmt.Errorf("%v cannot be read: %w", place{e.Topic, e.Partition}, e.Err)
}

// hand hands over records of one partition, whose log begins at start and ends at end, and skips Kafka's own
// records.
func (f *franzConsumer) hand(records []*kgo.Record, start, end int64, now time.Time) {
	f.batch, f.data = f.batch[:0], f.data[:0]
	first, last := records[0], records[len(records)-1]
	f.r.skip(place{first.Topic, first.Partition}, stretch{from: first.Offset, to: last.Offset + 1, n: len(records), start: start})
	for _, r := range records {
		if !r.Attrs.IsControl() {
			f.data = append(f.data, r)
			f.batch = append(f.batch, message{topic: r.Topic, partition: r.Partition, offset: r.Offset, value: r.Value, header: franzStamp(r), sent: r.Timestamp, end: end})
		}
	}
	wanted := 0
	if len(f.batch) > 0 {
		wanted = f.take(f.batch, now)
	}
	if f.into != nil && f.failure == nil && wanted == len(f.batch) {
		f.failure = f.keep(records[0].Partition, slices.Clone(f.data), records[len(records)-1].Offset+1, end)
	} else if f.into != nil && f.failure == nil {
		f.failure = f.keep(records[0].Partition, slices.Clone(f.data[:wanted]), 0, end)
	}
	var read *kgo.Record
	if wanted == len(f.batch) {
		read = records[len(records)-1]
		f.r.pass(place{read.Topic, read.Partition}, read.Offset+1)
	} else if wanted > 0 {
		read = f.data[wanted-1]
	}
	if read != nil {
		f.client.MarkCommitRecords(read) // no effect without a group
	}
}

// franzStamp is the header with the stamp, or nil.
func franzStamp(r *kgo.Record) []byte {
	for i := range r.Headers {
		if r.Headers[i].Key == cluster.StampHeader {
			return r.Headers[i].Value
		}
	}
	return nil
}

// Close implements Consumer. A member that the group had not given anything yet is one of this process, too:
// brokers may keep it for a while.
func (f *franzConsumer) Close() {
	id, _ := f.client.GroupMetadata()
	f.r.mu.Lock()
	f.r.turnover.mine(id)
	f.r.mu.Unlock()
	f.client.Close()
}
