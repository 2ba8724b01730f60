package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// Collations are the formats of Collation, Histories those of History, Judgements those of Judgement;
// Contrast has the same without junit.
func Collations() []string { return []string{"table", "csv", "json", "markdown", "html"} }
func Histories() []string  { return []string{"text", "json", "markdown", "html"} }
func Judgements() []string { return []string{"text", "json", "junit", "markdown", "html", Folded} }

// Honesties are the formats of Honesty.
func Honesties() []string { return []string{"text", "json", "markdown", "html", "svg"} }

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

// CheckHonesty is an error if Honesty has no format with that name.
func CheckHonesty(name string) error { return known(name, Honesties()) }

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
	case "csv":
		return answer.CollationCSV(w, c)
	case "html":
		return html.Collation(w, c)
	case "table":
		name = "text"
	case markdownShort:
		name = "markdown"
	case "text":
		return CheckCollation(name)
	}
	return written(w, answer.Collation(c), c, name, color, Collations())
}

// Runs writes the list of stored runs: as a table for people, or as JSON.
func Runs(w io.Writer, list []stored.Run, name string) error {
	if name == "json" {
		return encode(w, answer.List(list), "  ")
	}
	return answer.Runs(w, list)
}

// Judgement writes the result of verify: as text for people, in colours if color, as JSON,
// JUnit XML, GitHub's Markdown, an HTML page, or the stacks of both sides.
func Judgement(w io.Writer, j verify.Judgement, name string, color bool) error {
	switch name {
	case "junit":
		return judgementJUnit(w, j)
	case "html":
		return html.Judgement(w, j)
	case Folded:
		return writeFolded(w, j)
	}
	return written(w, answer.Judgement(j), j, name, color, Judgements())
}

// Contrasted is the result of compare with the reports of both sides.
type Contrasted struct {
	verify.Contrast
	BaseReports, HeadReports []*takt.Report
}

// Contrast writes the result of compare: as text for people, in colours if color, as JSON,
// GitHub's Markdown or an HTML page.
func Contrast(w io.Writer, all Contrasted, name string, color bool) error {
	if name == "html" {
		return html.Contrast(w, all.Contrast, all.BaseReports, all.HeadReports)
	}
	return written(w, answer.Contrast(all.Contrast, nil, nil), all.Contrast, name, color, []string{"text", "json", "markdown", "html"})
}

// History writes the result of history: as text for people, in colours if color, as JSON, GitHub's
// Markdown or an HTML page.
func History(w io.Writer, h history.History, name string, color bool) error {
	if name == "html" {
		return html.History(w, h)
	}
	return written(w, answer.History(h), h, name, color, Histories())
}

// Honesty writes what judge found: as text for people, in colours if color, as JSON, GitHub's Markdown, an HTML
// page, or as a picture of all trials.
func Honesty(w io.Writer, a generators.Answer, name string, color bool) error {
	switch name {
	case "html":
		return html.Honesty(w, a)
	case "svg":
		return answer.HonestySVG(w, answer.HonestyPicture(a))
	}
	return written(w, answer.Honesty(a), a, name, color, Honesties())
}

// written writes a document in one of the formats that all answers have.
func written(w io.Writer, d *part.Document, v any, name string, color bool, names []string) error {
	switch name {
	case "text":
		return d.WriteText(w, color)
	case "json":
		return encode(w, v, "  ")
	case "markdown":
		return d.WriteMarkdown(w)
	}
	return known(name, names)
}
