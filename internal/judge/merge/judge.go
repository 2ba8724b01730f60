package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// facts is what the verdict of the whole depends on.
func facts(whole *takt.Report, list []shard, missing *MissingShardsError, histograms map[string]*hist.Histogram) *verdict.Shards {
	first, last := starts(list)
	s := &verdict.Shards{
		There: len(list), All: list[0].n, Differ: differences(list), Apart: last.Sub(first), Warnings: unitedWarnings(list),
		Delays: verdict.Delays{
			OnTime: histograms[verdict.OnTime(whole.Latency)], Lag: histograms[takt.LatencyScheduleLag], Dial: histograms[verdict.DialPhase],
		},
	}
	if missing != nil {
		s.Missing = missing.subject()
	}
	for _, one := range list {
		s.Invalid = s.Invalid || one.Verdict == takt.Invalid
		s.Ends = append(s.Ends, verdict.ShardEnd{Shard: one.Schedule.Shard, After: one.DurationS, Early: one.endedEarly()})
		s.Loads = append(s.Loads, one.load())
	}
	return s
}

// load is what the shard used of its host.
func (s shard) load() verdict.ShardLoad {
	return verdict.ShardLoad{
		Shard: s.Schedule.Shard, Host: s.host, Limited: s.Verdict == takt.Invalid && verdict.ByGenerator(s.Warnings),
		CPU: s.Generator.CPUS, Time: s.WarmupS + s.DurationS, Cores: s.mayUse(), HostCores: s.Generator.Cores,
		Disturbed: s.Generator.WaitedS > 0.01*(s.WarmupS+s.DurationS) || s.Generator.ThrottledS > 0 || s.Warned(warn.GeneratorLate) || s.Warned(warn.Steal),
	}
}

// endedEarly reports whether a warning of the shard says that it did not run to its end.
func (s shard) endedEarly() bool {
	return s.Warned(warn.Cancelled) || s.Warned(warn.Aborted) || s.Warned(warn.BrokeOff) || s.Warned(warn.Recovered)
}

// differences between shards that affect no merged figure: versions of takt, engines, and labels that only
// some shards have.
func differences(list []shard) (said []string) {
	versions, engines := map[string][]string{}, map[string][]string{}
	for _, s := range list {
		v := s.Tool.Name + " " + s.Tool.Version
		versions[v] = append(versions[v], s.Schedule.Shard)
		e := fmt.Sprintf("%.40s", s.Generator.Engine)
		engines[e] = append(engines[e], s.Schedule.Shard)
	}
	if len(versions) > 1 {
		said = append(said, "the shards are of several versions, which may count in different ways: "+withShards(versions))
	}
	if len(engines) > 1 {
		said = append(said, "the shards have several engines, which may be late in different ways: "+withShards(engines))
	}
	labels := map[string][]string{}
	for _, s := range list {
		for name := range s.Labels {
			labels[name] = append(labels[name], s.Schedule.Shard)
		}
	}
	maps.DeleteFunc(labels, func(_ string, names []string) bool { return len(names) == len(list) })
	if len(labels) > 0 {
		said = append(said, "the whole has labels that only some of the shards have: "+withShards(labels))
	}
	return said
}

// withShards lists names, each with its shards.
func withShards(shards map[string][]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		all = append(all, fmt.Sprintf("%s (%s)", name, verdict.Named(shards[name])))
	}
	return strings.Join(all, ", ")
}
