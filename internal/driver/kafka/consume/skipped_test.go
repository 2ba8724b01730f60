package consume

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/pkg/takt"
)

// Records that retention deleted are unfinished, with their partition and offsets; a gap after the log's beginning is
// compaction, which is no loss.
func TestSkipped(t *testing.T) {
	at := place{"orders", 2}
	for name, c := range map[string]struct {
		do                 func(r *Receiver)
		deleted, compacted any
		text               string
	}{
		"nothing": {func(r *Receiver) { r.skip(at, stretch{100, 110, 10, 0}); r.skip(at, stretch{110, 120, 10, 90}) }, nil, nil, ""},
		"deleted": {func(r *Receiver) {
			r.skip(at, stretch{3000, 3010, 10, 3000})
			r.skip(at, stretch{3010, 3020, 10, 3005})
		}, int64(2900), nil, "2900 records were deleted before they were read, by retention or an administrator, and count as unfinished: partition 2 of topic orders from offset 100 to 2999;"},
		"deleted twice": {func(r *Receiver) { r.skip(at, stretch{200, 210, 10, 200}); r.skip(at, stretch{300, 310, 10, 300}) }, int64(190), nil, "from offset 100 to 199;"},
		"compacted":     {func(r *Receiver) { r.skip(at, stretch{100, 120, 12, 50}); r.skip(at, stretch{130, 131, 1, 50}) }, nil, int64(18), ""},
		"both":          {func(r *Receiver) { r.skip(at, stretch{200, 210, 9, 150}) }, int64(50), int64(51), "from offset 100 to 149;"},
		"all deleted": {func(r *Receiver) {
			for range 3 {
				r.look("orders", cluster.Look{Ends: map[int32]int64{2: 500}, Starts: map[int32]int64{2: 500}})
			}
		}, int64(400), nil, "from offset 100 to 499;"},
		"read in the meantime": {func(r *Receiver) {
			r.look("orders", cluster.Look{Starts: map[int32]int64{2: 105}})
			r.skip(at, stretch{100, 110, 10, 0})
			r.pass(at, 110)
			r.look("orders", cluster.Look{Starts: map[int32]int64{2: 105}})
			r.look("orders", cluster.Look{Starts: map[int32]int64{2: 105}})
		}, nil, nil, ""},
		"on its way": {func(r *Receiver) {
			for range 3 {
				r.look("orders", cluster.Look{Starts: map[int32]int64{2: 150}})
			}
			r.skip(at, stretch{100, 180, 80, 0}) // a fetch from before
			r.skip(at, stretch{200, 210, 10, 200})
		}, int64(20), nil, "from offset 180 to 199;"},
		"held by the client": {func(r *Receiver) {
			r.held[0] = func() bool { return true }
			for range 3 {
				r.look("orders", cluster.Look{Starts: map[int32]int64{2: 150}})
			}
		}, nil, nil, ""},
		"without stretches, as sarama": {func(r *Receiver) {
			r.place([]message{{topic: "orders", partition: 2, offset: 100}, {topic: "orders", partition: 2, offset: 101}}, 2)
			for range 3 {
				r.look("orders", cluster.Look{Starts: map[int32]int64{2: 150}})
			}
		}, int64(48), nil, "from offset 102 to 149;"},
	} {
		r := NewReceiver(&cluster.Traffic{}, nil, "orders")
		r.outages = newOutages(0, false, r.Arrivals)
		r.begin(0, at, 100)
		c.do(r)
		rep := &takt.Report{Extra: map[string]any{}, Counts: takt.Counts{Scheduled: 7, OK: 7}}
		r.Describe(rep)
		text := ""
		for _, w := range rep.Warnings {
			text += w.Message
		}
		deleted, _ := c.deleted.(int64)
		if rep.Extra["deleted"] != c.deleted || rep.Extra["compacted"] != c.compacted || !strings.Contains(text, c.text) || c.text == "" && text != "" {
			t.Errorf("%s: %v %v %s", name, rep.Extra["deleted"], rep.Extra["compacted"], text)
		}
		if rep.Counts.Unfinished != uint64(deleted) || rep.Counts.Scheduled != 7+uint64(deleted) {
			t.Errorf("%s: %+v", name, rep.Counts)
		}
	}
}
