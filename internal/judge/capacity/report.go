package capacity

import (
	"fmt"
	"maps"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Kind is Report.Kind of a report of takt capacity.
const Kind = stored.KindCapacity

// Report builds the report of kind capacity from the runs of the steps, at least one. Counts,
// bytes and times are sums over all runs. Variables are the first run's without its rate, plus
// settings. The caller sets tool, command, id and comparability key. The report has no latencies,
// because percentiles over all rates say nothing.
func Report(c Answer, runs []*takt.Report, settings map[string]any) (*takt.Report, error) {
	first := runs[0]
	r := &takt.Report{
		SchemaVersion: takt.SchemaVersion, Kind: Kind, StartedAt: first.StartedAt,
		Labels: maps.Clone(first.Labels), Variables: maps.Clone(first.Variables),
		Schedule:  takt.Schedule{Profile: "steps", Arrivals: first.Schedule.Arrivals, Seed: first.Schedule.Seed, Shard: takt.WholeShard},
		Generator: first.Generator, Status: map[string]uint64{}, Latency: map[string]takt.Latency{}, Verdict: takt.Valid,
	}
	for _, name := range []string{"rate_per_s", "rate", "stages"} {
		delete(r.Variables, name)
	}
	maps.Copy(r.Variables, settings)
	r.Generator.CPUS, r.Generator.GCCycles, r.Generator.Stolen = 0, 0, 0
	for _, run := range runs {
		addRun(r, run)
	}
	if r.DurationS > 0 {
		intended := float64(r.Counts.Scheduled) / r.DurationS
		r.Rate = takt.Rate{Intended: &intended, Achieved: float64(r.Counts.OK+r.Counts.Failed) / r.DurationS}
	}
	noteInvalid(r, c)
	noteStolen(r, c)
	var err error
	r.Extra, err = c.Extra()
	return r, err
}

func addRun(r, run *takt.Report) {
	r.DurationS += run.DurationS
	r.WarmupS += run.WarmupS
	r.Counts, r.WarmupCounts = r.Counts.Plus(run.Counts), r.WarmupCounts.Plus(run.WarmupCounts)
	r.Bytes.Sent += run.Bytes.Sent
	r.Bytes.Received += run.Bytes.Received
	for code, n := range run.Status {
		r.Status[code] += n
	}
	stages := run.Schedule.Stages
	if stages == nil {
		rate := run.Schedule.RatePerS
		stages = []takt.Stage{{DurationS: run.DurationS, From: rate, To: rate}}
	}
	r.Schedule.Stages = append(r.Schedule.Stages, stages...)
	r.Generator.CPUS += run.Generator.CPUS
	r.Generator.GCCycles += run.Generator.GCCycles
	r.Generator.MaxRSS = max(r.Generator.MaxRSS, run.Generator.MaxRSS)
	r.Generator.GCPauseMaxUS = max(r.Generator.GCPauseMaxUS, run.Generator.GCPauseMaxUS)
	r.Generator.Stolen = max(r.Generator.Stolen, run.Generator.Stolen)
}

// noteInvalid warns of invalid steps, and invalidates a search that the generator ended.
func noteInvalid(r *takt.Report, c Answer) {
	invalid, late, warming := 0, 0, 0
	for _, s := range c.Steps {
		switch {
		case s.Warming:
			warming++
		case s.Proven:
			late++
		case s.Verdict == takt.Invalid:
			invalid++
		}
	}
	steps := takt.Number("steps", len(c.Steps))
	if invalid > 0 {
		r.Warn(warn.InvalidSteps, "%d of %d steps are invalid: the generator, not the target, shaped them, so they do not count", takt.Number("invalid", invalid), steps)
	}
	if late > 0 {
		r.Warn(warn.LateSteps, "in %d of %d steps the generator was late, which cannot be why they met the SLO, or broke it: they count where no valid step has their rate, but give no interval", takt.Number("late", late), steps)
	}
	if warming > 0 {
		r.Warn(warn.WarmingSteps, "%d of %d steps broke the SLO, and later it was met at the same rate: the target warmed up, so they do not count; %s", takt.Number("warming", warming), steps, takt.Advice("warm it up before the search, or raise --warmup"))
	}
	if c.Ended == EndInvalid {
		verdict.Invalidate(r, warn.GeneratorBottleneck, "the generator was the bottleneck before the target was; %s", takt.Advice("free the CPU, or load from a larger machine"))
	}
}

// noteStolen warns of steps that the hypervisor disturbed.
func noteStolen(r *takt.Report, c Answer) {
	disturbed, count, most := 0, 0, 0.0
	for _, s := range c.Steps {
		if !s.Disturbed() {
			continue
		}
		disturbed, most = disturbed+1, max(most, s.Stolen)
		if c.Counts(s) {
			count++
		}
	}
	if disturbed == 0 {
		return
	}
	how := takt.Advice("undisturbed runs exist at their rates, so these steps do not count")
	if count > 0 {
		how = takt.Advice(fmt.Sprintf("%d of them count, for there is no better run at their rates: the limit may be higher", count))
	}
	r.Warn(warn.Steal, "in %d of %d steps the hypervisor took more than %d %% of the CPU time away, up to %.0f %%; %s",
		takt.Number("disturbed", disturbed), takt.Number("steps", len(c.Steps)), mostStolen, takt.Percent("stolen_max", most), how)
}
