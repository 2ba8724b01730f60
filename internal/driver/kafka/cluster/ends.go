package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// WatchEnds asks twice a second for the ends of partitions until stop is called. A consumer learns
// them from the answers to its fetches, but a consumer that does not fetch has a lag, too.
func (c *Cluster) WatchEnds(partitions func() []int32, committed bool, found func(ends map[int32]int64)) (stop func(), err error) {
	client, err := kgo.NewClient(append(c.Franz(), kgo.RequestRetries(1))...)
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
				found(c.endsOf(ctx, client, list, committed))
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

// endsOf are the ends of those partitions whose leaders answer in time.
func (c *Cluster) endsOf(ctx context.Context, client *kgo.Client, partitions []int32, committed bool) map[int32]int64 {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	ends := map[int32]int64{}
	resp, err := offsetRequest(c.Topic, partitions, OffsetLatest, committed).RequestWith(ctx, client)
	if err != nil {
		return ends
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if kerr.ErrorForCode(p.ErrorCode) == nil {
				ends[p.Partition] = p.Offset
			}
		}
	}
	return ends
}
