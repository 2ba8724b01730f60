package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Look is an answer to the question where partitions end.
type Look struct {
	Began  time.Time
	Ends   map[int32]int64 // of partitions whose leaders answered in time
	Starts map[int32]int64 // of these, where they begin
	Errs   map[int32]error // of the others
}

// WatchEnds asks twice a second for the ends of partitions until stop is called. A consumer learns
// them from the answers to its fetches, but a consumer that does not fetch has a lag, too.
func (c *Cluster) WatchEnds(partitions func() []int32, committed bool, found func(Look)) (stop func(), err error) {
	client, err := kgo.NewClient(append(c.Franz(), kgo.RequestRetries(1), kgo.MetadataMinAge(Freshness))...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(WatchEvery)
		defer tick.Stop()
		for {
			if list := partitions(); len(list) > 0 {
				if l := c.endsOf(ctx, client, list, committed); ctx.Err() == nil {
					found(l)
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		client.Close()
	}, nil
}

// endsOf asks the leader of each partition. One that does not answer does not hide the others.
func (c *Cluster) endsOf(ctx context.Context, client *kgo.Client, partitions []int32, committed bool) Look {
	l := Look{Began: time.Now(), Ends: map[int32]int64{}, Starts: map[int32]int64{}, Errs: map[int32]error{}}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, at := range []int64{OffsetLatest, OffsetBeginning} {
		for _, shard := range client.RequestSharded(ctx, offsetRequest(c.Topic, partitions, at, committed)) {
			l.note(shard, at)
		}
	}
	return l
}

// note takes the offsets of one leader. What fails for the beginnings has failed for the ends, too.
func (l *Look) note(shard kgo.ResponseShard, at int64) {
	if shard.Err != nil {
		if at == OffsetLatest {
			l.fail(shard.Req, shard.Err)
		}
		return
	}
	for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			switch err := kerr.ErrorForCode(p.ErrorCode); {
			case err == nil && at == OffsetLatest:
				l.Ends[p.Partition] = p.Offset
			case err == nil:
				l.Starts[p.Partition] = p.Offset
			case at == OffsetLatest:
				l.Errs[p.Partition] = err
			}
		}
	}
}

// fail notes that a request for some partitions has no answer.
func (l *Look) fail(request kmsg.Request, err error) {
	for _, t := range request.(*kmsg.ListOffsetsRequest).Topics {
		for _, p := range t.Partitions {
			l.Errs[p.Partition] = err
		}
	}
}
