// Package merge combines the reports of the shards of one run into one report.
package merge

import (
	"maps"
	"math"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Options contain what the reports of the shards do not say.
type Options struct {
	ID           string            // of the merged report
	AllowMissing bool              // merge the existing shards, with the warning shards_missing
	LeaveOut     bool              // Add leaves a report out that it refuses, as if the shard were missing
	Hosts        map[string]string // names of the machines, by shard: "2/3"; the extra section of a report may have it, too
}

// Reports is a Fold of the reports.
func Reports(reports []*takt.Report, o Options) (*takt.Report, error) {
	f := New(o)
	for _, r := range reports {
		_ = f.Add(r) // Report returns the faults of all
	}
	return f.Report()
}

// together builds the merged report without the verdict and without what the fold has summed up.
func together(list []shard) *takt.Report {
	first := list[0]
	whole := &takt.Report{
		SchemaVersion: first.SchemaVersion,
		Tool:          first.Tool,
		Kind:          first.Kind,
		Labels:        map[string]string{},
		Variables:     wholeVariables(list),
		WarmupS:       first.WarmupS,
		Schedule:      first.Schedule,
		Attribution:   mergeAttributions(list),
		Generator:     mergeGenerators(list),
		Extra:         wholeExtra(list),
	}
	if _, has := whole.Variables[engine]; has {
		whole.Variables[engine] = whole.Generator.Engine
	}
	whole.Schedule.Shard, whole.Schedule.ShardFrom = takt.WholeShard, ""
	whole.StartedAt, _ = starts(list)
	for _, s := range list {
		maps.Copy(whole.Labels, s.Labels)
		whole.DurationS = max(whole.DurationS, s.DurationS)
		whole.Counts, whole.WarmupCounts = whole.Counts.Plus(s.Counts), whole.WarmupCounts.Plus(s.WarmupCounts)
		whole.Ledger = whole.Ledger.Plus(s.Ledger)
		whole.Goodput = plusGoodput(whole.Goodput, s.Goodput)
		whole.Bytes.Sent += s.Bytes.Sent
		whole.Bytes.Received += s.Bytes.Received
	}
	whole.Rate = wholeRate(list, whole.DurationS)
	if whole.Goodput != nil {
		whole.Goodput.Of(whole.Counts.Scheduled, whole.DurationS)
	}
	return whole
}

// plusGoodput is the sum without its share and rate. Shards have the same conditions.
func plusGoodput(a, b *takt.Goodput) *takt.Goodput {
	if b == nil {
		return a
	}
	sum := *b
	if a != nil {
		sum.Good, sum.Undecided = a.Good+b.Good, a.Undecided+b.Undecided
		sum.Missed = takt.PlusErrors(maps.Clone(a.Missed), b.Missed)
	}
	return &sum
}

// wholeRate divides all operations by durationS, that of the longest shard. A shard's rate × its
// duration, rounded, is exactly its count. A sum of rates would be too high if a closed-loop shard
// ended before the others.
func wholeRate(list []shard, durationS float64) takt.Rate {
	perSecond := func(n float64) float64 {
		if durationS <= 0 {
			return 0
		}
		return n / durationS
	}
	var ended float64
	for _, s := range list {
		ended += math.Round(s.Rate.Achieved * s.DurationS)
	}
	rate := takt.Rate{Achieved: perSecond(ended)}
	if list[0].Rate.Intended != nil { // then all have one: the shards share a schedule
		due := perSecond(scheduleDue(list, durationS))
		rate.Intended = &due
	}
	return rate
}

// scheduleDue is how many operations the whole schedule has in durationS, including those of shards
// that are missing or were cut short. The shards get the operations in turn, so all have the same
// number, give or take one. When shards were cut short one after another, that one can make the estimate
// lower than what they scheduled themselves.
func scheduleDue(list []shard, durationS float64) float64 {
	var due, shards, own float64
	for _, s := range list {
		own += math.Round(*s.Rate.Intended * s.DurationS)
		if s.DurationS >= durationS {
			due += math.Round(*s.Rate.Intended * s.DurationS)
			shards++
		}
	}
	return max(own, due+math.Round(due/shards*(float64(list[0].n)-shards)))
}

// starts returns when the first and the last shard started.
func starts(list []shard) (first, last time.Time) {
	first, last = list[0].StartedAt, list[0].StartedAt
	for _, s := range list {
		if s.StartedAt.Before(first) {
			first = s.StartedAt
		}
		if s.StartedAt.After(last) {
			last = s.StartedAt
		}
	}
	return first, last
}
