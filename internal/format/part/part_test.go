package part_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
)

// written are parts as text without colours, and as Markdown.
func written(parts ...part.Part) (text, markdown string) {
	p, b := &page.Page{}, &strings.Builder{}
	part.WriteText(p, parts...)
	var t strings.Builder
	if err := p.Print(&t); err != nil {
		panic(err)
	}
	part.WriteMarkdown(b, parts...)
	return t.String(), b.String()
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%swant\n%s", what, got, want)
	}
}

// ofBlock is a part with one block, which has no empty line before it.
func ofBlock(b part.Block) part.Part {
	b.Close = true
	return part.Part{Blocks: []part.Block{b}}
}

// One part, made once, as both writers print it: each member in the order of the model.
func TestWritersOfAPart(t *testing.T) {
	table := &part.Table{Columns: []part.Column{{Title: "step", Words: true}, {Title: "ok"}, {Title: "p99"}, {Title: "share"}}}
	table.Add(part.Words("log|in"), part.Count(1200), part.Latency(1500), part.Ratio(1, 3))
	table.Add(part.Quoted("a_b"), part.Count(0), part.Unknown(), part.Value{})
	text, markdown := written(ofBlock(part.Block{
		Title: "steps", Bold: true, Table: table,
		Above: []part.Sentence{{Text: "A round has 2 steps."}},
		Facts: []part.Fact{{Label: "file", Says: "a*.yaml"}, {Label: "empty"}, {Label: "run", Command: []string{"takt", "a b"}, Says: "unused", In: part.Text}},
		Below: []part.Sentence{{Text: "slow", Code: "late_one", Mark: "- "}, {Text: "lost", Mark: "- "}},
	}))
	same(t, "text", text, `steps
  A round has 2 steps.
file         a*.yaml
run          takt 'a b'
  step      ok    p99    share
  log|in  1200  1.5ms  33.33 %
  a_b        0      –
  - slow [late_one]
  - lost
`)
	same(t, "markdown", markdown, "**steps**\n\nA round has 2 steps.\n- file: a\\*.yaml\n\n| step | ok | p99 | share |\n|---|---:|---:|---:|\n"+
		"| log\\|in | 1200 | 1.5ms | 33.33 % |\n| `a_b` | 0 | – | |\n\n- slow (`late_one`)\n- lost\n")
}

// In names the writers of a block, column, row, fact or sentence. Without it all writers show it.
func TestIn(t *testing.T) {
	for _, c := range []struct {
		in             part.Outputs
		text, markdown bool
	}{{0, true, true}, {part.Text, true, false}, {part.Markdown, false, true}, {part.HTML, false, false}, {part.Text | part.Markdown, true, true}} {
		plain := func() *part.Table {
			t := &part.Table{Columns: []part.Column{{Title: "name", Words: true}, {Title: "n"}}}
			t.Add(part.Words("x"), part.Count(1))
			return t
		}
		column, row := plain(), plain()
		column.Columns = append(column.Columns, part.Column{Title: "MARK", In: c.in})
		column.Rows[0].Cells = append(column.Rows[0].Cells, part.Count(7))
		row.Add(part.Words("MARK"), part.Count(7))
		row.Rows[1].In = c.in
		for name, b := range map[string]part.Block{
			"block":    {In: c.in, Title: "MARK", Bold: true},
			"column":   {Table: column},
			"row":      {Table: row},
			"fact":     {Facts: []part.Fact{{Label: "f", Says: "MARK", In: c.in}}},
			"sentence": {Below: []part.Sentence{{Text: "MARK", In: c.in}}},
		} {
			text, markdown := written(ofBlock(b))
			if strings.Contains(text, "MARK") != c.text || strings.Contains(markdown, "MARK") != c.markdown {
				t.Errorf("%s with In %b: text\n%smarkdown\n%s", name, c.in, text, markdown)
			}
			if c.text && c.in != 0 && strings.Contains(text, "7") != strings.Contains(text, "MARK") && (name == "column" || name == "row") {
				t.Errorf("%s with In %b has the title or the cell alone:\n%s", name, c.in, text)
			}
		}
	}
}

// A column without a known value is left out, with its title and its cells; the others keep theirs.
func TestColumnsWithoutValues(t *testing.T) {
	table := &part.Table{}
	values := map[string][]part.Value{
		"run": {part.Words("a"), part.Words("b")}, "unknown": {part.Unknown(), part.Unknown()}, "half": {part.Unknown(), part.Count(3)}, "empty": {{}, {}},
	}
	for _, name := range []string{"run", "unknown", "half", "empty"} {
		table.Column(part.Column{Title: name}, 2, func(row int) part.Value { return values[name][row] })
	}
	var titles []string
	for _, c := range table.Columns {
		titles = append(titles, c.Title)
	}
	if want := []string{"run", "half", "empty"}; !reflect.DeepEqual(titles, want) {
		t.Errorf("columns %v, want %v", titles, want)
	}
	for i, row := range table.Rows {
		if len(row.Cells) != len(titles) || row.Cells[1] != values["half"][i] {
			t.Errorf("row %d: %+v", i, row.Cells)
		}
	}
}

