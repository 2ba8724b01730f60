package stored

import (
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/pkg/takt"
)

// Until is how a run with --until ended.
type Until struct {
	Goal    string  // p99±5%
	Known   float64 // half of the interval ÷ percentile at the newest look; 0: no interval
	Reached bool    // the goal ended the run
}

// Exact says how exactly the percentile was known at the newest look.
func (u Until) Exact() string {
	if !(u.Known > 0) {
		return "no interval"
	}
	return "±" + figure.Near(figure.Up.Round(100*u.Known, 2), 0) + " %"
}

// untilKey is the key of Until in Report.Extra. The goal is the variable of this name.
const untilKey = "until"

// Keep writes u into a report that has the goal.
func (u Until) Keep(r *takt.Report) {
	if r.Extra == nil {
		r.Extra = map[string]any{}
	}
	r.Extra[untilKey] = map[string]any{"known": u.Known, "reached": u.Reached}
}

// UntilOf is the one of a report; not ok: the run had no goal, or the report does not say how it ended.
func UntilOf(r *takt.Report) (u Until, ok bool) {
	said, ok := r.Extra[untilKey].(map[string]any)
	u.Goal, _ = r.Variables[untilKey].(string)
	u.Known, _ = said["known"].(float64)
	u.Reached, _ = said["reached"].(bool)
	return u, ok && u.Goal != ""
}
