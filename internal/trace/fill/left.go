package fill

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Left counts what records lack although the log has it.
type Left struct {
	Untimed uint64            // records from rows of the load format with bad times
	Headers map[string]uint64 // header lines that the requests lack, by name
	NoUnit  uint64            // whole numbers at the ends of lines: a time, perhaps, of a unit that nobody names
}

// LeaveOut counts a header line that the request lacks.
func (l *Left) LeaveOut(header string) {
	if l.Headers == nil {
		l.Headers = map[string]uint64{}
	}
	l.Headers[header]++
}

// Add adds the counts of another file. It does not change the map of either.
func (l *Left) Add(o Left) {
	l.Untimed += o.Untimed
	l.NoUnit += o.NoUnit
	sum := maps.Clone(l.Headers)
	if sum == nil && len(o.Headers) > 0 {
		sum = map[string]uint64{}
	}
	for name, n := range o.Headers {
		sum[name] += n
	}
	l.Headers = sum
}

// LeftOut says in words what the records lack; "": nothing.
func (l *Left) LeftOut() (text string) {
	if l.Untimed > 0 {
		text += fmt.Sprintf("; the times of %d are not understood, and not needed", l.Untimed)
	}
	if len(l.Headers) > 0 {
		text += "; headers left out: " + l.HeadersText()
	}
	return text
}

// HeadersText lists Headers: cookie 2, referer 1.
func (l *Left) HeadersText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, l.Headers[name]))
	}
	return strings.Join(parts, ", ")
}
