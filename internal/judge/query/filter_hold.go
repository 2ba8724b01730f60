package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/value"
)

func (f *filter) outcome(r *stored.Run) outcome {
	switch f.field.from {
	case ofRun:
		return f.hold(f.field.runValue(r))
	case ofFigures:
		v, ok := f.figure.get(r.Figures, f.field.key)
		if !ok {
			return absent
		}
		return f.verdict(cmp.Compare(v, f.number))
	}
	if s := f.field.label(r); s != "" {
		return f.hold(s)
	}
	if f.field.from == ofLabels {
		return absent
	}
	o, ok := f.settings[r.Settings.Hash]
	if !ok {
		o = f.hold(f.field.setting(r.Settings))
		f.settings[r.Settings.Hash] = o
	}
	return o
}

// hold compares a value that field.value returned with the operand, according to its type.
func (f *filter) hold(v any) outcome {
	switch v := v.(type) {
	case nil:
		return absent
	case float64:
		if !f.numeric {
			return inapplicable
		}
		return f.verdict(cmp.Compare(v, f.number))
	case time.Time:
		return f.verdict(f.period.compare(v))
	case bool:
		if b, err := strconv.ParseBool(f.value); err == nil {
			return f.equality(v == b)
		}
		return inapplicable
	case string:
		return f.holdText(v)
	}
	return inapplicable
}

// holdText compares texts as dates, numbers or durations if both are, otherwise literally.
func (f *filter) holdText(s string) outcome {
	switch {
	case f.field.from == ofRun && f.field.key == "id":
		return f.equality(strings.HasPrefix(strings.ToLower(s), strings.ToLower(f.value)))
	case f.field.from == ofLabels && f.field.word == stored.LabelRevision:
		return f.equality(stored.SameRevision(s, f.value))
	case f.field.from == ofRun, f.isName():
		return f.equality(s == f.value)
	}
	if c, ok := f.compareText(s); ok {
		return f.verdict(c)
	}
	return f.equality(s == f.value)
}

func (f *filter) compareText(s string) (c int, ok bool) {
	if f.dated {
		if t, err := stored.ParseRevisionDate(s); err == nil {
			return f.period.compare(t), true
		}
	}
	a, numberA := value.ParseNumber(s)
	b, numberB := value.ParseNumber(f.value)
	if numberA && numberB {
		return cmp.Compare(a, b), true
	}
	if !f.lasting {
		return 0, false
	}
	d, ok := readDuration(s)
	return cmp.Compare(d, f.duration), ok
}

// verdict is the outcome if the value is less than (−1), equal to (0) or greater than (+1) the operand.
func (f *filter) verdict(c int) outcome {
	switch f.op {
	case "<":
		return outcomeOf(c < 0)
	case "<=":
		return outcomeOf(c <= 0)
	case ">":
		return outcomeOf(c > 0)
	case ">=":
		return outcomeOf(c >= 0)
	}
	return f.equality(c == 0)
}

// equality is the outcome for values without an order.
func (f *filter) equality(equal bool) outcome {
	switch f.op {
	case "=":
		return outcomeOf(equal)
	case "!=":
		return outcomeOf(!equal)
	}
	return inapplicable
}

func outcomeOf(holds bool) outcome {
	if holds {
		return yes
	}
	return no
}

// column finds one figure. Runs share the list of names, so it remembers the index.
type column struct {
	names *string
	count int
	index int
}

func (c *column) get(f stored.Figures, name string) (v float64, ok bool) {
	if len(f.Names) == 0 {
		return 0, false
	}
	if c.names != &f.Names[0] || c.count != len(f.Names) {
		c.names, c.count, c.index = &f.Names[0], len(f.Names), slices.Index(f.Names, name)
	}
	if c.index < 0 || c.index >= len(f.Values) {
		return 0, false
	}
	return f.Values[c.index], true
}
