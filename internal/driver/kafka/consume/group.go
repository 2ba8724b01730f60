package consume

import (
	"slices"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/pkg/takt"
)

// turnover is what changes within a group once it has begun.
type turnover struct {
	members     int            // in this process; 0: no group
	partitions  int            // that there were before the run
	joined      map[int]int32  // generation by member
	ids         []string       // that the group gave the members of this process
	together    time.Time      // since when all members have been in one generation; zero: they are not
	settled     bool           // the group has begun
	generations map[int32]bool // that a member of this process was part of since then, with the first one
	moves       int            // partitions that another member of this process got
	reread      uint64         // records that were received again: their offsets were not committed
	restarts    int
}

// settleTime is how long a group may take to begin if members of other processes read some of the
// partitions, or if its members do not notice all generations (KIP-848).
const settleTime = 5 * time.Second

// generation notes that a member is part of this generation of the group, which calls it id.
func (r *Receiver) generation(member int, id string, n int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.turnover
	r.trySettle() // by the generation before
	if t.joined == nil {
		t.joined = map[int]int32{}
	}
	t.joined[member] = n
	t.ids = append(t.ids, id)
	if t.settled {
		t.generations[n] = true
		return
	}
	t.together = time.Time{}
	for _, other := range t.joined {
		if other != n || len(t.joined) < t.members {
			return
		}
	}
	t.together = time.Now()
	r.trySettle()
}

// mine notes that the group calls a member of this process id.
func (t *turnover) mine(id string) {
	if !slices.Contains(t.ids, id) {
		t.ids = append(t.ids, id)
	}
}

// trySettle notes that the group has begun: all members of this process are in one generation, and
// read all partitions, or nothing has changed for settleTime. Until then the group rebalances only
// because the run begins: with the assignor cooperative-sticky, twice. The caller holds the lock.
func (r *Receiver) trySettle() {
	t := &r.turnover
	if t.settled || t.together.IsZero() {
		return
	}
	read := 0
	for _, p := range r.partitions {
		if !p.left {
			read++
		}
	}
	if read >= t.partitions || time.Since(t.together) >= settleTime {
		t.settle()
	}
}

func (t *turnover) settle() {
	if t.settled {
		return
	}
	t.settled, t.generations = true, map[int32]bool{}
	for _, n := range t.joined {
		t.generations[n] = true
	}
}

// isSettled reports whether the group has begun.
func (r *Receiver) isSettled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trySettle()
	return r.turnover.settled
}

// settle notes that the group has begun, although its members are not seen in one generation.
func (r *Receiver) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turnover.settle()
}

// restarted counts a member that left and came back.
func (r *Receiver) restarted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turnover.restarts++
}

// resumed is how long a partition had no record, if m is its first one after the partition was given
// up or moved: from the last record before, or from when m was sent, if that is later. The caller holds
// the lock.
func (p *partition) resumed(m *message, at time.Time) (paused time.Duration, ok bool) {
	if !p.paused {
		return 0, false
	}
	p.paused = false
	from, sent := p.last, m.sent
	if m.stamped {
		sent = time.Unix(0, m.stamp.Due)
	}
	if sent.After(from) {
		from = sent
	}
	return max(0, at.Sub(from)), true
}

// pause is the pause that ends with a batch, whose messages arrived together.
func (r *Receiver) pause(batch []message, at time.Time) (paused time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.partitions[batch[0].place()]
	if p == nil {
		return 0, false
	}
	paused, ok = p.resumed(&batch[0], at)
	ok = ok && !p.last.IsZero()
	if ok {
		p.pauses++
		p.longest = max(p.longest, paused)
	}
	p.last = at
	return paused, ok
}

// describeGroup adds what the group's rebalances cost. The caller holds the lock.
func (r *Receiver) describeGroup(rep *takt.Report) {
	t := &r.turnover
	if t.members == 0 {
		return
	}
	rep.Extra["rebalances"] = max(0, len(t.generations)-1)
	rep.Extra["partitions_moved"], rep.Extra["reread"] = t.moves, t.reread
	if t.restarts > 0 {
		rep.Extra["restarts"] = t.restarts
	}
}

// recordPause adds the pause that ends with a batch to the report's latencies.
func (r *Receiver) recordPause(sink takt.Sink, batch []message, at time.Time) {
	if paused, ok := r.pause(batch, at); ok {
		sink.Record(cluster.PhasePause, paused)
	}
}

// describePartitions adds what was read of each partition. With several topics it is in the topic's
// part of the report, which a producer of this process may have begun. The caller holds the lock.
func (r *Receiver) describePartitions(rep *takt.Report) {
	byTopic, lag := map[string]map[string]any{}, int64(0)
	for at, p := range r.partitions {
		one := map[string]any{"received": p.received, "lag": p.lag()}
		if p.pauses > 0 {
			one["pauses"], one["longest_pause_s"] = p.pauses, p.longest.Seconds()
		}
		if byTopic[at.topic] == nil {
			byTopic[at.topic] = map[string]any{}
		}
		byTopic[at.topic][strconv.Itoa(int(at.partition))] = one
		lag += p.lag()
	}
	rep.Extra["lag"] = lag
	if len(r.topics) < 2 {
		all := map[string]any{}
		for _, list := range byTopic {
			all = list
		}
		rep.Extra["partitions_received"] = all
		return
	}
	topics, _ := rep.Extra["topics"].(map[string]any)
	if topics == nil {
		topics = map[string]any{}
		rep.Extra["topics"] = topics
	}
	for _, name := range r.topics {
		one, _ := topics[name].(map[string]any)
		if one == nil {
			one = map[string]any{}
			topics[name] = one
		}
		var received uint64
		var rest int64
		for at, p := range r.partitions {
			if at.topic == name {
				received, rest = received+p.received, rest+p.lag()
			}
		}
		one["received"], one["lag"], one["partitions_received"] = received, rest, byTopic[name]
	}
}
