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
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/tokens"
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
	own, knowing := uint64(0), 0 // shards
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
		if n := g.OwnRetransmits; n != nil {
			own += *n
			knowing++
		}
		all.Stolen = max(all.Stolen, g.Stolen)
		all.NoiseFloorUS = max(all.NoiseFloorUS, g.NoiseFloorUS)
	}
	if knowing == len(list) {
		all.OwnRetransmits = &own
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

// errorSums are the classes of errors of all shards.
type errorSums map[string]*errorSum

// errorSum is a class whose message and body come from the shard k: the first one that has a message, or
// the first of all.
type errorSum struct {
	takt.ErrorClass
	k int
}

// add adds the classes of shard k.
func (all errorSums) add(k int, list []takt.ErrorClass) {
	for _, e := range list {
		sum := all[e.Class]
		if sum == nil {
			all[e.Class] = &errorSum{e, k}
			continue
		}
		if said, has := sum.Sample != "", e.Sample != ""; has && !said || has == said && k < sum.k {
			sum.Sample, sum.Body, sum.k = e.Sample, e.Body, k
		}
		sum.Count += e.Count
	}
}

// Errors sums up the failures of shards, which are in the order of their numbers: the most frequent class
// first, each with the message of the first shard that has one.
func Errors(shards [][]takt.ErrorClass) []takt.ErrorClass {
	all := errorSums{}
	for k, list := range shards {
		all.add(k, list)
	}
	return all.list()
}

// list has the most frequent class first.
func (all errorSums) list() []takt.ErrorClass {
	list := []takt.ErrorClass{}
	for _, sum := range all {
		list = append(list, sum.ErrorClass)
	}
	slices.SortFunc(list, func(a, b takt.ErrorClass) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return list
}

// wholeExtra merges the drivers' sections: texts and booleans that are the same in all shards, the
// steps of a scenario, tokens and messages. Other numbers stay with their shard, under "parts", because only the driver knows
// whether they are sums, means or maxima.
func wholeExtra(list []shard) map[string]any {
	extra := map[string]any{"shards": list[0].n}
	for name, v := range list[0].Extra {
		if agreed(name, v, list) {
			extra[name] = v
		}
	}
	var extras []map[string]any
	var reports []*takt.Report
	for _, s := range list {
		extras, reports = append(extras, s.Extra), append(reports, s.Report)
	}
	if rows, ok := steps.Merge(extras); ok {
		extra[steps.Key] = rows
	}
	if rounds, ok := steps.MergeRounds(extras); ok {
		extra[steps.Rounds] = rounds
	}
	if all, ok := tokens.Merge(reports); ok {
		extra[tokens.Key] = all
	}
	if all, ok := tokens.MergeMessages(reports); ok {
		extra[tokens.CallsKey] = all
	}
	oneHost := !slices.ContainsFunc(list, func(s shard) bool { return s.Generator.HostClass != list[0].Generator.HostClass })
	var parts []any
	for _, s := range list {
		part := s.part()
		if oneHost {
			delete(part, "host_class") // the whole's generator names it
		}
		rest := map[string]any{}
		for name, v := range s.Extra {
			if _, all := extra[name]; !all && name != "host" {
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

// part is a shard's line in parts. It has few digits, because there may be thousands of lines.
func (s shard) part() map[string]any {
	part := map[string]any{
		"shard": s.Schedule.Shard, "id": s.ID, "started_at": s.StartedAt.Format(time.RFC3339Nano),
		"achieved_per_s": digits(s.Rate.Achieved, 6), "verdict": string(s.Verdict), "host_class": s.Generator.HostClass,
	}
	if s.host != "" {
		part["host"] = s.host
	}
	if lag, ok := s.Latency[takt.LatencyScheduleLag]; ok && lag.Count > 0 {
		part["schedule_lag_p99_us"] = digits(lag.P99, 4)
	}
	if response := cmp.Or(s.Latency[takt.LatencyResponse], s.Latency[takt.LatencySend]); response.Count > 0 {
		part["response_p99_us"] = digits(response.P99, 4)
	}
	if share := s.busy(); share > 0 {
		part["cpu_percent"] = digits(100*share, 3)
	}
	return part
}

// digits is v with n significant digits.
func digits(v float64, n int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v // cannot happen: FormatFloat wrote it
	}
	return short
}

// busy is how much of the CPU that its process may use the shard used, 0 to 1; 0: unknown. A loop cannot
// use more than one core. The process also runs in the drain, which no report has, so the true share is
// at most this.
func (s shard) busy() float64 {
	time := s.WarmupS + s.DurationS
	if may := s.mayUse(); may > 0 && time > 0 {
		return s.Generator.CPUS / (float64(may) * time)
	}
	return 0
}

// mayUse is the number of cores that the shard can use; 0: unknown.
func (s shard) mayUse() int {
	g := s.Generator
	may := min(g.GOMAXPROCS, g.Cores)
	if g.Loops > 0 {
		may = min(may, g.Loops)
	}
	return may
}

func agreed(name string, v any, list []shard) bool {
	switch v.(type) {
	case string, bool:
		return name != "host" && !slices.ContainsFunc(list, func(s shard) bool { return s.Extra[name] != v })
	}
	return false
}
