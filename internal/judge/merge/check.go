package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// UnmergeableError says why reports do not belong to the shards of one run, or cannot be merged
// exactly.
type UnmergeableError struct {
	Faults []string // one sentence each
}

// maxTold is the largest number of faults in the text of an error: each of a thousand shards can differ
// from the first.
const maxTold = 20

// Error implements error, with one line per fault.
func (e *UnmergeableError) Error() string {
	told := e.Faults[:min(len(e.Faults), maxTold)]
	if more := len(e.Faults) - len(told); more > 0 {
		told = append(slices.Clone(told), fmt.Sprintf("and %d more faults", more))
	}
	return "the reports cannot be merged: " + strings.Join(told, "\n")
}

// maxMissing is the largest number of missing shards that an error names: with a wrong k/n, a billion
// can be missing.
const maxMissing = 20

// MissingShardsError names the shards of a run whose reports are missing.
type MissingShardsError struct {
	Shards []string // "2/3", at most 20
	More   int      // number of other missing shards
}

// Error implements error.
func (e *MissingShardsError) Error() string {
	return e.subject() + " missing; give all reports of the run, or --allow-missing to merge those that are there"
}

// subject is the subject of a sentence about the shards, with its verb.
func (e *MissingShardsError) subject() string {
	names := strings.Join(e.Shards, ", ")
	switch {
	case e.More > 0:
		return fmt.Sprintf("shards %s and %d more are", names, e.More)
	case len(e.Shards) > 1:
		return "shards " + names + " are"
	}
	return "shard " + names + " is"
}

// shard is the report of the operations k, k+n, k+2n … of a run. In a Fold it has only small parts: see small.
type shard struct {
	*takt.Report
	k, n      int      // counted from 1
	host      string   // name of the machine; "": unknown
	intervals int      // how many the report had
	damaged   []string // faults of its histograms and intervals
}

// name is the shard's name in faults.
func (s shard) name() string { return "shard " + s.Schedule.Shard + " (" + s.ID + ")" }

// place is the shard's number, however its report writes it.
func (s shard) place() string { return fmt.Sprintf("%d/%d", s.k, s.n) }

// faultsOf are the faults of the shards, which are in order.
func faultsOf(list []shard) (faults []string) {
	model := Usual(list, func(s shard) string { return stored.JSON(s.common()) })
	for i, s := range list {
		faults = append(faults, s.faults()...)
		faults = append(faults, strange(s, model)...)
		if i > 0 && s.k == list[i-1].k && s.n == list[i-1].n {
			faults = append(faults, fmt.Sprintf("%s and %s are both shard %s; give each shard once", list[i-1].ID, s.ID, s.Schedule.Shard))
		}
	}
	faults = append(faults, labelFaults(list)...)
	for _, s := range list {
		faults = append(faults, s.damaged...)
	}
	return faults
}

// Usual is the first of those that say what most say: the order decides only between equally many.
func Usual[T any, K comparable](list []T, says func(T) K) (model T) {
	said, count, most := make([]K, len(list)), map[K]int{}, 0
	for i, one := range list {
		said[i] = says(one)
		count[said[i]]++
	}
	for i, one := range list {
		if n := count[said[i]]; n > most {
			model, most = one, n
		}
	}
	return model
}

// shardNumber reads k/n; 0, 0: s is not a shard.
func shardNumber(s string) (k, n int) {
	left, right, _ := strings.Cut(s, "/")
	k, errK := strconv.Atoi(left)
	n, errN := strconv.Atoi(right)
	if errK != nil || errN != nil || k < 1 || k > n {
		return 0, 0
	}
	return k, n
}

// faults are the faults that a shard has by itself.
func (s shard) faults() (faults []string) {
	if s.Schedule.RunGroup == "" {
		faults = append(faults, s.name()+" has no run_group, so nothing says which shards belong to it; run all of them with the same --run-group or --start-at")
	}
	if s.Counts.Sent > 0 && s.Latency[takt.LatencyResponse].Count+s.Latency[takt.LatencySend].Count == 0 {
		faults = append(faults, s.name()+" has no histogram of response time; use the report that takt wrote, because imported reports cannot be merged")
	}
	if s.intervals > 0 && !doubles(s.IntervalS) {
		faults = append(faults, fmt.Sprintf("%s has intervals of %v s, and takt writes 1 s, 2 s, 4 s and so on; use the report that takt wrote", s.name(), s.IntervalS))
	}
	return faults
}

