package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// Collations are the formats of Collation, Histories those of History, Judgements those of Judgement;
// Contrast has the same without junit.
func Collations() []string { return []string{"table", "csv", "json", "markdown", "html"} }
func Histories() []string  { return []string{"text", "json", "markdown", "html"} }
func Judgements() []string { return []string{"text", "json", "junit", "markdown", "html"} }

// Beginnings are the formats as the beginning of FORMAT=PATH, for the completion of a shell.
func Beginnings(names []string) (list []string) {
	for _, name := range names {
		list = append(list, name+"=")
	}
	return list
}

// markdownShort is a short name for markdown.
const markdownShort = "md"

// CheckCollation is an error if Collation has no format with that name.
func CheckCollation(name string) error {
	if name == markdownShort {
		return nil
	}
	return known(name, Collations())
}

// CheckJudgement is an error if Judgement has no format with that name.
func CheckJudgement(name string) error { return known(name, Judgements()) }

// CheckHistory is an error if History has no format with that name.
func CheckHistory(name string) error { return known(name, Histories()) }

func known(name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("unknown format %q; use one of %s", name, strings.Join(names, ", "))
}

// Collation writes the result of collate: as a table for people, in colours if color, as CSV
// (RFC 4180), JSON, Markdown or an HTML page.
func Collation(w io.Writer, c query.Collation, name string, color bool) error {
	switch name {
	case "table":
		return answer.CollationTable(w, c, color)
	case "csv":
		return answer.CollationCSV(w, c)
	case "json":
		return encode(w, c, "  ")
	case "markdown", markdownShort:
		return answer.CollationMarkdown(w, c)
	case "html":
		return html.Collation(w, c)
	}
	return CheckCollation(name)
}

// Judgement writes the result of verify: as text for people, in colours if color, as JSON,
// JUnit XML, GitHub's Markdown or an HTML page.
func Judgement(w io.Writer, j verify.Judgement, name string, color bool) error {
	switch name {
	case "text":
		return answer.JudgementText(w, j, color)
	case "json":
		return encode(w, j, "  ")
	case "junit":
		return judgementJUnit(w, j)
	case "markdown":
		return answer.JudgementMarkdown(w, j)
	case "html":
		return html.Judgement(w, j)
	}
	return CheckJudgement(name)
}

// Contrasted is the result of compare with the reports of both sides.
type Contrasted struct {
	verify.Contrast
	BaseReports, HeadReports []*takt.Report
}

// Contrast writes the result of compare: as text for people, in colours if color, as JSON,
// GitHub's Markdown or an HTML page.
func Contrast(w io.Writer, all Contrasted, name string, color bool) error {
	c := all.Contrast
	switch name {
	case "text":
		return answer.ContrastText(w, c, color)
	case "json":
		return encode(w, c, "  ")
	case "markdown":
		return answer.ContrastMarkdown(w, c)
	case "html":
		return html.Contrast(w, c, all.BaseReports, all.HeadReports)
	}
	return known(name, []string{"text", "json", "markdown", "html"})
}

// History writes the result of history: as text for people, in colours if color, as JSON, GitHub's
// Markdown or an HTML page.
func History(w io.Writer, h history.History, name string, color bool) error {
	switch name {
	case "text":
		return answer.HistoryText(w, h, color)
	case "json":
		return encode(w, h, "  ")
	case "markdown":
		return answer.HistoryMarkdown(w, h)
	case "html":
		return html.History(w, h)
	}
	return CheckHistory(name)
}
