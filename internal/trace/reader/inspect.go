package reader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// Inspected is what a log was taken for, and what is wrong with the log as a whole.
type Inspected struct {
	File    string  `json:"file"`
	Guess   Guess   `json:"guess"`
	Faults  []Fault `json:"faults,omitempty"`
	Longest string  `json:"longest_part,omitempty"` // the longest part without a gap or a step, with the flags that choose it
}

// Inspected says it of each log, in the order of the command line. It needs Settings.Inspect.
func (l *Log) Inspected() (list []Inspected) {
	for i, r := range l.readers {
		in := Inspected{File: r.Name(), Guess: r.Guess(), Faults: fileFaults(r.Name(), r.Format(), r.Counts())}
		if i < len(l.watches) {
			in.Faults = append(in.Faults, l.watches[i].found()...)
			if part, ok := l.watches[i].longest(); ok {
				in.Longest = fmt.Sprintf("%s in %v, %s", figure.Plural(part.N, "request"), part.length(), part.flags())
			}
		}
		list = append(list, in)
	}
	return list
}

// fileFaults lists what is wrong with a file as a file.
func fileFaults(name, format string, c Counts) (list []Fault) {
	e := c.Ends
	add := func(kind string, count uint64, line int, form string, args ...any) {
		f := Fault{Kind: kind, Count: count, Text: fmt.Sprintf(form, args...)}
		if line > 0 {
			f.Places = []string{fmt.Sprintf("%s:%d", name, line)}
		}
		list = append(list, f)
	}
	if e.Damaged > 0 {
		add("damaged", 1, e.Damaged, "truncated: the compressed file ends too early, or is damaged")
	}
	if e.Cut > 0 {
		add("cut", 1, e.Cut, "truncated: the last line is cut short")
	}
	if e.FirstBad > 0 && e.FirstBad != e.Cut && c.Bad() < c.Lines {
		add("begin", 1, e.FirstBad, "truncated: the first line is not complete, so the log may begin earlier")
	}
	if n := c.Left.Of(trace.Without, parse.NoUnit).Count; n > 0 {
		add("unit", n, 0, "the whole number at the end of %s is not used, because its unit is not known; if it is a time, name it: --format '%%h %%l %%u %%t \"%%r\" %%>s %%b \"%%{Referer}i\" \"%%{User-Agent}i\" %%D' (%%D: µs, %%{ms}T: ms, %%T: s)", figure.Plural(n, "line"))
	}
	if e.Holes > 0 {
		add("hole", e.Holes, 0, "truncated: NUL bytes before %s; the log was emptied while the server wrote to it (copytruncate)", figure.Plural(e.Holes, "line"))
	}
	if len(e.Others) > 0 {
		n := 0
		var names []string
		for _, other := range slices.Sorted(maps.Keys(e.Others)) {
			n += e.Others[other]
			names = append(names, fmt.Sprintf("%s %d", other, e.Others[other]))
		}
		add("mixed", uint64(n), 0, "mixed formats: of the first %s not in the format %s, %d are of another format (%s)", figure.Plural(e.Tried, "line"), shownFormat(format), n, strings.Join(names, ", "))
	}
	return list
}

// unfit says where the first bad line does not fit its format; "": not known.
func (l *Log) unfit() string {
	for _, r := range l.readers {
		if c := r.Counts(); c.Records == 0 && c.Ends.Where != "" {
			return fmt.Sprintf("%s is not %s: its first bad line does not fit at %s", r.Name(), shownFormat(r.Format()), c.Ends.Where)
		}
	}
	return ""
}
