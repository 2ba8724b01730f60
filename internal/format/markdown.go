package format

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Markdown writes a summary in GitHub's Markdown: the verdict, the command, the rate, the
// latencies, errors and warnings.
func Markdown(w io.Writer, r *takt.Report) error {
	var b strings.Builder
	for _, section := range []func(*strings.Builder, *takt.Report){
		markdownVerdict, markdownAssertions, markdownSubject, markdownLatency, comparisonMarkdown, markdownErrors, markdownWarnings,
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
	fmt.Fprintf(b, "### takt: %s run of %s%s\n\n", word, codeSpan(strings.TrimSpace(r.Kind+" "+target(r))), but)
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
		fmt.Fprintf(b, "| %s | **%s** | %s |\n", cell(a.Expression), escape(clean(strings.ToUpper(string(a.Result)))), escape(clean(a.Reason)))
	}
	b.WriteString("\n")
}

func markdownSubject(b *strings.Builder, r *takt.Report) {
	c := r.Counts
	fmt.Fprintf(b, "- %s\n", escape(rates(r)))
	fmt.Fprintf(b, "- %d scheduled = %d ok + %d failed + %d dropped + %d unfinished\n", c.Scheduled, c.OK, c.Failed, c.Dropped, c.Unfinished)
	when := span(r.DurationS) + " measured"
	if r.WarmupS > 0 {
		when += " after " + span(r.WarmupS) + " of warm-up"
	}
	fmt.Fprintf(b, "- %s, started %s UTC", when, r.StartedAt.UTC().Format(time.DateTime))
	if r.ID != "" {
		fmt.Fprintf(b, ", id %s", codeSpan(r.ID))
	}
	b.WriteString("\n")
	var labels []string
	for _, key := range sorted(r.Labels) {
		labels = append(labels, codeSpan(key+"="+r.Labels[key]))
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
	head, line := "| latency, "+u.name+" | count |", "|---|---:|"
	for _, s := range statistics {
		head, line = head+" "+s.name+" |", line+"---:|"
	}
	fmt.Fprintf(b, "\n%s\n%s\n", head, line)
	for _, name := range names {
		fmt.Fprintf(b, "| %s | %d |", escape(words(name)), r.Latency[name].Count)
		for _, s := range statistics {
			fmt.Fprintf(b, " %s |", strings.TrimSpace(u.aligned(s.value(r.Latency[name]))))
		}
		b.WriteString("\n")
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
		fmt.Fprintf(b, "| %s | %d | %s | %s |\n", cell(e.Class), e.Count, percent(float64(e.Count), ended), cell(e.Sample))
	}
	if rest > 0 {
		fmt.Fprintf(b, "| and %s | %d | %s | |\n", plural(len(r.Errors)-maxClasses, "more kind"), rest, percent(float64(rest), ended))
	}
}

func markdownWarnings(b *strings.Builder, r *takt.Report) {
	if len(r.Warnings) > 0 {
		b.WriteString("\n**Warnings**\n\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "- %s (%s)\n", escape(clean(w.Message)), codeSpan(w.Code))
	}
}
