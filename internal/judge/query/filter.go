package query

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/value"
)

// Filters select the runs that match all of them. They remember runs, for speed and for Unknown, so
// only one goroutine at a time may use them.
type Filters struct{ list []*filter }

// filter is FIELD OPERATOR VALUE.
type filter struct {
	text  string
	field field
	op    string
	value string

	number   float64 // value in the unit of the field
	numeric  bool
	period   period // value as a date
	dated    bool
	duration time.Duration // value as a duration
	lasting  bool

	settings map[string]outcome // by hash of the settings, which runs share
	figure   column
	met      tally
}

// outcome is the result of applying a filter to a run.
type outcome byte

const (
	absent       outcome = iota // the run does not have the field
	inapplicable                // the run has the field, but the operator or operand does not apply to its value
	no
	yes
)

// ParseFilters reads filters, each one word such as branch=main, events>=10, p99<250ms or
// date>2026-01-31. It ignores spaces around the operator. The error names every faulty word.
func ParseFilters(words []string) (Filters, error) {
	var all Filters
	var faults []error
	for _, w := range words {
		f, err := parseFilter(w)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all.list = append(all.list, f)
	}
	return all, errors.Join(faults...)
}

func parseFilter(text string) (*filter, error) {
	i := strings.IndexAny(text, "!=<>")
	if i < 0 {
		return nil, fmt.Errorf("filter %q has no operator; write FIELD=VALUE, or one of != < <= > >= in quotes", text)
	}
	op := operatorOf(text[i:])
	name, value := strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+len(op):])
	if op == "==" { // as in assertions
		op = "="
	}
	if op == "" || name == "" || value == "" {
		return nil, fmt.Errorf("filter %q is not of the form FIELD=VALUE; write for example branch=main or 'p99<250ms', with one of = != < <= > >=", text)
	}
	f := &filter{text: text, field: fieldOf(name), op: op, value: value, settings: map[string]outcome{}}
	f.number, f.numeric = f.field.reader().parse(value)
	f.period, f.dated = parsePeriod(value)
	f.duration, f.lasting = readDuration(value)
	if problem := f.misfit(); problem != "" {
		return nil, fmt.Errorf("filter %q: %s", text, problem)
	}
	return f, nil
}

// operatorOf is the operator at the start of s; "": there is none.
func operatorOf(s string) string {
	for _, op := range []string{"!=", "<=", ">=", "==", "=", "<", ">"} { // longer ones first
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// misfit says why the operand or the operator can never apply; "": the field's name shows no reason.
func (f *filter) misfit() string {
	ordered := f.op != "=" && f.op != "!="
	switch {
	case f.field.from == ofFigures && !f.numeric:
		return fmt.Sprintf("%q cannot be compared with %s; give %s", f.value, f.field.key, f.field.reader().example)
	case f.isDate() && !f.dated:
		return fmt.Sprintf("%q is not a date; give one such as 2026-01-31, or 2026-01-31T18:00:00Z", f.value)
	case f.field.from == ofRun && !f.isDate() && ordered:
		return fmt.Sprintf("%s is not ordered; use = or !=", f.field.text)
	case f.isName() && ordered:
		return fmt.Sprintf("%s is text, which is not ordered; use = or !=", f.field.text)
	}
	return ""
}

func (f *filter) isDate() bool {
	return f.field.from == ofRun && f.field.key == "date" || f.field.from == ofLabels && f.field.word == stored.LabelRevisionDate
}

// isName reports whether the field is a label that is always text, even if it looks like a number:
// revision 1e10.
func (f *filter) isName() bool {
	return f.field.from == ofLabels && (f.field.word == stored.LabelBranch || f.field.word == stored.LabelRevision)
}

// Match reports whether the run matches all filters. A run without a filter's field does not match
// that filter, whatever the operator is.
func (fs Filters) Match(r *stored.Run) bool {
	all := true
	for _, f := range fs.list { // no early return: Unknown needs every outcome
		o := f.outcome(r)
		f.tally(r, o)
		all = all && o == yes
	}
	return all
}

// Labels returns the labels that every matching run has. The start of a revision is not included,
// because the labels of the runs are longer.
func (fs Filters) Labels() map[string]string {
	labels := map[string]string{}
	for _, f := range fs.list {
		begins := f.field.word == stored.LabelRevision && stored.BeginsHash(f.value)
		if f.op == "=" && !begins && (f.isName() || f.field.from == ofLabels && f.onlyText()) {
			labels[f.field.word] = f.value
		}
	}
	return labels
}

// onlyText reports whether only the same text equals the operand, because the operand is neither a
// number nor a duration nor a date.
func (f *filter) onlyText() bool {
	_, number := value.ParseNumber(f.value)
	return !number && !f.lasting && !f.dated
}
