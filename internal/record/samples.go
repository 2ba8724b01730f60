package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// newRows is nil for n = 0, so that without rows an operation costs one comparison.
func newRows(n int) []takt.Sample {
	if n == 0 {
		return nil
	}
	return make([]takt.Sample, 0, n)
}

// keep adds the operation to the rows for TakeSamples. Without room it counts the operation
// as skipped, because a slow writer must not delay a worker. Operations of the warm-up have
// no row. The caller holds the lock.
func (s *shard) keep(e *Event, res *takt.Result, warmup time.Duration) {
	n := len(s.rows)
	switch {
	case e.Due < warmup:
	case n == cap(s.rows):
		s.skipped++
	default:
		s.rows = s.rows[:n+1]
		fill(&s.rows[n], e, res)
	}
}

// fill writes every field of row, which is reused.
func fill(row *takt.Sample, e *Event, res *takt.Result) {
	*row = takt.Sample{Seq: e.Seq, Due: e.Due, Free: max(e.Due, e.Free), Sent: e.Sent, Done: e.Done, Step: int(e.Step)}
	if (e.Outcome == Ended || e.Outcome == UnfinishedSent) && e.backlogged() {
		row.Behind = e.backlog()
	}
	if res != nil {
		row.Timed = res.Timed
	}
	switch e.Outcome {
	case Dropped:
		row.Sent, row.Done, row.Class = takt.NotSent, e.Due, takt.ClassDropped
	case UnfinishedQueued:
		row.Sent, row.Class = takt.NotSent, takt.ClassUnfinished
	case UnfinishedSent:
		row.Class = takt.ClassUnfinished
	case Ended:
		if res != nil {
			row.Phases, row.Status, row.Class, row.Goal = res.Phases, res.Status, res.Class, res.Goal
			row.BytesSent, row.BytesReceived = res.BytesSent, res.BytesReceived
		}
	}
}

// TakeSamples appends the waiting rows to into, in the order in which their operations ended.
// Operations that end during the call may be in the next one. Only one goroutine at a time
// may call it.
func (r *Recorder) TakeSamples(into []takt.Sample) []takt.Sample {
	before := len(into)
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		full := s.rows
		s.rows = r.spareRows[:0]
		s.mu.Unlock()
		into = append(into, full...)
		r.spareRows = full
	}
	slices.SortFunc(into[before:], func(a, b takt.Sample) int { return cmp.Compare(a.Done, b.Done) })
	if r.cfg.OneWay {
		for i := range into[before:] {
			into[before+i].Done = takt.NoAnswer
		}
	}
	return into
}

// skipped is the number of operations without a row because there was no room.
func (r *Recorder) skipped() (n uint64) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += s.skipped
		s.mu.Unlock()
	}
	return n
}

// rowsReport adds the number of missing rows to rep. Zero is added, too: every scheduled
// operation has a row.
func (r *Recorder) rowsReport(rep *takt.Report) {
	if r.cfg.Samples == 0 {
		return
	}
	n := r.skipped()
	rep.Extra["samples_skipped"] = n
	if n > 0 {
		rep.Warn(warn.SamplesSkipped, "%d of %d operations have no row in the outputs of one row per operation: they ended faster than the rows were written; all other figures hold them; %s",
			takt.Number("skipped", n), takt.Number("scheduled", rep.Counts.Scheduled), takt.Advice("write to a faster disk, or lower the rate"))
	}
}
