package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// drainEvery is the time between handovers of rows: 400 rows at 20k/s.
	drainEvery = 20 * time.Millisecond
	// rowMemory limits the rows that wait. With three shards there is room for 0.5 s at
	// 100k/s, which is 28 times the rows of one drainEvery. A disk may freeze that long
	// before rows are skipped.
	rowMemory = 24 << 20
	rowBytes  = 184 // size of a takt.Sample; a test compares
)

// rows hands over the rows of a run while it goes, in its own goroutine: a slow writer costs
// rows, never a late operation.
type rows struct {
	world  World
	rec    *record.Recorder
	phases []string
	out    func(phases []string, list []takt.Sample) // nil: no rows
	room   int                                       // rows per shard
	batch  []takt.Sample
	quit   chan struct{}
	done   chan struct{}
}

// roomFor is the number of rows that each shard holds. rowMemory has room for twice as many,
// to hand over, and for one spare shard.
func roomFor(p Plan, shards int) int {
	if p.OnSamples == nil {
		return 0
	}
	return max(1, rowMemory/rowBytes/(2*shards+1))
}

func newRows(p Plan, rec *record.Recorder) *rows {
	room := roomFor(p, rec.Shards())
	return &rows{
		world: p.world(), rec: rec, phases: p.Driver.Phases[:min(len(p.Driver.Phases), takt.MaxPhases)], out: p.OnSamples, room: room,
		batch: make([]takt.Sample, 0, room*rec.Shards()), // untouched pages take no memory
		quit:  make(chan struct{}), done: make(chan struct{}),
	}
}

func (r *rows) start() {
	if r.out == nil {
		close(r.done)
		return
	}
	r.world.Go(r.live)
}

func (r *rows) live() {
	defer close(r.done)
	for r.world.First(r.world.After(drainEvery), r.quit) == 0 {
		r.drain()
	}
}

func (r *rows) drain() {
	r.batch = r.rec.TakeSamples(r.batch[:0])
	if len(r.batch) > 0 {
		r.out(r.phases, r.batch)
	}
}

// finish counts operations still queued in f and hands over the last rows. Nothing is urgent
// any more: a backlog of millions of rows waits for the writer.
func (r *rows) finish(f *flow) {
	close(r.quit)
	r.world.First(r.done)
	if r.out == nil {
		f.countRest(1, func() {})
		return
	}
	r.drain()
	f.countRest(r.room, r.drain)
	r.drain()
}
