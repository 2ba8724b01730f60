package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// How far apart may shards start or end? The clocks of hosts with NTP agree to some milliseconds, so
// 100 ms means that the shards did not wait for the same instant. As 1 % of operations may be late,
// the whole load may be missing for 1 % of the duration.
const (
	apartWarn = 100 * time.Millisecond // more is a warning
	apartPart = 0.01                   // more of the duration makes the whole invalid
)

// judgeWhole sets the verdict and the warnings. One invalid shard makes the whole invalid. The whole
// can also be invalid although each shard is valid: lag is compared with the p99 response time of
// the whole, and many shards with nine late operations each easily exceed the limit of ten.
func judgeWhole(whole *takt.Report, list []shard, missing *MissingShardsError, sums *merged) {
	whole.Verdict = takt.Valid
	whole.Warnings = []takt.Warning{}
	if missing != nil {
		verdict.Invalidate(whole, "shards_missing", "%s missing: these are the figures of %d of %d parts of the load, and are not compared with others", missing.subject(), len(list), list[0].n)
	}
	first, last := starts(list)
	judgeStarts(whole, last.Sub(first))
	judgeEnds(whole, list)
	warnDifferent(whole, list)
	for _, s := range list {
		if s.Verdict == takt.Invalid {
			whole.Verdict = takt.Invalid
		}
	}
	if n := whole.Counts.Dropped; n > 0 {
		whole.Warn("dropped", "%d operations were dropped at the in-flight bound and are in no percentile: the tail is truncated", n)
	}
	said := unitedWarnings(list)
	judgeLimits(whole, said)
	if whole.Rate.Intended != nil {
		judgeLag(whole, said, cmp.Or(sums.histograms[takt.LatencyResponse], sums.histograms[takt.LatencySend]), sums.histograms[takt.LatencyScheduleLag])
	}
	whole.Warnings = append(whole.Warnings, said...)
}

// judgeStarts warns if the shards did not start together. Only while all shards run do operations
// interleave according to the schedule, and does the target get the whole load.
func judgeStarts(whole *takt.Report, apart time.Duration) {
	if apart <= apartWarn {
		return
	}
	verdict.Warner(whole, apart.Seconds() > apartPart*whole.DurationS)("shards_apart", "the shards started up to %v apart, so for that long the target did not bear the whole load; give all the same --start-at, on hosts whose clocks agree", apart.Round(time.Millisecond))
}

// judgeEnds warns if shards were cut short, because the target gets the whole load only until the
// first shard ends. The bounds are those of judgeStarts, but if a signal or --abort-on ended only
// some shards, the whole is always invalid. Durations of closed loops normally differ.
func judgeEnds(whole *takt.Report, list []shard) {
	var cut []string
	ended, shortest := 0, whole.DurationS
	for _, s := range list {
		short := whole.Rate.Intended != nil && whole.DurationS-s.DurationS > apartWarn.Seconds()
		if s.ended() {
			ended++
		}
		if short || s.ended() {
			cut = append(cut, s.Schedule.Shard)
			shortest = min(shortest, s.DurationS)
		}
	}
	apart := whole.DurationS - shortest
	some := ended > 0 && ended < len(list)
	if !some && apart <= apartWarn.Seconds() {
		return // no shard was cut short, or all at the same instant, and each has its own warning
	}
	subject := "shard " + cut[0] + " was"
	if len(cut) > 1 {
		subject = "shards " + strings.Join(cut, ", ") + " were"
	}
	verdict.Warner(whole, some || apart > apartPart*whole.DurationS)("shards_cut", "%s cut short, after %v of %v: from then on the target did not bear the whole load; run all shards again", subject, inSeconds(shortest), inSeconds(whole.DurationS))
}

func inSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// ended reports whether a warning of the shard says that it did not run to its end.
func (s shard) ended() bool {
	return s.Warned("cancelled") || s.Warned("aborted") || s.Warned("broke_off") || s.Warned("recovered")
}

// warnDifferent warns of differences between shards that affect no merged figure: versions of takt,
// and labels that only some shards have.
func warnDifferent(whole *takt.Report, list []shard) {
	versions := map[string][]string{}
	for _, s := range list {
		v := s.Tool.Name + " " + s.Tool.Version
		versions[v] = append(versions[v], s.Schedule.Shard)
	}
	if len(versions) > 1 {
		whole.Warn("shards_differ", "the shards are of several versions, which may count in different ways: %s", withShards(versions))
	}
	labels := map[string][]string{}
	for _, s := range list {
		for name := range s.Labels {
			labels[name] = append(labels[name], s.Schedule.Shard)
		}
	}
	maps.DeleteFunc(labels, func(_ string, names []string) bool { return len(names) == len(list) })
	if len(labels) > 0 {
		whole.Warn("shards_differ", "the whole has labels that only some of the shards have: %s", withShards(labels))
	}
}

// withShards lists names, each with its shards.
func withShards(shards map[string][]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		all = append(all, fmt.Sprintf("%s (%s)", name, strings.Join(shards[name], ", ")))
	}
	return strings.Join(all, ", ")
}

// judgeLimits checks failures at host limits again: few in each of many shards are many together.
func judgeLimits(whole *takt.Report, said []takt.Warning) {
	known := slices.ContainsFunc(said, func(w takt.Warning) bool { return w.Code == "host_limit" })
	l := verdict.OfLimits(whole.Errors, whole.Counts.Scheduled)
	if !l.Bottleneck() || whole.Verdict == takt.Invalid && known {
		return
	}
	verdict.Invalidate(whole, "host_limit", "%d operations (%.2g %%) failed at limits of the generators' hosts, not at the target: %s", l.Failed, 100*l.Share, l.Sample)
}

func judgeLag(whole *takt.Report, said []takt.Warning, response, lag *hist.Histogram) {
	if response == nil || lag == nil {
		return
	}
	l := verdict.Of(response, lag)
	if l.Bottleneck() && whole.Verdict == takt.Valid {
		verdict.Invalidate(whole, "generator_bottleneck", "the generators together were the bottleneck: %d operations (%.1f %%) were sent more than %v after they could have been; lower the rate, free the CPUs, or spread the run over more shards",
			l.Late, 100*l.Share, l.Bound)
	}
	known := slices.ContainsFunc(said, func(w takt.Warning) bool { return w.Code == "generator_late" })
	if l.Doubtful() && !known {
		whole.Warn("generator_late", "the generators were late: schedule lag p99 is %v beside a response p99 of %v", l.Lag, l.Response)
	}
}

// unitedWarnings returns the warnings of the shards, each with the names of its shards. A warning of
// all shards needs no names unless it contains a number, which would look like a number of the
// whole. It leaves out dropped operations, which judgeWhole counts for the whole.
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
