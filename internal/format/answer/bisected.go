package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/verify"
)

// bisected is the part about the commits that may be the first worse ones. Text has a sentence for each metric instead.
func bisected(list []verify.Culprit) part.Part {
	t := &part.Table{Caption: "Probability that a commit is the first worse one, by metric."}
	titles := []string{"metric", "commit", "subject", "probability", "pairs", "remark"}
	if !slices.ContainsFunc(list, remarked) {
		titles = titles[:5]
	}
	for i, title := range titles {
		t.Columns = append(t.Columns, part.Column{Title: title, Words: i != 3 && i != 4})
	}
	var left []string // metrics whose commit was not found
	for _, c := range list {
		if !c.Found {
			left = append(left, c.Metric)
		}
		for _, s := range c.Commits {
			remark := remarkOf(s)
			chance := part.Words(page.TrimZeros(fmt.Sprintf("%.1f", math.Floor(1000*s.Chance)/10)) + " %")
			cells := []part.Value{part.Words(c.Metric), part.Words(fmt.Sprintf("%.10s", s.Hash)), part.Quoted(s.Subject), chance, part.Count(uint64(s.Pairs)), part.Quoted(remark)}
			t.Add(cells[:len(titles)]...)
		}
	}
	b := part.Block{In: part.Markdown | part.HTML, Title: "first worse commit", Bold: true, Table: t}
	if left != nil {
		b.Below = []part.Sentence{{Text: fmt.Sprintf("not found for %s: these commits are the likely ones", strings.Join(left, ", ")), Mark: "- "}}
	}
	return part.Part{ID: "bisect", Title: "First worse commit", Blocks: []part.Block{b}}
}

// remarked reports whether a commit has a remark.
func remarked(c verify.Culprit) bool {
	return slices.ContainsFunc(c.Commits, func(s verify.Suspect) bool { return remarkOf(s) != "" })
}

func remarkOf(s verify.Suspect) string {
	switch {
	case s.Skipped != "":
		return "not compared: " + s.Skipped
	case s.Merge:
		return "a merge"
	}
	return ""
}
