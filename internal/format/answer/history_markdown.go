package answer

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/history"
)

// HistoryMarkdown writes the result of history for a comment on GitHub.
func HistoryMarkdown(w io.Writer, h history.History) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### takt history: %s\n\n%s\n", h.Verdict, page.Escape(HistoryWords(h)))
	for i := range h.Groups {
		g := &h.Groups[i]
		fmt.Fprintf(&b, "\n**%s**\n\n", page.Escape(HistoryTitle(g)))
		b.WriteString(page.MarkdownRow(HistoryHead()) + "|---|---:|---:|---:|---:|---|\n")
		for k := range g.Series {
			b.WriteString(page.MarkdownRow(HistoryCells(&g.Series[k])))
		}
		for k := range g.Series {
			s := &g.Series[k]
			for _, c := range s.Changes {
				fmt.Fprintf(&b, "\n- %s", page.Escape(ChangeSentence(g, s, c)))
			}
			if s.Verdict == history.Inconclusive {
				fmt.Fprintf(&b, "\n- %s", page.Escape(NeedSentence(h, s)))
			}
		}
		b.WriteString("\n")
	}
	if notes := HistoryNotes(h); len(notes) > 0 {
		b.WriteString("\n")
		for _, s := range notes {
			fmt.Fprintf(&b, "- %s\n", page.Escape(s))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// HistoryHead and HistoryCells are the series of a group as a table.
func HistoryHead() []string {
	return []string{"metric", "revisions", "first level", "newest level", "spread", "verdict"}
}

func HistoryCells(s *history.Series) []string {
	first, last := s.Points[0].Level, s.Points[len(s.Points)-1].Level
	return []string{page.Clean(s.Metric), fmt.Sprint(len(s.Points)), page.Amount(s.Unit, first), page.Amount(s.Unit, last), relative(s, s.Noise.Spread), string(s.Verdict)}
}

// HistoryWords are the headline of the page.
func HistoryWords(h history.History) string { return historyFound(h) + "; " + historyCriteria(h) }

// ChangeHead and ChangeCells are the changes of a series as a table.
func ChangeHead() []string {
	return []string{"revision", "date", "change", "95 % interval", "later than", "not later than", ""}
}

func ChangeCells(s *history.Series, c history.Change) []string {
	size, ends := changeSize(s, c)
	sign := "+"
	if c.Difference < 0 {
		sign = "−"
	}
	if ends == "" {
		ends = "none: too few revisions"
	}
	return []string{Revision(c.Revision), day(c.Date), sign + size, strings.Trim(ends, " ()"), Revision(c.After), Revision(c.Until), ChangeWord(c)}
}
