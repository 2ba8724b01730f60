package verdict

import (
	"slices"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// How far apart may shards start or end? The clocks of hosts with NTP agree to some
// milliseconds, so 100 ms means that the shards did not wait for the same instant. As 1 % of
// operations may be late, the whole load may be missing for 1 % of the duration.
const (
	apartWarn = 100 * time.Millisecond // more is a warning
	apartPart = 0.01                   // more of the duration makes the whole invalid
)

// Shards is what the shards of a run show, besides the figures of their merged report.
type Shards struct {
	Missing    string   // the missing shards and their verb: "shard 2/3 is"; "": none
	There, All int      // number of reports, and of shards
	Invalid    bool     // a shard is invalid
	Differ     []string // differences that affect no figure, a sentence each
	Apart      time.Duration
	Ends       []ShardEnd
	Loads      []ShardLoad
	Warnings   []takt.Warning // of the shards
	Delays                    // of all operations; without histograms: there are none
}

// ShardEnd is how a shard ended.
type ShardEnd struct {
	Shard string  // k/n
	After float64 // length of its measured window, seconds
	Early bool    // a signal, an abort or a fault ended it, as its own warning says
}

// Judge sets the verdict and the warnings of r, the merged report with all its figures. One
// invalid shard makes the whole invalid. The whole can also be invalid although each shard is
// valid: lag is compared with the p99 response time of the whole, and many shards with nine
// late operations each easily exceed the limit of ten.
func (s *Shards) Judge(r *takt.Report) {
	r.Verdict, r.Warnings = takt.Valid, []takt.Warning{}
	if s.Missing != "" {
		Invalidate(r, warn.ShardsMissing, "%s missing: these are the figures of %d of %d parts of the load, and are not compared with others", s.Missing, takt.Number("there", s.There), takt.Number("shards", s.All))
	}
	s.starts(r)
	s.ends(r)
	for _, what := range s.Differ {
		r.Warn(warn.ShardsDiffer, "%s", what)
	}
	if s.Invalid {
		r.Verdict = takt.Invalid
	}
	dropped(r)
	s.limits(r)
	if r.Rate.Intended != nil {
		s.late(r)
	}
	s.generators(r)
	r.Warnings = append(r.Warnings, s.Warnings...)
}

// starts: only while all shards run do operations interleave according to the schedule, and
// does the target get the whole load.
func (s *Shards) starts(r *takt.Report) {
	if s.Apart <= apartWarn {
		return
	}
	warner(r, s.Apart.Seconds() > apartPart*r.DurationS)(warn.ShardsApart, "the shards started up to %s apart, so for that long the target did not bear the whole load; %s",
		figure.Time("apart", s.Apart), takt.Advice("give all the same --start-at, on hosts whose clocks agree"))
}

// ends: the target gets the whole load only until the first shard ends. The bounds are those of
// starts, but if only some shards ended early, the whole is always invalid. Durations of closed
// loops normally differ.
func (s *Shards) ends(r *takt.Report) {
	var cut []string
	early, shortest := 0, r.DurationS
	for _, e := range s.Ends {
		short := r.Rate.Intended != nil && r.DurationS-e.After > apartWarn.Seconds()
		if e.Early {
			early++
		}
		if short || e.Early {
			cut = append(cut, e.Shard)
			shortest = min(shortest, e.After)
		}
	}
	apart := r.DurationS - shortest
	some := early > 0 && early < len(s.Ends)
	if !some && apart <= apartWarn.Seconds() {
		return // no shard was cut short, or all at the same instant, and each has its own warning
	}
	subject := "shard " + cut[0] + " was"
	if len(cut) > 1 {
		subject = "shards " + Named(cut) + " were"
	}
	warner(r, some || apart > apartPart*r.DurationS)(warn.ShardsCut, "%s cut short, after %v of %v: from then on the target did not bear the whole load; %s",
		subject, takt.Time("after", inSeconds(shortest)), takt.Time("duration", inSeconds(r.DurationS)), takt.Advice("run all shards again"))
}

func inSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// said reports whether a shard has a warning with this code.
func (s *Shards) said(code takt.WarningCode) bool {
	return slices.ContainsFunc(s.Warnings, func(w takt.Warning) bool { return w.Code == code })
}

// limits checks failures at host limits again: few in each of many shards are many together.
func (s *Shards) limits(r *takt.Report) {
	l := limitsOf(r.Errors, r.Counts.Scheduled)
	if !l.Bottleneck() || r.Verdict == takt.Invalid && s.said(warn.HostLimit) {
		return
	}
	Invalidate(r, warn.HostLimit, "%d operations (%.2g %%) failed at limits of the generators' hosts, not at the target: %s", takt.Number("failed", l.Failed), takt.Percent("failed_share", 100*l.Share), l.Sample)
}

func (s *Shards) late(r *takt.Report) {
	if s.OnTime == nil || s.Lag == nil {
		return
	}
	l := latenessOf(s.Delays)
	if l.Bottleneck() && r.Verdict == takt.Valid {
		l.invalidate(r, "the generators together were", "lower the rate, free the CPUs, or spread the run over more shards")
	}
	if l.Doubtful() && !s.said(warn.GeneratorLate) {
		l.warn(r, "the generators were")
	}
}
