package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

const (
	maxClasses = 10  // largest number of error classes in text and Markdown; a page has all
	maxBody    = 140 // largest part of a body in text, in runes
)

// failures has result codes and error classes.
func failures(r *run) part.Part {
	if len(r.Errors)+len(r.Status) == 0 {
		return part.Part{}
	}
	one := part.Part{ID: "errors", Title: "Errors and result codes"}
	if len(r.Errors) == 0 {
		one.Lead = "No operation failed."
	}
	var words []string
	codes := &part.Table{Caption: "Result codes.", Columns: []part.Column{{Title: "code", Words: true}, {Title: "count"}}}
	for _, code := range byLength(page.Sorted(r.Status)) {
		words = append(words, fmt.Sprintf("%s%s×%[2]s%[3]d", page.Clean(code), page.NoBreak, r.Status[code]))
		codes.Add(part.Words(code), part.Count(r.Status[code]))
	}
	one.Blocks = append(one.Blocks, part.Block{In: part.Text, Facts: []part.Fact{{Label: "status", Says: strings.Join(words, ", ")}}})
	if len(r.Errors) > 0 {
		one.Blocks = append(one.Blocks, part.Block{Title: "errors", Close: true, Table: errorTable(r.Report)})
	}
	if len(r.Status) > 0 {
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Table: codes})
	}
	return one
}

// byLength sorts shorter codes first, so that numbers are in numerical order.
func byLength(codes []string) []string {
	slices.SortStableFunc(codes, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return codes
}

// errorTable has a row for each class, with its first message and its first body.
func errorTable(r *takt.Report) *part.Table {
	const table = part.Markdown | part.HTML
	t := &part.Table{Caption: "Errors by class, with the first message and the first body.", Headless: true, Columns: []part.Column{
		{Title: "class", Markdown: "error", Words: true, Width: 20}, {In: part.Text, Words: true, Gap: 1}, {Title: "count", In: table}, {Title: "share", In: table},
		{Title: "first message", Words: true, Below: true, Mark: "  "}, {Title: "first body", In: part.Text | part.HTML, Words: true, Below: true, Mark: "  body: ", Cut: maxBody},
	}}
	ended := float64(r.Counts.OK + r.Counts.Failed + r.Counts.Unfinished)
	share := func(n uint64) part.Value { return part.Ratio(float64(n), ended) }
	var rest uint64
	for i, e := range r.Errors {
		t.Add(part.Quoted(e.Class), part.Words(page.Count(e.Count)+" ("+share(e.Count).String()+")"), part.Count(e.Count), share(e.Count), part.Quoted(e.Sample), part.Quoted(e.Body))
		if i >= maxClasses {
			t.Rows[i].In = part.HTML
			rest += e.Count
		}
	}
	if rest > 0 {
		more := page.Plural(len(r.Errors)-maxClasses, "more kind")
		t.Add(part.Words("and "+more), part.Count(rest), part.Count(rest), share(rest), part.Value{}, part.Value{})
		t.Rows[len(t.Rows)-1].In = part.Text | part.Markdown
	}
	return t
}
