package answer

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/verify"
)

// JudgementMarkdown writes the result of verify for a comment on GitHub.
func JudgementMarkdown(w io.Writer, j verify.Judgement) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### takt verify: %s\n\n%s\n", j.Verdict, page.Escape(page.Clean(verdictLine(j))))
	for _, c := range j.Comparisons {
		fmt.Fprintf(&b, "\n**%s**\n\n", page.Escape(page.Clean(against(j, c))))
		for _, line := range sideLines(c.Base, j.Head, judged(c, j)) {
			fmt.Fprintf(&b, "%s\n\n", page.Escape(page.Clean(line)))
		}
		if j.Duet != nil {
			fmt.Fprintf(&b, "%s\n\n", page.Escape(page.Clean(duetLine(j.Duet))))
		}
		markdownFindings(&b, c.Findings, judged(c, j))
	}
	if len(j.Advice) > 0 {
		b.WriteString("\n")
	}
	for _, s := range j.Advice {
		fmt.Fprintf(&b, "- %s\n", page.Escape(page.Clean(s)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownFindings writes the findings, with bad results in bold.
func markdownFindings(b *strings.Builder, list []verify.Finding, sides [2]string) {
	table := FindingTable(list, sides)
	last := len(table[0]) - 1
	rule := "|---" + strings.Repeat("|---:", last)
	words := table[0][last] == "verdict"
	if words {
		rule = strings.TrimSuffix(rule, ":")
	}
	b.WriteString(page.MarkdownRow(table[0]) + rule + "|\n")
	for i, cells := range table[1:] {
		line := page.MarkdownRow(cells)
		if f, word := list[i], cells[last]; words && (f.Verdict == verify.Regressed || f.Verdict == verify.Inconclusive) {
			line = strings.TrimSuffix(line, word+" |\n") + "**" + word + "** |\n"
		}
		b.WriteString(line)
	}
}
