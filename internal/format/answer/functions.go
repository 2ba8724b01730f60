package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/functions"
)

// functionTones are those of the words about functions.
var functionTones = map[functions.Word]part.Tone{functions.Slower: part.Bad, functions.Faster: part.Good}

// Flame is a drawing of the stacks of both sides.
type Flame struct{ Stacks *functions.Stacks }

// profiled is the part about the functions of both sides.
func profiled(r *functions.Result) part.Part {
	t := &part.Table{Caption: "CPU time of a request in each function, with what it calls in the standard library.", Left: true}
	for i, title := range []string{"function", "base", "head", "of base", "of head", "difference", "interval", "word"} {
		t.Columns = append(t.Columns, part.Column{Title: title, Words: i == 0 || i == 7})
	}
	list := r.Functions[:min(len(r.Functions), mostRows)]
	for _, f := range list {
		said := string(f.Word)
		if f.Touched {
			said = strings.TrimPrefix(said+", touched", ", ")
		}
		word := part.Words(said)
		word.Tone, word.Strong = functionTones[f.Word], f.Word == functions.Slower
		t.Add(part.Quoted(f.Name), part.Words(figure.Micros(f.Base)), part.Words(figure.Micros(f.Head)),
			part.Words(page.Percent(f.BaseShare, 1)), part.Words(page.Percent(f.HeadShare, 1)),
			part.Words(MicrosMore(f.Difference)), part.Words(microsInterval(f)), word)
	}
	found := "no function is proven slower"
	b := part.Block{Bold: true, Edge: true, Table: t}
	if f := r.Slowest(); f != nil {
		b.Tone, found = part.Bad, fmt.Sprintf("%s needs %s more of a request than in base (%s %%: %s)",
			page.Clean(f.Name), figure.Micros(f.Difference), atLeast(f.Level), strings.ReplaceAll(microsInterval(*f), "+", ""))
		if f.Touched {
			found += "; the change touches it"
		}
	}
	b.Title = "functions: " + found
	note := fmt.Sprintf("CPU profiles of %s of their own, %s s of base and %s s of head; confidence %s %% for all words together",
		page.Plural(r.Pairs, "pair"), page.Short(r.Seconds[0]), page.Short(r.Seconds[1]), atLeast(r.Confidence))
	if n := len(r.Functions) - len(list); n > 0 {
		note += fmt.Sprintf("; %s more, -o json has them", page.Plural(n, "function"))
	}
	if r.Others > 0 {
		note += fmt.Sprintf("; %s with less than %s %% of the time each", page.Plural(r.Others, "function"), page.Short(functions.Least*100))
	}
	b.Below = []part.Sentence{{Text: note, Mark: "- "}}
	return part.Part{ID: "functions", Title: "Functions", Lead: found + ".", Blocks: []part.Block{b, {In: part.HTML, Drawing: Flame{&r.Stacks}}}}
}

// MicrosMore is a difference in µs with its sign.
func MicrosMore(v float64) string {
	if v < 0 {
		return "-" + figure.Micros(-v)
	}
	return "+" + figure.Micros(v)
}

// microsInterval is the interval of a function, or noInterval if there are too few pairs.
func microsInterval(f functions.Function) string {
	if slices.Contains([]*float64{f.Low, f.High}, nil) {
		return noInterval
	}
	return MicrosMore(*f.Low) + " to " + MicrosMore(*f.High)
}
