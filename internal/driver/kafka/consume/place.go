package consume

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	all := map[place]int64{}
	for topic, partitions := range byTopic(places) {
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
		o.before, err = o.committed(ctx, there)
		return err
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

// startsOf are the places where reading begins without a committed offset: --from decides, but partitions
// added during the run start at their beginning.
func (o *Options) startsOf(ctx context.Context, places []place) (map[place]int64, error) {
	var added []place
	old := slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		if p.partition < o.known[p.topic] {
			return false
		}
		added = append(added, p)
		return true
	})
	starts, err := o.offsetsOf(ctx, old, o.At)
	if err != nil {
		return nil, err
	}
	begins, err := o.offsetsOf(ctx, added, cluster.OffsetBeginning)
	maps.Copy(starts, begins)
	return starts, err
}

// lagTime is how long brokers may take to say where the log ends, and who reads it.
const lagTime = 5 * time.Second

// FindLag asks where the log ends when the run does: a client knows that of the partitions
// that it has just read.
func (o *Options) FindLag(ctx context.Context, r *Receiver, rep *takt.Report) {
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	unread := o.addUnread(ctx, r)
	ends, err := o.offsetsOf(ctx, r.read(), cluster.OffsetLatest)
	if err != nil {
		rep.Warn(warn.Lag, "the end of the log cannot be found, so lag is as of the last records that came: %v", err)
		return
	}
	r.setEnds(ends)
	if unread != nil {
		rep.Warn(warn.Lag, "lag leaves out partitions that this process did not read when the run ended, for who reads them is not known: %v", unread)
	}
}

// addUnread adds the partitions that nobody reads as the run ends: new ones, and those that the group was
// giving from one member to another.
func (o *Options) addUnread(ctx context.Context, r *Receiver) error {
	if len(o.wanted) > 0 {
		return nil
	}
	var open []place
	read := r.read()
	for _, topic := range o.Names() {
		there, err := o.Of(topic).Partitions(ctx)
		if err != nil {
			return err
		}
		for _, n := range there {
			if p := (place{topic, n}); !slices.Contains(read, p) {
				open = append(open, p)
			}
		}
	}
	if o.Group != "" {
		return o.addUnreadOfGroup(ctx, r, open)
	}
	for _, p := range open {
		r.add(p, 0)
	}
	return nil
}

// addUnreadOfGroup adds those of the partitions that no process reads. Members leave when they have committed
// what they read, so then what is committed says whether somebody has read since this process did, or since
// the run began.
func (o *Options) addUnreadOfGroup(ctx context.Context, r *Receiver, open []place) error {
	if len(open) == 0 {
		return nil
	}
	members, err := o.GroupMembers(ctx, o.Group, o.Members.Protocol == protocolConsumer)
	if err != nil || r.others(members) {
		return err
	}
	now, err := o.committed(ctx, open)
	if err != nil {
		return err
	}
	var fresh []place
	for _, p := range open {
		before, known := o.before[p]
		if !known {
			before = -1 // it was added during the run
		}
		switch {
		case r.unread(p, now[p]), before != now[p]:
		case now[p] >= 0:
			r.add(p, now[p])
		default:
			fresh = append(fresh, p)
		}
	}
	starts, err := o.startsOf(ctx, fresh)
	for p, at := range starts {
		r.add(p, at)
	}
	return err
}

// committed are the offsets that the group has committed; -1: none.
func (o *Options) committed(ctx context.Context, places []place) (map[place]int64, error) {
	offsets, err := o.GroupOffsets(ctx, o.Group, byTopic(places))
	all := map[place]int64{}
	for topic, list := range offsets {
		for n, offset := range list {
			all[place{topic, n}] = offset
		}
	}
	return all, err
}

// byTopic are the partitions of places.
func byTopic(places []place) map[string][]int32 {
	all := map[string][]int32{}
	for _, p := range places {
		all[p.topic] = append(all[p.topic], p.partition)
	}
	return all
}
