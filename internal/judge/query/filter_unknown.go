package query

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

// tally counts the runs that a filter was applied to. Until a run has the field, it also collects the
// names of existing fields, for the error.
type tally struct {
	runs   int
	known  int // runs with the field
	apt    int // runs with a value that could be compared
	other  any // the first value that could not be compared
	fields Catalog
}

func (f *filter) tally(r *stored.Run, o outcome) {
	t := &f.met
	t.runs++
	switch o {
	case absent:
		if t.known == 0 {
			t.fields.Add(r, true)
		}
	case inapplicable:
		if t.known++; t.other == nil {
			t.other = f.field.value(r)
		}
	default:
		t.known++
		t.apt++
	}
}

// Unknown names the filters that applied to none of the runs that Match has seen: no run has the
// field, or no value can be compared in this way. It is nil if Match has seen no run.
func (fs Filters) Unknown() error {
	var faults []error
	for _, f := range fs.list {
		switch t := &f.met; {
		case t.runs == 0 || t.apt > 0:
		case t.known == 0:
			faults = append(faults, fmt.Errorf("filter %q: no run has %q; %s", f.text, f.field.text, t.fields.Advice(f.field.word)))
		default:
			faults = append(faults, fmt.Errorf("filter %q: %s", f.text, f.unlike(t.other)))
		}
	}
	return errors.Join(faults...)
}

// unlike says why the filter does not apply to the value, according to its type.
func (f *filter) unlike(v any) string {
	switch v.(type) {
	case string:
		return fmt.Sprintf("%s is text, which is not ordered; use = or !=", f.field.text)
	case bool:
		return fmt.Sprintf("%s is true or false; use = or != with one of them", f.field.text)
	}
	return fmt.Sprintf("%q cannot be compared with %s; give %s", f.value, f.field.text, f.field.reader().example)
}

// Catalog collects the names of the fields of runs.
type Catalog struct {
	Names    map[string]bool
	settings map[string]bool // hashes of the settings whose names were added
	figures  *string         // first name of the list of figures added last
}

// Add adds the names of labels, variables and flags, and of metrics if metrics is true.
func (c *Catalog) Add(r *stored.Run, metrics bool) {
	if c.Names == nil {
		c.Names, c.settings = map[string]bool{}, map[string]bool{}
	}
	for name := range r.Labels {
		c.Names[name] = true
	}
	if !c.settings[r.Settings.Hash] {
		c.settings[r.Settings.Hash] = true
		for name := range r.Settings.Variables {
			c.Names[name] = true
		}
		for name := range r.Settings.Flags() {
			c.Names[name] = true
		}
		delete(c.Names, "flags")
	}
	if names := r.Figures.Names; metrics && len(names) > 0 && c.figures != &names[0] {
		c.figures = &names[0]
		for _, name := range names {
			c.Names[name] = true
		}
	}
}

// listed is the largest number of names in an error: two lines of a terminal.
const listed = 12

// Advice names the fields whose spelling is most like name.
func (c *Catalog) Advice(name string) string {
	if len(c.Names) == 0 {
		return "there are none in these runs"
	}
	names := slices.SortedFunc(maps.Keys(c.Names), func(a, b string) int {
		return cmp.Or(cmp.Compare(likeness(b, name), likeness(a, name)), cmp.Compare(a, b))
	})
	more := ""
	if n := len(names) - listed; n > 0 {
		names, more = names[:listed], fmt.Sprintf(" (and %d more)", n)
	}
	return "use one of " + strings.Join(names, " ") + more
}

// likeness is the share of bigrams (pairs of neighbouring letters) that two words have in common:
// Dice, Ecology 26 (1945). 1: all.
func likeness(a, b string) float64 {
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	common := 0
	for i := range len(b) - 1 {
		if pairs[b[i:i+2]] > 0 {
			pairs[b[i:i+2]]--
			common++
		}
	}
	return 2 * float64(common) / float64(max(len(a)+len(b)-2, 1))
}
