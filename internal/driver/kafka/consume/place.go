package consume

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

func (p place) String() string { return fmt.Sprintf("partition %d of topic %s", p.partition, p.topic) }

func compare(a, b place) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// offsetsOf are the offsets of places, as cluster.ListOffsets finds them.
func (o *Options) offsetsOf(ctx context.Context, places []place, at int64) (map[place]int64, error) {
	byTopic := map[string][]int32{}
	for _, p := range places {
		byTopic[p.topic] = append(byTopic[p.topic], p.partition)
	}
	all := map[place]int64{}
	for topic, partitions := range byTopic {
		offsets, err := o.Of(topic).ListOffsets(ctx, partitions, at, o.Committed)
		if err != nil {
			return nil, err
		}
		for n, offset := range offsets {
			all[place{topic, n}] = offset
		}
	}
	return all, nil
}

// Probe finds the partitions and where to start in each.
func (o *Options) Probe(ctx context.Context) error {
	o.known, o.ends = map[string]int32{}, nil
	var there, wanted []place
	for _, topic := range o.Names() {
		list, err := o.Of(topic).FindTopic(ctx, nil)
		if err != nil {
			return err
		}
		o.known[topic] = int32(len(list))
		for _, n := range list {
			there = append(there, place{topic, n})
		}
		for _, n := range o.wanted {
			if !slices.Contains(list, n) && o.Group == "" {
				return fmt.Errorf("topic %s has no partition %d; it has %d, counted from 0", topic, n, len(list))
			}
			wanted = append(wanted, place{topic, n})
		}
	}
	var err error
	if o.Exit || o.Capture != "" {
		if o.ends, err = o.offsetsOf(ctx, there, cluster.OffsetLatest); err != nil {
			return err
		}
	}
	if o.Group != "" {
		return nil
	}
	if len(wanted) > 0 {
		there = wanted
	}
	o.offsets, err = o.offsetsOf(ctx, there, o.At)
	return err
}

// watch looks at the topics for c, and for their ends for r.
func (o *Options) watch(r *Receiver, c Consumer, gone func(error)) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, topic := range o.Names() {
		one, from := o.Of(topic), o.known[topic]
		unwatch, err := one.WatchTopic(from, func(_ context.Context, partitions int32) bool {
			if len(o.wanted) == 0 {
				c.Follow(topic, from, partitions)
			}
			from = partitions
			return true
		}, gone)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, unwatch)
		unfollow, err := one.WatchEnds(func() []int32 { return r.readOf(topic) }, o.Committed, func(l cluster.Look) { r.look(topic, l) })
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, unfollow)
	}
	return stop, nil
}

// lagTime is how long brokers may take to say where the log ends.
const lagTime = 2 * time.Second

// FindLag asks where the log ends when the run does: a client knows that of the partitions
// that it has just read.
func (o *Options) FindLag(ctx context.Context, r *Receiver, rep *takt.Report) {
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	if o.Group == "" && len(o.wanted) == 0 {
		for _, topic := range o.Names() {
			there, err := o.Of(topic).Partitions(ctx)
			for p := o.known[topic]; err == nil && p < int32(len(there)); p++ {
				r.add(place{topic, p})
			}
		}
	}
	ends, err := o.offsetsOf(ctx, r.read(), cluster.OffsetLatest)
	if err != nil {
		rep.Warn(warn.Lag, "the end of the log cannot be found, so lag is as of the last records that came: %v", err)
		return
	}
	r.setEnds(ends)
	if n := r.notBegun(); n > 0 {
		rep.Warn(warn.Lag, "the reading of %d assigned partitions had not begun when the run ended, so lag leaves them out", takt.Number("partitions", n))
	}
}
