package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// field is one name by which runs are chosen, sorted and compared: of the run itself,
// a metric, a label, a variable of the load, or a flag of the server under test.
type field struct {
	text string // as it was written
	from source
	word string // without label., variable. or flag.
	key  string // word, or what hey-apm's word for it is here
}

// source is where the value of a field stands in a run.
type source int

const (
	anywhere source = iota // a label, a variable or a flag: the first that there is
	ofRun
	ofFigures
	ofLabels
	ofVariables
	ofFlags
)

// aliases are hey-apm's names, and those of its later versions; and the flag --rate.
func aliases() map[string]string {
	return map[string]string{
		"report_id": "id", "report_date": "date", "started_at": "date",
		"duration": "duration_s", "concurrency": "workers", "agents": "workers", "limit": "memory_limit_bytes",
		"size": "body_bytes", "request_size": "body_bytes", "throttle": "rate_per_s", "rate": "rate_per_s",
		"pushed_volume": "pushed", "accepted_volume": "accepted",
		"index_success_ratio": "index", "actual_expected_ratio": "index",
	}
}

// fieldOf is the field that a word of a filter or of --sort means. A metric's name
// means the metric: a variable of that name is written variable.NAME.
func fieldOf(text string) field {
	f := settingOf(text)
	if f.from != anywhere {
		return f
	}
	switch {
	case slices.Contains(ownFields(), f.key):
		f.from = ofRun
	default:
		for _, name := range []string{f.key, f.word} { // the second: rate is a metric, too
			if _, ok := MetricOf(name); ok {
				f.from, f.key = ofFigures, name
			}
		}
	}
	return f
}

// settingOf is the field that collate's VARIABLE means: what somebody has set, so
// neither a metric nor of the run itself.
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
	case LabelBranch, LabelRevision, LabelRevisionDate:
		f.from = ofLabels
	}
	return f
}

// own is the value of a field of the run itself.
func (f field) own(r *Run) any {
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

// label is the value of the label of that name. "" is none.
func (f field) label(r *Run) string {
	switch f.from {
	case anywhere, ofLabels:
		return r.Labels[f.word]
	}
	return ""
}

// setting is the value of the variable or flag of that name, nil if there is none: a
// float64, a bool or a string.
func (f field) setting(s *Settings) any {
	switch name, from := f.where(s); from {
	case ofVariables:
		return plain(s.Variables[name])
	case ofFlags:
		return plain(s.Flags()[name])
	}
	return nil
}

// where says under which name the settings have the field, as variable or flag.
func (f field) where(s *Settings) (name string, from source) {
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

// value is the value of the field in the run, nil if it has none: what setting
// gives, or a time.Time.
func (f field) value(r *Run) any {
	switch f.from {
	case ofRun:
		return f.own(r)
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

// plain makes a value of Variables one of three types.
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
