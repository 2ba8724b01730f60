package bench

import (
	"flag"
	"math"
	"net/url"

	"github.com/taktload/takt/internal/program"
)

// variables are the flags of a program, given or not, for the report. Numbers and truth values keep their
// types; durations and others are texts.
func variables(flags *flag.FlagSet) map[string]any {
	v := map[string]any{}
	flags.VisitAll(func(f *flag.Flag) {
		if !program.Secret(f.Name) {
			v[variable(f.Name)] = typed(f.Value)
		}
	})
	return v
}

// variable is the name of a flag in the report, where "name" is what was measured.
func variable(flag string) string {
	if flag == "name" {
		return "flag_name"
	}
	return flag
}

func typed(v flag.Value) any {
	if g, ok := v.(flag.Getter); ok {
		switch n := g.Get().(type) {
		case bool, int, int64, uint, uint64:
			return n
		case float64:
			if !math.IsNaN(n) && !math.IsInf(n, 0) { // JSON has neither
				return n
			}
		}
	}
	text := v.String()
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}
