package analysis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The bounds of the starts. Hosts that keep time by NTP agree to some milliseconds, so
// 100 ms means that the shards did not wait for one instant. As operations may be late,
// 1 % of the window may go by without the whole load.
const (
	apartWarn = 100 * time.Millisecond
	apartPart = 0.01
)

// judgeWhole sets the verdict and the warnings. One invalid shard makes the whole
// invalid. But the shards can also be valid each, and the whole is not: its response
// p99, by which lag is measured, is another one, and ten late operations are soon
// found in many shards with nine each.
func judgeWhole(whole *takt.Report, list []shard, missing *MissingShardsError, sums *merged) {
	whole.Verdict = takt.Valid
	whole.Warnings = []takt.Warning{}
	if missing != nil {
		mergeWarn(whole, "shards_missing", "%s missing: these are the figures of %d of %d parts of the load, and are not compared with others", missing.subject(), len(list), list[0].n)
	}
	first, last := starts(list)
	judgeStarts(whole, last.Sub(first))
	for _, s := range list {
		if s.Verdict == takt.Invalid {
			whole.Verdict = takt.Invalid
		}
	}
	if n := whole.Counts.Dropped; n > 0 {
		mergeWarn(whole, "dropped", "%d operations were dropped at the in-flight bound and are in no percentile: the tail is truncated", n)
	}
	said := unitedWarnings(list)
	if whole.Rate.Intended != nil {
		judgeLag(whole, said, sums.histograms[takt.LatencyResponse], sums.histograms[takt.LatencyScheduleLag])
	}
	whole.Warnings = append(whole.Warnings, said...)
}

// judgeStarts: operations interleave as the schedule says, and the target bears the
// whole load, only while all shards run at once.
func judgeStarts(whole *takt.Report, apart time.Duration) {
	if apart <= apartWarn {
		return
	}
	if apart.Seconds() > apartPart*whole.DurationS {
		whole.Verdict = takt.Invalid
	}
	mergeWarn(whole, "shards_apart", "the shards started up to %v apart, so for that long the target did not bear the whole load; give all the same --start-at, on hosts whose clocks agree", apart.Round(time.Millisecond))
}

func judgeLag(whole *takt.Report, said []takt.Warning, response, lag *hist.Histogram) {
	if response == nil || lag == nil {
		return
	}
	l := verdict.Of(response, lag)
	if l.Bottleneck() && whole.Verdict == takt.Valid {
		whole.Verdict = takt.Invalid
		mergeWarn(whole, "generator_bottleneck", "the generators together were the bottleneck: %d operations (%.1f %%) were sent more than %v after they could have been; lower the rate, free the CPUs, or spread the run over more shards",
			l.Late, 100*l.Share, l.Bound)
	}
	known := slices.ContainsFunc(said, func(w takt.Warning) bool { return w.Code == "generator_late" })
	if l.Doubtful() && !known {
		mergeWarn(whole, "generator_late", "the generators were late: schedule lag p99 is %v beside a response p99 of %v", l.Lag, l.Response)
	}
}

// unitedWarnings are those of the shards. Each names its shards, but for one that all
// share and that has no number: a number would be taken for that of the whole.
// Dropped operations are counted anew.
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

func mergeWarn(r *takt.Report, code, format string, args ...any) {
	r.Warnings = append(r.Warnings, takt.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}
