package consume

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/pkg/takt"
)

// A partition that moves has a pause from its last record to the next one, or from when that one was sent.
// What comes again is counted, and the start of the group counts for nothing.
func TestPause(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	p := place{"t", 1}
	r := NewReceiver(&cluster.Traffic{}, nil, "t")
	r.turnover.members = 2
	receive := func(ms, sent, from, to int) (time.Duration, bool) {
		var list []message
		for i := from; i < to; i++ {
			list = append(list, message{topic: "t", partition: 1, offset: int64(i), sent: at(sent)})
		}
		pause, ok := r.pause(list, at(ms))
		r.count(list, len(list))
		return pause, ok
	}
	none := func(pause time.Duration, ok bool) {
		t.Helper()
		if ok {
			t.Errorf("a pause of %v", pause)
		}
	}
	r.generation(0, "", 1)
	r.begin(0, p, 0)
	none(receive(10, 5, 0, 10))
	r.generation(1, "", 2) // the other member joins, and gets the partition
	r.leave(0, p)
	r.begin(1, p, 10)
	none(receive(100, 20, 10, 20))
	r.generation(0, "", 2)

	r.leave(1, p)
	r.generation(0, "", 3)
	r.begin(0, p, 15)
	if pause, ok := receive(400, 20, 15, 25); !ok || pause != 300*time.Millisecond {
		t.Errorf("pause %v %v, want 300ms", pause, ok)
	}
	none(receive(410, 400, 25, 30))
	r.leave(1, p) // too late: it is the other member's
	r.generation(0, "", 4)
	r.begin(0, p, 30)
	if pause, ok := receive(900, 800, 30, 31); !ok || pause != 100*time.Millisecond {
		t.Errorf("pause %v %v, want 100ms, since the record was sent", pause, ok)
	}
	rep := &takt.Report{Extra: map[string]any{}}
	r.Describe(rep)
	for name, want := range map[string]any{"rebalances": 2, "partitions_moved": 1, "reread": uint64(5), "lag": int64(0)} {
		if rep.Extra[name] != want {
			t.Errorf("%s is %v, want %v", name, rep.Extra[name], want)
		}
	}
}

// A group has begun when its members read all partitions. With the assignor cooperative-sticky members
// join, give up what others get, and join once more.
func TestGroupBegins(t *testing.T) {
	begins := func(r *Receiver, n int32) {
		for member := range 2 {
			r.generation(member, "", n)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			partitions int
			wait       time.Duration
			rebalances int
		}{
			"all are read":                    {2, 0, 1},
			"others of the group read one":    {3, 2 * settleTime, 1},
			"one is given up at the start":    {3, time.Second, 0},
			"members have nothing to give up": {0, 0, 2},
		} {
			r := NewReceiver(&cluster.Traffic{}, nil, "t")
			r.turnover.members, r.turnover.partitions = 2, c.partitions
			begins(r, 1)
			r.begin(0, place{"t", 0}, 0)
			begins(r, 2)
			r.begin(1, place{"t", 1}, 0)
			time.Sleep(c.wait)
			begins(r, 3)
			rep := &takt.Report{Extra: map[string]any{}}
			r.Describe(rep)
			if got := rep.Extra["rebalances"]; got != c.rebalances {
				t.Errorf("%s: %v rebalances, want %d", name, got, c.rebalances)
			}
		}
	})
}
