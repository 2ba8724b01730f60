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
		for _, line := range commitLines(j, c) {
			fmt.Fprintf(&b, "%s\n\n", page.Escape(page.Clean(line)))
		}
		if j.Duet != nil {
			fmt.Fprintf(&b, "%s\n\n", page.Escape(page.Clean(duetLine(j.Duet))))
		}
		markdownFindings(&b, c.Findings, c.Base.Name, j.Head.Name)
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
func markdownFindings(b *strings.Builder, list []verify.Finding, base, head string) {
	b.WriteString(page.MarkdownRow(findingHead(base, head)) + "|---|---:|---:|---:|---:|---:|---|\n")
	for _, f := range list {
		cells := FindingCells(f)
		line := page.MarkdownRow(cells)
		if word := cells[len(cells)-1]; f.Verdict == verify.Regressed || f.Verdict == verify.Inconclusive {
			line = strings.TrimSuffix(line, word+" |\n") + "**" + word + "** |\n"
		}
		b.WriteString(line)
	}
}
