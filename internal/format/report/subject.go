package report

import (
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

func subject(r *run) part.Part { return Subject(r.Report) }

// Subject says what was run against what. A page has it in its heading and at its end.
func Subject(r *takt.Report) part.Part {
	return part.Part{Blocks: []part.Block{{In: part.Text, Close: true, Facts: []part.Fact{
		{Label: "target", Says: Title(r)},
		{Label: "command", Command: r.Command},
		{Label: "started", Says: Started(r) + ", " + Measured(r)},
		{Label: "shard", Says: PartOf(r)},
		{Label: "id", Says: r.ID},
		{Label: "labels", Says: labels(r, page.Clean)},
	}}}}
}

// Title is what was run against what.
func Title(r *takt.Report) string { return strings.TrimSpace(page.Clean(r.Kind) + " " + Target(r)) }

// Started is when the run began.
func Started(r *takt.Report) string { return r.StartedAt.UTC().Format(time.DateTime) + " UTC" }

// labels are the labels, each in the form of show.
func labels(r *takt.Report, show func(string) string) string {
	var list []string
	for _, key := range page.Sorted(r.Labels) {
		list = append(list, show(key+"="+r.Labels[key]))
	}
	return strings.Join(list, " ")
}

// Measured is the length of the run.
func Measured(r *takt.Report) string {
	s := page.Span(r.DurationS) + " measured"
	if u, ok := stored.UntilOf(r); ok && u.Reached {
		s += ", ended by --until"
	}
	switch over := overAfter(r); {
	case r.DurationS == 0 && r.WarmupS > 0 && over > 0:
		return "over after " + page.Span(over) + " of " + page.Span(r.WarmupS) + " of warm-up"
	case over > 0 && over < mostOfRun*(r.WarmupS+r.DurationS):
		s = page.Span(r.DurationS) + " scheduled, over after " + page.Span(over)
		if r.WarmupS > 0 {
			s += " with " + page.Span(r.WarmupS) + " of warm-up"
		}
		return s
	}
	if r.WarmupS > 0 {
		s += " after " + page.Span(r.WarmupS) + " of warm-up"
	}
	return s
}

// mostOfRun is the part of a schedule after which a run counts as having lasted for all of it.
const mostOfRun = 0.9

// overAfter is when the run was over, in seconds since its start; 0: unknown.
func overAfter(r *takt.Report) float64 {
	if len(r.Intervals) == 0 {
		return 0
	}
	return r.Intervals[len(r.Intervals)-1].T
}

// PartOf names the part of the load that a report is of, and the variables that chose it; "": the
// whole.
func PartOf(r *takt.Report) string {
	switch s := r.Schedule; {
	case !takt.IsShard(s.Shard):
		return ""
	case s.ShardFrom == "":
		return page.Clean(s.Shard)
	default:
		return page.Clean(s.Shard) + " by " + page.Clean(s.ShardFrom)
	}
}

// Target is what the variables say about the other side. Drivers name it in
// words of their own; these are the ones in use.
func Target(r *takt.Report) string {
	text := func(key string) string { s, _ := r.Variables[key].(string); return s }
	words := []string{stored.Program(r.Variables), text("method"), text("host") + text("path")}
	for _, key := range []string{"other_hosts", "apm_host", "brokers", "broker", "topic", "queue", "destination"} {
		if s := text(key); s != "" {
			words = append(words, strings.ReplaceAll(key, "_", " ")+" "+s)
		}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return page.Clean(strings.Join(words, " "))
}
