package answer

import (
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// ComparisonWords are the titles of the columns of both sides, and what these are.
func ComparisonWords(c verify.Comparison, j verify.Judgement) (titles [2]string, sides []string) {
	for _, line := range sideLines(c.Base, j.Head, judged(c, j)) {
		sides = append(sides, page.Clean(line))
	}
	return judged(c, j), sides
}

// ContrastTitles are the titles of the columns of compare.
func ContrastTitles(c verify.Contrast) [2]string { return contrasted(c) }

// JudgementWords are the sentences of verify's text: about the judgement, and about each comparison.
func JudgementWords(j verify.Judgement) (line string, comparisons []string) {
	for _, c := range j.Comparisons {
		s := against(j, c)
		if j.Duet != nil {
			s += "; " + duetLine(j.Duet)
		}
		comparisons = append(comparisons, page.Clean(s))
	}
	return page.Clean(verdictLine(j)), comparisons
}

// Telling omits findings without news for people.
func Telling(all []verify.Finding) []verify.Finding { return telling(all) }

// Revision shortens a hash.
func Revision(s string) string { return page.Clean(stored.ShortRevision(s)) }

// ContrastWords are the title of compare's text, and its notes.
func ContrastWords(c verify.Contrast) (title string, notes []string) {
	for _, note := range contrastNotes(c, "; the curves: all runs merged") {
		notes = append(notes, page.Clean(note))
	}
	return page.Clean(contrastTitle(c)), notes
}

// CollationCells are a group of collate as a table: what its rows share, titles, and rows.
func CollationCells(c query.Collation, g *query.Group) (same string, table [][]string) {
	return page.Clean(sameLine(g)), groupCells(c, g)
}

// CollationNotes explain the marks and what the tables do not show.
func CollationNotes(c query.Collation) []string { return collationNotes(c) }

// FigureText writes a metric of a row, and ValueText the value of the variable.
func FigureText(metric string, r *query.Row) string { return figureCell(metric, r) }
func ValueText(c query.Collation, r *query.Row) string {
	return page.Clean(settingText(c.Field, r.Value))
}
