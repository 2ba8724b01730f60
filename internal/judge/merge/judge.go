package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// facts is what the verdict of the whole depends on.
func facts(list []shard, missing *MissingShardsError, sums *merged) *verdict.Shards {
	first, last := starts(list)
	s := &verdict.Shards{
		There: len(list), All: list[0].n, Differ: differences(list), Apart: last.Sub(first), Warnings: unitedWarnings(list),
		Response: cmp.Or(sums.histograms[takt.LatencyResponse], sums.histograms[takt.LatencySend]), Lag: sums.histograms[takt.LatencyScheduleLag],
	}
	if missing != nil {
		s.Missing = missing.subject()
	}
	for _, one := range list {
		s.Invalid = s.Invalid || one.Verdict == takt.Invalid
		s.Ends = append(s.Ends, verdict.ShardEnd{Shard: one.Schedule.Shard, After: one.DurationS, Early: one.endedEarly()})
	}
	return s
}

// endedEarly reports whether a warning of the shard says that it did not run to its end.
func (s shard) endedEarly() bool {
	return s.Warned("cancelled") || s.Warned("aborted") || s.Warned("broke_off") || s.Warned("recovered")
}

// differences between shards that affect no merged figure: versions of takt, and labels that only
// some shards have.
func differences(list []shard) (said []string) {
	versions := map[string][]string{}
	for _, s := range list {
		v := s.Tool.Name + " " + s.Tool.Version
		versions[v] = append(versions[v], s.Schedule.Shard)
	}
	if len(versions) > 1 {
		said = append(said, "the shards are of several versions, which may count in different ways: "+withShards(versions))
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
		all = append(all, fmt.Sprintf("%s (%s)", name, strings.Join(shards[name], ", ")))
	}
	return strings.Join(all, ", ")
}

// unitedWarnings returns the warnings of the shards, each with the names of its shards. A warning of
// all shards needs no names unless it contains a number, which would look like a number of the
// whole. It leaves out dropped operations, which the verdict counts for the whole.
func unitedWarnings(list []shard) []takt.Warning {
	var all []takt.Warning
	from := map[takt.Warning][]string{}
	for _, s := range list {
		for _, w := range s.Warnings {
			if w.Code == "dropped" || slices.Contains(from[w], s.Schedule.Shard) {
				continue
			}
			if from[w] == nil {
				all = append(all, w)
			}
			from[w] = append(from[w], s.Schedule.Shard)
		}
	}
	for i, w := range all {
		names := from[w]
		switch {
		case len(names) == len(list) && !strings.ContainsAny(w.Message, "0123456789"):
		case len(names) == 1:
			all[i].Message = "shard " + names[0] + ": " + w.Message
		default:
			all[i].Message = "each of the shards " + strings.Join(names, ", ") + ": " + w.Message
		}
	}
	return all
}
