package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/pause"
)

// GroupOffsets are the offsets that a group has committed of partitions, by topic; -1: none.
func (c *Cluster) GroupOffsets(ctx context.Context, group string, partitions map[string][]int32) (map[string]map[int32]int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	for topic, list := range partitions {
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = topic, list
		req.Topics = append(req.Topics, t)
	}
	var resp *kmsg.OffsetFetchResponse
	err := c.ask(ctx, func(ctx context.Context, cl *kgo.Client) (err error) {
		if resp, err = req.RequestWith(ctx, cl); err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		return err
	})
	offsets := map[string]map[int32]int64{}
	if errors.Is(err, kerr.GroupIDNotFound) {
		for topic, list := range partitions {
			offsets[topic] = map[int32]int64{}
			for _, n := range list {
				offsets[topic][n] = -1
			}
		}
		return offsets, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the offsets of group %s cannot be found: %w", group, err)
	}
	for _, t := range resp.Topics {
		offsets[t.Topic] = map[int32]int64{}
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("the offset of group %s in partition %d of topic %s cannot be found: %w", group, p.Partition, t.Topic, err)
			}
			offsets[t.Topic][p.Partition] = p.Offset
		}
	}
	return offsets, nil
}

// GroupMembers are the members of a group. assigned says that brokers assign its partitions (KIP-848), which
// makes it a group of another kind.
func (c *Cluster) GroupMembers(ctx context.Context, group string, assigned bool) (ids []string, err error) {
	err = c.ask(ctx, func(ctx context.Context, cl *kgo.Client) error {
		ids = nil
		if assigned {
			req := kmsg.NewPtrConsumerGroupDescribeRequest()
			req.Groups = []string{group}
			resp, err := req.RequestWith(ctx, cl)
			if err != nil {
				return err
			}
			for _, g := range resp.Groups {
				err = kerr.ErrorForCode(g.ErrorCode)
				for _, m := range g.Members {
					ids = append(ids, m.MemberID)
				}
			}
			return err
		}
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		for _, g := range resp.Groups {
			err = kerr.ErrorForCode(g.ErrorCode)
			for _, m := range g.Members {
				ids = append(ids, m.MemberID)
			}
		}
		return err
	})
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		err = fmt.Errorf("the members of group %s cannot be found: %w", group, err)
	}
	return ids, err
}

// ask gives f a client of its own, again until its error would last: brokers need a while to appoint a
// coordinator for the first group.
func (c *Cluster) ask(ctx context.Context, f func(context.Context, *kgo.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	cl, err := kgo.NewClient(c.Franz()...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		if err = f(ctx, cl); !kerr.IsRetriable(err) || !pause.For(lookAgain, ctx.Done()) {
			return err
		}
	}
}
