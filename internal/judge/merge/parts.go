package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// addedVariables are bounds of each shard, which are added: 3 shards with 50 connections each have
// 150 connections to the target.
func addedVariables() []string {
	return []string{"connections", "max_in_flight", "h2_connections", "loops", "workers"}
}

// addedVariable is the shard's value of a variable that is added. Other variables apply to the whole
// run. In a closed loop, which has no common schedule, requests (-n) is added, too.
func (s shard) addedVariable(name string) (v float64, adds bool) {
	if !slices.Contains(addedVariables(), name) && (name != "requests" || s.Schedule.Profile != "closed") {
		return 0, false
	}
	v, err := strconv.ParseFloat(stored.JSON(s.Variables[name]), 64)
	return v, err == nil
}

// wholeVariables are the variables of a single process with the same load.
func wholeVariables(list []shard) map[string]any {
	all := maps.Clone(list[0].Variables)
	for name := range all {
		sum := 0.0
		for _, s := range list {
			v, _ := s.addedVariable(name)
			sum += v
		}
		if _, adds := list[0].addedVariable(name); adds {
			all[name] = sum
		}
	}
	return all
}

// mergeGenerators adds the costs of the run on all hosts. The sum of max_rss_bytes is an upper bound on
// the memory needed, and shards on one host count its cores several times. GC pauses, stolen CPU time
// and the noise floor are the worst of all shards.
func mergeGenerators(list []shard) takt.Generator {
	var all takt.Generator
	engines, hosts := map[string]bool{}, map[string]int{}
	for _, s := range list {
		g := s.Generator
		engines[g.Engine] = true
		hosts[g.HostClass]++
		all.Loops += g.Loops
		all.GOMAXPROCS += g.GOMAXPROCS
		all.CPUS += g.CPUS
		all.MaxRSS += g.MaxRSS
		all.GCCycles += g.GCCycles
		all.Cores += g.Cores
		all.GCPauseMaxUS = max(all.GCPauseMaxUS, g.GCPauseMaxUS)
		all.WaitedS += g.WaitedS
		all.ThrottledS += g.ThrottledS
		all.Retransmits += g.Retransmits
		all.Stolen = max(all.Stolen, g.Stolen)
		all.NoiseFloorUS = max(all.NoiseFloorUS, g.NoiseFloorUS)
	}
	all.Engine = strings.Join(slices.Sorted(maps.Keys(engines)), "+")
	all.HostClass = hostsClass(hosts)
	return all
}

// mergeAttributions adds the slices. It returns none if a shard with response times has none.
func mergeAttributions(list []shard) (all takt.Attribution) {
	for _, s := range list {
		a := s.Attribution
		if len(a.Slices) == 0 && s.Latency[takt.LatencyResponse].Count > 0 {
			return takt.Attribution{}
		}
		if all.RTT == 0 || a.RTT > 0 && a.RTT < all.RTT {
			all.RTT = a.RTT
		}
		for _, slice := range a.Slices {
			i, known := slices.BinarySearchFunc(all.Slices, slice.Below, func(s takt.Slice, below float64) int { return cmp.Compare(s.Below, below) })
			if !known {
				all.Slices = slices.Insert(all.Slices, i, takt.Slice{Below: slice.Below})
			}
			to := &all.Slices[i]
			to.Operations, to.Parts = to.Operations+slice.Operations, to.Plus(slice.Parts)
		}
	}
	return all
}

// hostsClass names the classes of all hosts, so that a run on three hosts is not compared with a run
// on one host.
func hostsClass(hosts map[string]int) string {
	var list []string
	for _, class := range slices.Sorted(maps.Keys(hosts)) {
		list = append(list, fmt.Sprintf("%d × %s", hosts[class], cmp.Or(class, "unknown host")))
	}
	return strings.Join(list, " + ")
}

// mergeErrors adds the counts of error classes, most frequent first. Message and body of a class come
// from the first shard that has a message.
func mergeErrors(list []shard) []takt.ErrorClass {
	all := []takt.ErrorClass{}
	for _, s := range list {
		for _, e := range s.Errors {
			i := slices.IndexFunc(all, func(known takt.ErrorClass) bool { return known.Class == e.Class })
			if i < 0 {
				all = append(all, e)
				continue
			}
			all[i].Count += e.Count
			if all[i].Sample == "" {
				all[i].Sample, all[i].Body = e.Sample, e.Body
			}
		}
	}
	slices.SortFunc(all, func(a, b takt.ErrorClass) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return all
}

// wholeExtra merges the drivers' sections: texts and booleans that are the same in all shards. Numbers
// stay with their shard, under "parts", because only the driver knows whether they are sums, means
// or maxima.
func wholeExtra(list []shard) map[string]any {
	extra := map[string]any{"shards": list[0].n}
	var parts []any
	for _, s := range list {
		part := map[string]any{
			"shard": s.Schedule.Shard, "id": s.ID, "started_at": s.StartedAt.Format(time.RFC3339Nano),
			"achieved_per_s": s.Rate.Achieved, "verdict": string(s.Verdict), "host_class": s.Generator.HostClass,
		}
		rest := map[string]any{}
		for name, v := range s.Extra {
			if agreed(name, v, list) {
				extra[name] = v
			} else {
				rest[name] = v
			}
		}
		if len(rest) > 0 {
			part["extra"] = rest
		}
		parts = append(parts, part)
	}
	extra["parts"] = parts
	return extra
}

func agreed(name string, v any, list []shard) bool {
	switch v.(type) {
	case string, bool:
		return !slices.ContainsFunc(list, func(s shard) bool { return s.Extra[name] != v })
	}
	return false
}
