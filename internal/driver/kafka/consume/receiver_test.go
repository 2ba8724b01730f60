package consume

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/pkg/takt"
)

func offsets(from, to int) (all []message) {
	for i := from; i < to; i++ {
		all = append(all, message{topic: "t", partition: 1, offset: int64(i)})
	}
	return all
}

// What nobody wanted is still to be read.
func TestLag(t *testing.T) {
	r := NewReceiver(&cluster.Traffic{}, nil)
	for _, c := range []struct {
		batch    []message
		wanted   int
		received uint64
		lag      int64
	}{
		{offsets(10, 15), 0, 0, 5},
		{offsets(10, 15), 3, 3, 2},
		{offsets(13, 20), 7, 10, 0},
		{append(offsets(20, 21), message{topic: "t", partition: 1, offset: 21, end: 40}), 2, 12, 18},
		{offsets(22, 24), 2, 14, 16},
	} {
		r.count(c.batch, c.wanted)
		rep := &takt.Report{Extra: map[string]any{}}
		r.Describe(rep)
		one := rep.Extra["partitions_received"].(map[string]any)["1"].(map[string]any)
		if received, lag := one["received"].(uint64), one["lag"].(int64); received != c.received || lag != c.lag || rep.Extra["lag"] != lag || r.Lag() != lag {
			t.Errorf("%d received, lag %d, want %d and %d", received, lag, c.received, c.lag)
		}
	}
}

// A partition whose member is gone has a lag until the group gives it to another one; a partition that
// was taken away has none.
func TestLagOfKilledMember(t *testing.T) {
	r := NewReceiver(&cluster.Traffic{}, nil, "t")
	full := 0
	r.until, r.full = map[place]int64{{"t", 0}: 10, {"t", 1}: 10}, func() { full++ }
	r.begin(0, place{"t", 0}, 0)
	r.begin(1, place{"t", 1}, 10)
	r.setEnds(map[place]int64{{"t", 0}: 10, {"t", 1}: 10})
	r.leaveAll(0)
	r.leave(0, place{"t", 0}) // its client says so when it closes
	if r.pass(place{"t", 1}, 10); r.Lag() != 10 || full != 0 || len(r.readOf("t")) != 2 {
		t.Errorf("a lag of %d, ended %d times, %v are read", r.Lag(), full, r.readOf("t"))
	}
	r.begin(1, place{"t", 0}, 0)
	r.leave(1, place{"t", 0})
	r.leaveAll(1)
	if r.begin(0, place{"t", 1}, 10); r.Lag() != 0 || full == 0 {
		t.Errorf("a lag of %d, ended %d times", r.Lag(), full)
	}
}

// What a group took from the last member here and gave to nobody is still to be read, unless others have read
// on since.
func TestLagOfUnread(t *testing.T) {
	r := NewReceiver(&cluster.Traffic{}, nil, "t")
	for n, committed := range []int64{7, 5, -1} {
		at := place{"t", int32(n)}
		r.begin(0, at, 6)
		r.setEnds(map[place]int64{at: 10})
		r.leave(0, at)
		if !r.unread(at, committed) {
			t.Errorf("%v is not known", at)
		}
	}
	if r.unread(place{"t", 3}, 0) || r.Lag() != 8 {
		t.Errorf("a lag of %d, want 4 of two partitions", r.Lag())
	}
	r.generation(0, "mine", 1)
	if r.others([]string{"mine"}) || !r.others([]string{"mine", "theirs"}) {
		t.Error("members are mistaken for those of others")
	}
}

func TestGather(t *testing.T) {
	for _, c := range []struct{ there, want int }{{0, 1}, {5, 6}, {maxBatch + 5, maxBatch}} {
		for _, closed := range []bool{false, true} {
			from := make(chan *sarama.ConsumerMessage, c.there)
			for i := range c.there {
				from <- &sarama.ConsumerMessage{Offset: int64(i + 1)}
			}
			if closed {
				close(from)
			}
			batch := gather(nil, &sarama.ConsumerMessage{}, from)
			if len(batch) != c.want || batch[c.want-1].offset != int64(c.want-1) {
				t.Errorf("%d behind the first, closed %v: %d messages, want %d", c.there, closed, len(batch), c.want)
			}
		}
	}
}
