package cluster

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Instants that ListOffsets understands beside milliseconds since 1970.
const (
	OffsetLatest    = -1
	OffsetBeginning = -2
)

// ListOffsets are the offsets of the first records from an instant on, or where the
// next record will come; with committed where the first open transaction begins.
func (c *Cluster) ListOffsets(ctx context.Context, partitions []int32, at int64, committed bool) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	cl, err := kgo.NewClient(c.Franz()...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	offsets := map[int32]int64{}
	for ask := partitions; len(ask) > 0; at = OffsetLatest {
		resp, err := offsetRequest(c.Topic, ask, at, committed).RequestWith(ctx, cl)
		if err != nil {
			return nil, fmt.Errorf("the offsets of topic %s cannot be found: %w", c.Topic, err)
		}
		ask = nil
		for _, p := range resp.Topics[0].Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("the offset of partition %d of topic %s cannot be found: %w", p.Partition, c.Topic, err)
			}
			if offsets[p.Partition] = p.Offset; p.Offset < 0 { // nothing came after the instant
				ask = append(ask, p.Partition)
			}
		}
	}
	return offsets, nil
}

func offsetRequest(topic string, partitions []int32, at int64, committed bool) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if committed {
		req.IsolationLevel = 1
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, at
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	return req
}
