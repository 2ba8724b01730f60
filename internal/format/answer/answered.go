package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/answers"
)

// answeredTones are those of the words about answers.
var answeredTones = map[answers.Word]part.Tone{answers.Differ: part.Bad, answers.Unproven: part.Warn, answers.Same: part.Good}

// mostRows bounds the tables of text, Markdown and pages; JSON has more.
const mostRows = 20

// answered is the part about the answers of both sides.
func answered(r *answers.Result) part.Part {
	p := part.Part{ID: "answers", Title: "Answers", Lead: page.Capital(page.Clean(r.Sentence())) + "."}
	b := part.Block{Title: "answers: " + r.Sentence(), Bold: true, Edge: true, Tone: answeredTones[r.Verdict]}
	if len(r.Differences) > 0 {
		b.Table = differenceTable(r.Differences)
	}
	b.Below = append(b.Below, part.Sentence{Text: "base answered " + statuses(r.Statuses), Mark: "- "})
	if text := varying(r.Varying); text != "" {
		b.Below = append(b.Below, part.Sentence{Text: text, Mark: "- "})
	}
	if n := len(r.Differences) - mostRows; n > 0 {
		b.Below = append(b.Below, part.Sentence{Text: fmt.Sprintf("%s more; -o json has them", page.Plural(n, "place")), Mark: "- "})
	}
	for _, note := range r.Notes {
		b.Below = append(b.Below, part.Sentence{Text: note, Mark: "- "})
	}
	p.Blocks = []part.Block{b}
	return p
}

func differenceTable(list []answers.Difference) *part.Table {
	t := &part.Table{Caption: "Places where head answers other than base, with the first example of each.", Left: true}
	for i, title := range []string{"place", "difference", "requests", "share", "interval", "base", "head", "request"} {
		t.Columns = append(t.Columns, part.Column{Title: title, Words: i != 2})
	}
	for _, d := range list[:min(len(list), mostRows)] {
		kind := string(d.Kind)
		if !d.Proven {
			kind += ", may be chance"
		}
		t.Add(part.Quoted(d.Path), part.Words(kind), part.Count(uint64(d.Requests)), part.Words(page.Short(d.Share*100)+" %"),
			part.Words(fmt.Sprintf("%s to %s %%", page.Short(d.Low*100), page.Short(d.High*100))),
			example(d.Example.Base), example(d.Example.Head), example(d.Example.Request))
	}
	return t
}

// mostExample is the longest example in a table; JSON has twice as much.
const mostExample = 40

// example is a text of a server; "": it is not there.
func example(s string) part.Value { return part.Quoted(foreign.Cut(cmp.Or(s, "none"), mostExample)) }

// statuses are counts of answers by status.
func statuses(counts map[string]int) string {
	var list []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d × %s", counts[status], status))
	}
	return cmp.Or(strings.Join(list, ", "), "nothing")
}

// varying lists the places that are left out; "": none.
func varying(list []answers.Varying) string {
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, v := range list[:min(len(list), mostRows)] {
		names = append(names, fmt.Sprintf("%s (%s)", page.Clean(v.Path), v.Kind))
	}
	more := ""
	if n := len(list) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "left out, because base varies there by itself: " + strings.Join(names, ", ") + more
}
