package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
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
func (i *intervals) title() string { return page.TrimZeros(fmt.Sprintf("%.2f", 100*i.level)) + " %" }

// legend says what the parentheses of Markdown are.
func (i *intervals) legend() []part.Sentence {
	if i == nil {
		return nil
	}
	return []part.Sentence{{Text: "in parentheses: where the percentile of the target is, with " + i.title() + " confidence"}}
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
	if l.CI == nil || r.interval != nil && l.CI.P99 != nil {
		return notes
	}
	which := "no interval"
	if r.interval != nil {
		which = "no interval of p99"
	}
	return append(notes, part.Sentence{Text: fmt.Sprintf("%s is known: operations depend on one another, and %s say as much as %s independent ones", which, figure.Near(float64(l.Count), 0), figure.Near(l.CI.Independent, 0)), In: part.Text | part.HTML})
}
