package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/stalls"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Markdown writes a summary in GitHub's Markdown: the verdict, the command, the rate, the
// latencies, errors and warnings.
func Markdown(w io.Writer, r *takt.Report) error {
	var b strings.Builder
	for _, section := range []func(*strings.Builder, *takt.Report){
		markdownVerdict, markdownAssertions, markdownSubject, markdownLatency, comparisonMarkdown, stepsMarkdown, markdownShards, markdownOutages, markdownErrors, MarkdownWarnings,
	} {
		section(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownVerdict(b *strings.Builder, r *takt.Report) {
	word, but := "valid", ""
	switch {
	case r.Verdict == takt.Invalid:
		word = "invalid"
	case r.Counts.OK == 0:
		but = ", but nothing succeeded"
	}
	fmt.Fprintf(b, "### takt: %s run of %s%s\n\n", word, page.CodeSpan(strings.TrimSpace(r.Kind+" "+Target(r))), but)
	if s := overload.Sentence(r); s != "" {
		fmt.Fprintf(b, "**%s**\n\n", page.Escape(s))
	}
	if r.Verdict == takt.Invalid {
		fmt.Fprintf(b, "**%s** The warnings say how.\n\n", verdict.Sentence(r.Warnings))
		if r.Counts.OK == 0 {
			b.WriteString("**Not one operation succeeded.**\n\n")
		}
	}
}

// markdownAssertions come before the figures, because a CI job depends on them.
func markdownAssertions(b *strings.Builder, r *takt.Report) {
	if len(r.Assertions) == 0 {
		return
	}
	b.WriteString("| assertion | result | |\n|---|---|---|\n")
	for _, a := range r.Assertions {
		fmt.Fprintf(b, "| %s | **%s** | %s |\n", page.Cell(a.Expression), page.Escape(page.Clean(strings.ToUpper(string(a.Result)))), page.Escape(page.Clean(a.Reason)))
	}
	b.WriteString("\n")
}

func markdownSubject(b *strings.Builder, r *takt.Report) {
	fmt.Fprintf(b, "- %s\n- %s\n", page.Escape(rates(r)), accounting(r.Counts))
	if broker := ledger(r.Ledger); broker != "" {
		fmt.Fprintf(b, "- broker: %s\n", page.Escape(broker))
	}
	if stalled := stalls.Sentence(r); stalled != "" {
		fmt.Fprintf(b, "- %s\n", page.Escape(stalled))
	}
	fmt.Fprintf(b, "- %s, started %s UTC", measured(r), r.StartedAt.UTC().Format(time.DateTime))
	if shard := PartOf(r); shard != "" {
		fmt.Fprintf(b, ", shard %s", page.Escape(shard))
	}
	if r.ID != "" {
		fmt.Fprintf(b, ", id %s", page.CodeSpan(r.ID))
	}
	b.WriteString("\n")
	var labels []string
	for _, key := range page.Sorted(r.Labels) {
		labels = append(labels, page.CodeSpan(key+"="+r.Labels[key]))
	}
	if labels != nil {
		fmt.Fprintf(b, "- %s\n", strings.Join(labels, " "))
	}
}

// markdownLatency writes the latencies that the text report shows in full, and the schedule
// lag, which shows whether they are credible.
func markdownLatency(b *strings.Builder, r *takt.Report) {
	names, u := tableColumns(r), tableUnit(r)
	if len(names) == 0 {
		return
	}
	if r.Latency[takt.LatencyScheduleLag].Count > 0 {
		names = append(names, takt.LatencyScheduleLag)
	}
	statistics := slices.DeleteFunc(rows(), func(c row) bool { return !slices.Contains([]string{"p50", "p90", "p99", "p99.9", "max"}, c.name) })
	head, line := "| latency, "+u.Name+" | count |", "|---|---:|"
	for _, s := range statistics {
		head, line = head+" "+s.name+" |", line+"---:|"
	}
	fmt.Fprintf(b, "\n%s\n%s\n", head, line)
	own := OwnOf(r)
	for i, name := range names {
		fmt.Fprintf(b, "| %s | %d |", page.Escape(page.Words(name)), r.Latency[name].Count)
		for _, s := range statistics {
			fmt.Fprintf(b, " %s |", strings.TrimSpace(u.Aligned(s.value(r.Latency[name])))+page.Escape(own.Mark(i, s.name)))
		}
		b.WriteString("\n")
	}
	if overload.Of(r) != nil {
		fmt.Fprintf(b, "\n%s\n", overload.Mark)
	}
	if len(own) > 0 {
		fmt.Fprintf(b, "\n%s\n", page.Escape(own.String()))
	}
}

func markdownErrors(b *strings.Builder, r *takt.Report) {
	if len(r.Errors) == 0 {
		return
	}
	b.WriteString("\n| error | count | share | first message |\n|---|---:|---:|---|\n")
	ended := float64(r.Counts.OK + r.Counts.Failed + r.Counts.Unfinished)
	var rest uint64
	for i, e := range r.Errors {
		if i >= maxClasses {
			rest += e.Count
			continue
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s |\n", page.Cell(e.Class), e.Count, page.Percent(float64(e.Count), ended), page.Cell(e.Sample))
	}
	if rest > 0 {
		fmt.Fprintf(b, "| and %s | %d | %s | |\n", page.Plural(len(r.Errors)-maxClasses, "more kind"), rest, page.Percent(float64(rest), ended))
	}
}

// MarkdownWarnings adds the warnings, if there are any.
func MarkdownWarnings(b *strings.Builder, r *takt.Report) {
	if len(r.Warnings) > 0 {
		b.WriteString("\n**Warnings**\n\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "- %s (%s)\n", page.Escape(page.Clean(w.Message)), page.CodeSpan(string(w.Code)))
	}
}
