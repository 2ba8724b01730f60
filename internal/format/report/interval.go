package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/takt"
)

// intervals are those of the percentiles of a latency.
type intervals struct {
	level float64
	list  []proof.Shown
}

// intervalsOf returns the intervals of a latency; nil: none is known.
func intervalsOf(l takt.Latency) *intervals {
	list := proof.Intervals(&l)
	if !slices.ContainsFunc(list, func(s proof.Shown) bool { return s.Range != nil }) {
		return nil
	}
	return &intervals{l.CI.Level, list}
}

// title says how sure the intervals are.
func (i *intervals) title() string { return proof.Words(i.level) }

// legend says what the parentheses of Markdown are.
func (i *intervals) legend() []part.Sentence {
	if i == nil {
		return nil
	}
	return []part.Sentence{{Text: "in parentheses: where the percentile of the target is, with " + i.title()}}
}

// of is the interval of a statistic: empty of one that is no percentile, such as the mean.
func (i *intervals) of(statistic string) part.Value {
	for _, s := range i.list {
		switch {
		case s.Name != statistic:
		case s.Range != nil:
			return part.Range(s.Range.Low, s.Range.High)
		}
	}
	return part.Value{}
}

// alone is as how many independent operations those of a latency count for its p99.
func alone(l *takt.Latency) float64 {
	if s, err := proof.SampleOf(*l); err == nil && s != nil {
		return s.Alone(0.99)
	}
	return l.CI.Independent
}

// isMax reports whether a statistic is a percentile that is the largest value under another name.
func isMax(l *takt.Latency, statistic string) bool {
	return slices.ContainsFunc(proof.Intervals(l), func(s proof.Shown) bool {
		return s.Name == statistic && proof.IsMax(s.P, l.Count)
	})
}

// unknown says why percentiles of the main latency, which is the first one, have no figure or no interval.
func (r *run) unknown(names []string) (notes []part.Sentence) {
	l := r.Latency[names[0]]
	var same []string
	for _, s := range proof.Intervals(&l) {
		if isMax(&l, s.Name) {
			same = append(same, s.Name)
		}
	}
	if len(same) > 0 && l.Count > 0 {
		notes = append(notes, part.Sentence{Text: fmt.Sprintf("–: of %s, %s cannot be told from the maximum", page.Plural(int(l.Count), "operation"), strings.Join(same, ", ")), In: part.Text | part.HTML})
	}
	if l.CI == nil || r.interval != nil && l.CI.P99 != nil || r.Verdict == takt.Invalid || overload.Of(r.Report) != nil {
		return notes
	}
	few := "too few operations for an interval"
	if r.interval != nil {
		few += " of p99"
	}
	if alone := math.Floor(alone(&l)); alone < float64(l.Count) {
		few += fmt.Sprintf(": %d count as %.0f, because neighbours are alike", l.Count, alone)
	}
	return append(notes, part.Sentence{Text: few, In: part.Text | part.HTML})
}
