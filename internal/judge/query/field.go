package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

// field is a name by which runs are selected, sorted and compared: a property of the run itself, a
// metric, a label, a variable of the load, or a flag of the server under test.
type field struct {
	text string // as the user wrote it
	from source
	word string // without label., variable. or flag.
	key  string // word, or takt's name if word is an alias
}

// source is the part of a run that contains the value of a field.
type source int

const (
	anywhere source = iota // the first that exists of a label, a variable and a flag
	ofRun
	ofFigures
	ofLabels
	ofVariables
	ofFlags
)

// aliases are names of hey-apm and its later versions, and the name of the flag --rate.
func aliases() map[string]string {
	return map[string]string{
		"report_id": "id", "report_date": "date", "started_at": "date",
		"duration": "duration_s", "concurrency": "workers", "agents": "workers", "limit": "memory_limit_bytes",
		"size": "body_bytes", "request_size": "body_bytes", "throttle": "rate_per_s", "rate": "rate_per_s",
		"pushed_volume": "pushed", "accepted_volume": "accepted",
		"index_success_ratio": "index", "actual_expected_ratio": "index",
	}
}

// fieldOf is the field that a name in a filter or in --sort means. The name of a metric means the
// metric; a variable of the same name is variable.NAME.
func fieldOf(text string) field {
	f := settingOf(text)
	if f.from != anywhere {
		return f
	}
	switch {
	case slices.Contains(ownFields(), f.key):
		f.from = ofRun
	default:
		for _, name := range []string{f.key, f.word} { // word, too: rate is an alias and a metric
			if _, ok := stored.MetricOf(name); ok {
				f.from, f.key = ofFigures, name
			}
		}
	}
	return f
}

// settingOf is the field that collate's VARIABLE means: something that the user sets, so neither a
// metric nor a property of the run itself.
func settingOf(text string) field {
	f := field{text: text, word: text, key: cmp.Or(aliases()[text], text)}
	for _, p := range []struct {
		prefix string
		from   source
	}{{"label.", ofLabels}, {"variable.", ofVariables}, {"flag.", ofFlags}} {
		if word, ok := strings.CutPrefix(text, p.prefix); ok && word != "" {
			f.from, f.word, f.key = p.from, word, word
		}
	}
	switch text {
	case stored.LabelBranch, stored.LabelRevision, stored.LabelRevisionDate:
		f.from = ofLabels
	}
	return f
}

// runValue is the value of a field of the run itself.
func (f field) runValue(r *stored.Run) any {
	switch f.key {
	case "id":
		return r.ID
	case "kind":
		return r.Kind
	case "date":
		return r.StartedAt
	case "run_group":
		return orNil(r.Group)
	case "host_class":
		return orNil(r.Settings.Host)
	default:
		return r.Unfit != ""
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// label is the value of the label of that name; "": there is none.
func (f field) label(r *stored.Run) string {
	switch f.from {
	case anywhere, ofLabels:
		return r.Labels[f.word]
	}
	return ""
}

// setting is the value of the variable or flag of that name: a float64, a bool or a string; nil:
// there is none.
func (f field) setting(s *stored.Settings) any {
	switch name, from := f.where(s); from {
	case ofVariables:
		return plain(s.Variables[name])
	case ofFlags:
		return plain(s.Flags()[name])
	}
	return nil
}

// where is the field's name in the settings, and whether it is a variable or a flag there.
func (f field) where(s *stored.Settings) (name string, from source) {
	for _, name := range []string{f.word, f.key} {
		switch {
		case f.from != ofFlags && name != "flags" && s.Variables[name] != nil:
			return name, ofVariables
		case f.from != ofVariables && s.Flags()[name] != nil:
			return name, ofFlags
		}
	}
	return "", anywhere
}

// value is the value of the field in the run: a time.Time or a type that setting returns; nil: the
// run does not have it.
func (f field) value(r *stored.Run) any {
	switch f.from {
	case ofRun:
		return f.runValue(r)
	case ofFigures:
		if v, ok := r.Figures.Get(f.key); ok {
			return v
		}
		return nil
	}
	if s := f.label(r); s != "" || f.from == ofLabels {
		return orNil(s)
	}
	return f.setting(r.Settings)
}

// plain converts a value of Variables to a float64, a bool or a string; nil stays nil.
func plain(v any) any {
	switch v := v.(type) {
	case nil, float64, bool, string:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case json.Number:
		if n, err := v.Float64(); err == nil {
			return n
		}
		return v.String()
	case time.Duration:
		return v.Seconds()
	case []string:
		return strings.Join(v, ",")
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v)
}