// strange says in which fields s wrongly differs from another shard.
func strange(s, model shard) []string {
	list := differing(s.common(), model.common())
	if list == "" {
		return nil
	}
	return []string{s.name() + " does not belong to " + model.name() + ": it differs in " + list}
}

// Belongs returns why a report is not that of a shard of the load that was asked for; nil: it is. What the
// report of each shard must say is in asked.
func Belongs(r, asked *takt.Report) error {
	if list := differing(known(r), known(asked)); list != "" {
		return fmt.Errorf("it is not of the load that was asked for: it differs in %s", list)
	}
	return nil
}

// known is what somebody who asks for a load knows of the report of each shard.
func known(r *takt.Report) map[string]string {
	_, n := shardNumber(r.Schedule.Shard)
	m := shard{Report: r, n: n}.common()
	for name, v := range r.Variables {
		m["variable "+name] = stored.JSON(v) // also what is added: each shard has what was asked for
	}
	delete(m, "variable "+engine)
	delete(m, gapCV) // only the shards read the log
	m["tool"] = stored.JSON(r.Tool.Name + " " + r.Tool.Version)
	return m
}

// differing names the fields that differ, with mine and the right values; "": none does.
func differing(mine, its map[string]string) string {
	names := maps.Clone(mine)
	maps.Copy(names, its)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case mine[name] == its[name]:
		case stored.IsDigest(name):
			list = append(list, name)
		default:
			list = append(list, fmt.Sprintf("%s (%s, not %s)", name, cmp.Or(mine[name], "none"), cmp.Or(its[name], "none")))
		}
	}
	return strings.Join(list, ", ")
}

// common contains the fields that all shards of a run must share, by name. Values are JSON, so that a
// report in memory equals one that was read from a file.
func (s shard) common() map[string]string {
	plan := s.Schedule
	m := map[string]string{
		"schema_version": stored.JSON(s.SchemaVersion), "kind": stored.JSON(s.Kind), "run_group": stored.JSON(plan.RunGroup),
		"number of shards": stored.JSON(s.n), "warmup_s": stored.JSON(s.WarmupS),
		"schedule.profile": stored.JSON(plan.Profile), "schedule.arrivals": stored.JSON(plan.Arrivals), "schedule.rate_per_s": stored.JSON(plan.RatePerS),
		"schedule.stages": stored.JSON(plan.Stages), "schedule.seed": stored.JSON(plan.Seed),
		gapCV: stored.JSON(plan.GapCV),
	}
	for name, v := range s.Variables {
		m["variable "+name] = stored.JSON(v)
		if _, adds := s.addedVariable(name); adds {
			m["variable "+name] = "a bound of its own"
		}
	}
	delete(m, "variable "+engine) // the host of a shard decides, and the whole has all
	return m
}

// engine is the variable with the generator's engine.
const engine = "engine"

// gapCV is the field by which shards with different logs of --arrivals like:LOG differ.
const gapCV = "schedule.gap_cv"

// labelFaults names labels on which the shards do not agree. A label that only some shards have is
// not a fault: it applies to all.
func labelFaults(list []shard) (faults []string) {
	said := map[string]shard{}
	for _, s := range list {
		for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
			first, known := said[name]
			if !known {
				said[name] = s
			} else if first.Labels[name] != s.Labels[name] {
				faults = append(faults, fmt.Sprintf("label %s is %q in %s but %q in %s; all shards of a run must have the same value", name, first.Labels[name], first.name(), s.Labels[name], s.name()))
			}
		}
	}
	return faults
}

// spaced is the name of a latency in a sentence.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// missingShards returns nil if no shard is missing. list is in order, without duplicates.
func missingShards(list []shard) *MissingShardsError {
	n := list[0].n
	e := &MissingShardsError{More: n - len(list)}
	for k, i := 1, 0; k <= n && e.More > 0 && len(e.Shards) < maxMissing; k++ {
		if i < len(list) && list[i].k == k {
			i++
			continue
		}
		e.Shards = append(e.Shards, fmt.Sprintf("%d/%d", k, n))
		e.More--
	}
	if e.Shards == nil {
		return nil
	}
	return e
}
