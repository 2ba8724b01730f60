package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// costs is the block of a comparison about what operations cost.
func costs(list []verify.Finding, titles [2]string, j verify.Judgement) part.Block {
	title := fmt.Sprintf("costs, which do not decide; their words have a confidence of %s %% together", atLeast(j.Confidence))
	b := part.Block{Title: title, Bold: true, Table: findingTable(list, titles)}
	b.Table.Caption = page.Capital(title) + "."
	var names []string
	for _, f := range list {
		m, _ := stored.MetricOf(f.Metric)
		names = append(names, f.Metric+": "+m.Cost)
	}
	b.Below = []part.Sentence{{Text: strings.Join(names, "; "), Mark: "- "}}
	return b
}

// mostChanges bounds the changes in the headline; the tables have all.
const mostChanges = 4

// changed says which latencies and costs differ for certain, and if none does, so; "": the runs do not show what
// operations cost, or several comparisons are judged.
func changed(j verify.Judgement) string {
	if len(j.Comparisons) != 1 {
		return ""
	}
	c := j.Comparisons[0]
	known := slices.ContainsFunc(slices.Concat(c.Findings, c.Costs), func(f verify.Finding) bool { return isCost(f.Metric) })
	if !known {
		return ""
	}
	var latencies, costs []string
	for _, change := range c.Changes {
		m, _ := stored.MetricOf(change.Metric)
		switch {
		case stored.IsLatency(change.Metric):
			latencies = append(latencies, amountOf(change, change.Metric, "higher", "lower"))
		case m.Cost != "":
			costs = append(costs, amountOf(change, m.Cost, "more", "less"))
		}
	}
	var said []string
	if latencies != nil || !worded(c, stored.IsLatency) {
		said = append(said, "latency: "+listOf(latencies))
	}
	if costs != nil || !worded(c, isCost) {
		said = append(said, "costs: "+listOf(costs))
	}
	return strings.Join(said, "; ")
}

// worded reports whether a metric of a kind is regressed or improved: then its difference is proven, although not
// together with all others.
func worded(c verify.Comparison, kind func(string) bool) bool {
	return slices.ContainsFunc(slices.Concat(c.Findings, c.Costs), func(f verify.Finding) bool {
		return kind(f.Metric) && (f.Verdict == verify.Regressed || f.Verdict == verify.Improved)
	})
}

func isCost(metric string) bool {
	m, _ := stored.MetricOf(metric)
	return m.Cost != ""
}

// listOf joins changes; none is a result, too.
func listOf(all []string) string {
	if len(all) == 0 {
		return "no difference proven"
	}
	text := strings.Join(all[:min(len(all), mostChanges)], ", ")
	if n := len(all) - mostChanges; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// amountOf is a change in words: CPU a request 4.1 % more (99 %: 3.2 to 5.0 %).
func amountOf(c verify.Change, what, more, less string) string {
	f := verify.Finding{Metric: c.Metric, Absolute: c.Absolute, Difference: c.Difference, Low: c.Low, High: c.High}
	word, sign := more, 1.0
	if c.Difference < 0 {
		word, sign = less, -1
		f.Low, f.High = negated(c.High), negated(c.Low)
	}
	text := func(v float64) string { return strings.TrimPrefix(difference(f, v), "+") }
	bounds := "at least " + text(*f.Low) // a change is proven by its bound on the side of 0
	if f.High != nil {
		bounds = strings.TrimSuffix(text(*f.Low), " %") + " to " + text(*f.High)
	}
	return page.Clean(fmt.Sprintf("%s %s %s (%s %%: %s)", what, text(sign*c.Difference), word, atLeast(c.Confidence), bounds))
}

func negated(v *float64) *float64 {
	if v == nil {
		return nil
	}
	n := -*v
	return &n
}
