// Package part is the model of what takt writes for people. A part of a report has facts, tables,
// sentences and curves, as values, and is made once: the writers of text and Markdown, here, and the
// writer of pages, package html, print the values in forms of their own.
package part

import (
	"iter"

	"github.com/taktload/takt/internal/format/page"
)

// Outputs are the writers that show something; 0: all of them.
type Outputs uint8

const (
	Text Outputs = 1 << iota
	Markdown
	HTML
)

// Has reports whether writer w shows it.
func (o Outputs) Has(w Outputs) bool { return o == 0 || o&w != 0 }

// Part is a part of a report.
type Part struct {
	ID, Title string // anchor and heading of a section; text and Markdown have no section headings
	Lead      string // sentence below the heading of a section
	Within    string // ID of the part in whose section a page shows this one, if the page has that section
	Beside    bool   // a wide page shows picture and table side by side
	Last      bool   // a page shows the part after the others, because its key figures are at the top
	Blocks    []Block
}

// Block is what belongs together in a part. Its members are shown in this order.
type Block struct {
	In      Outputs
	Close   bool   // text has no empty line before the block
	Title   string // line above in text, heading in a page
	Bold    bool   // Markdown has the title, too
	Edge    bool   // text does not wrap the title, and has the table at the left edge
	Tone    Tone   // of the title, in text
	Fold    string // heading below which a page folds the block; "": open
	Above   []Sentence
	Facts   []Fact
	Table   *Table
	Curves  Curves
	Bar     []Share          // parts of a whole
	Drawing any              // chart of a page with one purpose: its name, or what it draws
	Plot    func(*page.Page) // drawing of text with one purpose
	Pre     string           // text that keeps its line breaks
	Below   []Sentence
}

// shown are the blocks of parts that writer w shows.
func shown(parts []Part, w Outputs) iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		for i := range parts {
			for k := range parts[i].Blocks {
				if b := &parts[i].Blocks[k]; b.In.Has(w) && !yield(b) {
					return
				}
			}
		}
	}
}

// Fact is a label and what it says. A fact that says nothing is not shown.
type Fact struct {
	Label, Says string
	In          Outputs
	Bare        bool     // Markdown needs no label: the fact says what it is
	Marked      bool     // Says is Markdown already
	Command     []string // instead of Says: words for a shell
}

// Card is a key figure of a page.
type Card struct{ Name, Value, Note string }

// Sentence is a sentence or a line.
type Sentence struct {
	Text string
	Code string // of a warning, behind the text; "": none
	In   Outputs
	Mark string // before the first line in text, and a list in Markdown: "- "
	Tone Tone
	Line bool // text has it at the left edge, with its spaces
}

// String is the sentence on one line, for text and pages.
func (s Sentence) String() string {
	if s.Code != "" {
		return page.Clean(s.Text) + " [" + page.Clean(s.Code) + "]"
	}
	return page.Clean(s.Text)
}

// Table is a table. All rows have a cell for each column.
type Table struct {
	ID, Caption string // of a page
	Columns     []Column
	Rows        []Row
	// Unit is the unit of all latencies in text and Markdown, so that they can be compared at a glance.
	// Without it, and in pages, each latency has its own.
	Unit     page.Unit
	Headless bool // text has no titles
	Left     bool // text and Markdown align all columns at the left
}

// Column adds a column with a value for each of n rows, unless none of the values is known.
func (t *Table) Column(c Column, n int, of func(row int) Value) {
	values := make([]Value, n)
	shown := false
	for i := range values {
		values[i] = of(i)
		shown = shown || values[i].kind != unknown
	}
	if !shown {
		return
	}
	t.Columns = append(t.Columns, c)
	t.Rows = append(t.Rows, make([]Row, n-len(t.Rows))...)
	for i, v := range values {
		t.Rows[i].Cells = append(t.Rows[i].Cells, v)
	}
}

// Column is a column of a table.
type Column struct {
	Title          string
	Markdown, Page string // other titles there; "": the same
	Group          string // above this column and the next ones, up to one with a group
	In             Outputs
	Words          bool // aligned at the left; figures at the right
	Width          int  // of the column in text; 0: as wide as its widest cell
	Gap            int  // spaces before the column in text; columns without a width have two
	Cut            int  // largest number of runes in text; 0: no limit
	Below          bool // in text each cell is a sentence below its row, after Mark
	Mark           string
}

// Row is a row of a table.
type Row struct {
	Cells []Value
	In    Outputs
	Tone  Tone
	ID    string // anchor in a page
}

// Add adds a row.
func (t *Table) Add(cells ...Value) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// Curves are curves over the time of a run, with one axis in a page.
type Curves struct {
	List      []Curve
	End       float64 // of the run, in seconds since its start
	Intervals int     // of the run
	Table     string  // ID of the table with the figures in a page; "": that of the intervals
	High      bool    // a page draws them higher
}

// Curve is a named line over time.
type Curve struct {
	Name   string
	Class  string // of its colour in a page: ok, bad, due, service, response
	Points []Point
	Print  func(float64) string // a value with its unit
	Axis   func(float64) string // a value on the axis of a page, which has little room; nil: as Print
	Binary bool                 // round values of the axis are those of MiB
}

// Highest is the highest known value, at least 0.
func (c *Curve) Highest() (v float64) {
	for _, at := range c.Points {
		if !at.Unknown {
			v = max(v, at.Value)
		}
	}
	return v
}

// Point is the value from one instant to another, both in seconds since the start of the run.
type Point struct {
	From, To, Value float64
	Unknown         bool
}

// Share is a part of a whole, from 0 to 1.
type Share struct {
	Name  string // in the legend; "": not there
	Class string // of its colour in a page
	Part  float64
}

// Tone is how good something is.
type Tone string

const (
	Plain Tone = "plain"
	Good  Tone = "good"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
)

// Colour is a tone in text.
func (t Tone) Colour() string {
	return map[Tone]string{Good: page.Green, Warn: page.Yellow, Bad: page.Red}[t]
}