// A value by itself, and in the unit of a table, whose decimal points are below each other.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		v    part.Value
		want string
	}{
		{part.Value{}, ""}, {part.Unknown(), "–"}, {part.Words("a\nb\x1b[2J"), "a b·[2J"}, {part.Figure("3 %"), "3 %"}, {part.Count(12345), "12345"},
		{part.Latency(1500), "1.5ms"}, {part.Bound(1500), "≤ 1.5ms"}, {part.Ratio(1, 3), "33.33 %"}, {part.Ratio(0, 0), "0.00 %"},
		{part.Known(false, part.Count(1)), "–"}, {part.Known(true, part.Count(1)), "1"}, {part.Count(1).Marked("*").Toned(part.Bad), "1"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.v, got, c.want)
		}
	}
	table := &part.Table{Unit: page.UnitFor(200, 500e3), Columns: []part.Column{{Title: "latency", Words: true, Width: 12}, {Title: "p50", Width: 12}, {Title: "max", Width: 12}}}
	table.Add(part.Words("response"), part.Latency(1500), part.Latency(250e3).Marked("*"))
	table.Add(part.Words("service"), part.Latency(20.5), part.Latency(1e6))
	text, markdown := written(ofBlock(part.Block{Table: table}))
	same(t, "text", text, "latency, ms          p50         max\n  response         1.500     250.0  *\n  service          0.021    1000\n")
	same(t, "markdown", markdown, "| latency, ms | p50 | max |\n|---|---:|---:|\n| response | 1.500 | 250.0\\* |\n| service | 0.021 | 1000 |\n")
}

// A curve has a column for each interval, up to 40, and 80 columns are enough for it.
func TestCurvesOfText(t *testing.T) {
	drawn := func(intervals int) string {
		n := max(1, intervals)
		c := part.Curve{Name: "CPU", Print: func(float64) string { return "x" }}
		for i := range n {
			c.Points = append(c.Points, part.Point{From: float64(i), To: float64(i + 1), Value: float64(i+1) / float64(n)})
		}
		text, _ := written(ofBlock(part.Block{Curves: part.Curves{List: []part.Curve{c}, End: float64(n), Intervals: intervals}}))
		return strings.Split(text, "\n")[1]
	}
	for intervals, want := range map[int]string{0: "█", 1: "█", 2: "▅█", 3: "▃▆█"} {
		if got := drawn(intervals); got != "  CPU           "+want+"  max x" {
			t.Errorf("%d intervals: %s", intervals, got)
		}
	}
	for intervals, want := range map[int]int{39: 39, 40: 40, 41: 40, 1000: 40} {
		if got := utf8.RuneCountInString(drawn(intervals)) - len("  CPU             max x"); got != want {
			t.Errorf("%d intervals: %d columns, want %d", intervals, got, want)
		}
	}
}

// Nothing that a target says leaves its cell, its line or its list.
func TestHostileWords(t *testing.T) {
	const bad = "a|b\n### c\x1b[31m`d` @e #f <i>g</i>"
	table := &part.Table{Columns: []part.Column{{Title: bad, Words: true}, {Title: bad, Words: true}}}
	table.Add(part.Words(bad), part.Quoted(bad))
	text, markdown := written(ofBlock(part.Block{
		Title: bad, Bold: true, Table: table, Facts: []part.Fact{{Label: "f", Says: bad}}, Below: []part.Sentence{{Text: bad, Code: bad, Mark: "- "}, {Text: bad}},
	}))
	for line := range strings.Lines(text + markdown) {
		if strings.HasPrefix(line, "###") || strings.ContainsRune(line, '\x1b') {
			t.Errorf("%q", line)
		}
		if bars := strings.Count(line, "|") - strings.Count(line, `\|`); strings.HasPrefix(line, "|") && bars != 3 {
			t.Errorf("a row of %d bars: %q", bars, line)
		}
	}
	if n := strings.Count(markdown, "<i>"); n != strings.Count(markdown, "`d` @e #f <i>") {
		t.Errorf("HTML outside of code:\n%s", markdown)
	}
}

// Neighbours become one, with the highest value that is known.
func TestFewer(t *testing.T) {
	points := []part.Point{{From: 0, To: 1, Value: 3}, {From: 1, To: 2, Value: 9, Unknown: true}, {From: 2, To: 3, Unknown: true}, {From: 3, To: 4, Value: 2}, {From: 4, To: 5, Unknown: true}}
	want := []part.Point{{From: 0, To: 2, Value: 3}, {From: 2, To: 4, Value: 2}, {From: 4, To: 5, Unknown: true}}
	if got := part.Fewer(points, 3); !slices.Equal(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
	if got := part.Fewer(points, 5); !slices.Equal(got, points) {
		t.Errorf("%+v", got)
	}
}
