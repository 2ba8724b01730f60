package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Lack is what a run over a log lacks for one reason.
type Lack string

// The kinds.
const (
	NoRequest Lack = "no request" // lines without an HTTP request
	Bad       Lack = "bad line"   // lines that takt cannot read
	NotChosen Lack = "not chosen" // requests that a flag leaves out
	NotSent   Lack = "not sent"   // requests that takt cannot send
	Without   Lack = "without"    // requests that are used without something that the log has
)

// Reason is a row of the table of what is left out.
type Reason struct {
	Kind  Lack
	Why   string
	Count uint64
	File  string // of the first line
	Line  int    // the first line, from 1; for HAR the number of the entry
	Text  string // the beginning of the first line, which may contain a secret; "": not kept
}

// Place is file:line of the first line, or the file if it is not of a line.
func (r Reason) Place() string {
	if r.Line == 0 {
		return shown(r.File)
	}
	return fmt.Sprintf("%s:%d", shown(r.File), r.Line)
}

// maxReasons limits the rows of Left; further reasons are counted together.
const maxReasons = 40

// otherReasons is the reason of what has no row of its own.
const otherReasons = "other reasons"

// Left is the table of what is left out of a run over logs. All that read logs count in it: a row for each
// reason, in the order of their first lines.
type Left struct {
	rows  []Reason
	fresh bool // a row does not know its line yet
}

// Add counts a line or request at its place.
func (l *Left) Add(kind Lack, why, file string, line int) {
	if r := l.row(kind, why); r.Line == 0 {
		r.File, r.Line = file, line
	}
}

// AddText is Add with the line, whose beginning the table keeps if it is the first.
func (l *Left) AddText(kind Lack, why, file string, line int, text []byte) {
	const most = 160 // bytes
	r := l.row(kind, why)
	if r.Line == 0 {
		r.File, r.Line, r.Text = file, line, string(text[:min(len(text), most)])
	}
}

// Note counts something that the request of the present line lacks. At says later which line that is.
func (l *Left) Note(why string) {
	if r := l.row(Without, why); r.Line == 0 {
		l.fresh = true
	}
}

// At is the line of the notes since the last call.
func (l *Left) At(file string, line int) {
	if l.fresh { // of few lines: the call is inlined
		l.place(file, line)
	}
}

func (l *Left) place(file string, line int) {
	for i := range l.rows {
		if r := &l.rows[i]; r.Line == 0 {
			r.File, r.Line = file, line
		}
	}
	l.fresh = false
}

// row counts a reason, and returns its row.
func (l *Left) row(kind Lack, why string) *Reason {
	for i := range l.rows {
		if r := &l.rows[i]; r.Kind == kind && r.Why == why {
			r.Count++
			return r
		}
	}
	if len(l.rows) >= maxReasons && why != otherReasons {
		return l.row(kind, otherReasons)
	}
	l.rows = append(l.rows, Reason{Kind: kind, Why: why, Count: 1})
	return &l.rows[len(l.rows)-1]
}

// Merge adds the rows of another table.
func (l *Left) Merge(o *Left) {
	for _, from := range o.rows {
		to := l.row(from.Kind, from.Why)
		to.Count += from.Count - 1
		if to.Line == 0 {
			to.File, to.Line, to.Text = from.File, from.Line, from.Text
		}
	}
}

// Count is how often the reasons of a kind applied.
func (l *Left) Count(kind Lack) (n uint64) {
	for i := range l.rows {
		if l.rows[i].Kind == kind {
			n += l.rows[i].Count
		}
	}
	return n
}

// Of is the row of a reason; a Count of 0: it did not apply.
func (l *Left) Of(kind Lack, why string) Reason {
	for _, r := range l.rows {
		if r.Kind == kind && r.Why == why {
			return r
		}
	}
	return Reason{}
}

// Reasons lists the rows by kind, in the order of the kinds.
func (l *Left) Reasons(kinds ...Lack) (list []Reason) {
	if len(kinds) == 0 {
		kinds = []Lack{NoRequest, Bad, NotChosen, NotSent, Without}
	}
	for _, kind := range kinds {
		for _, r := range l.rows {
			if r.Kind == kind {
				list = append(list, r)
			}
		}
	}
	return list
}

// Most lists up to n reasons for which lines or requests are not used at all, the most frequent first.
func (l *Left) Most(n int) []Reason {
	list := l.Reasons(NoRequest, Bad, NotChosen, NotSent)
	slices.SortStableFunc(list, func(a, b Reason) int { return cmp.Compare(b.Count, a.Count) })
	return list[:min(n, len(list))]
}

// Copy is an independent copy.
func (l *Left) Copy() Left { return Left{rows: slices.Clone(l.rows), fresh: l.fresh} }

// Sum says how much is left out, for the end of a line; "": nothing.
func (l *Left) Sum() (text string) {
	if n := l.Count(NoRequest) + l.Count(Bad); n > 0 {
		text += fmt.Sprintf(", %d without a request", n)
	}
	if n := l.Count(NotChosen) + l.Count(NotSent); n > 0 {
		text += fmt.Sprintf(", %d left out", n)
	}
	return text
}

// AppendText appends the table for people, a row a line.
func (l *Left) AppendText(b []byte) []byte {
	for _, r := range l.Reasons() {
		b = fmt.Appendf(b, "%8d %s: %s; first %s", r.Count, r.Kind, r.Why, r.Place())
		if r.Text != "" {
			b = fmt.Appendf(b, ": %q", r.Text)
		}
		b = append(b, '\n')
	}
	return b
}

// LeftKey is where the extra section of a report has List.
const LeftKey = "left_out"

// List is the table for a report, without the texts of lines.
func (l *Left) List() (list []any) {
	for _, r := range l.Reasons() {
		list = append(list, map[string]any{"kind": string(r.Kind), "why": r.Why, "count": r.Count, "first": r.Place()})
	}
	return list
}
