// Package steps has what a run saw of the steps of a scenario, as reports contain it.
package steps

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The names of the steps, and of the rounds where they have the rate, in Report.Extra.
const (
	Key    = "steps"
	Rounds = "rounds"
	Asked  = "asked_per_s" // of Rounds, where the schedule of the report is one of operations: the constant rate of the whole
)

// Figures are what a run saw of one step.
type Figures struct {
	Name                string
	OK, Failed, Skipped uint64
	Passed              uint64 // rounds that passed over the step, since its condition did not hold
	Response, Service   *hist.Histogram
	Checks              []Check
}

// Check is what came of one check of a step. Answers that failed before were not asked.
type Check struct {
	Text           string
	Passed, Failed uint64
}

// Outcome is what came of a check of one answer.
type Outcome uint8

// What came of a check.
const (
	Unasked Outcome = iota // the answer failed before
	Passed
	Failed
)

// Add counts an answer.
func (c *Check) Add(o Outcome) {
	switch o {
	case Passed:
		c.Passed++
	case Failed:
		c.Failed++
	}
}

// New are the figures of a step before its run.
func New(name string) Figures {
	return Figures{Name: name, Response: hist.New(), Service: hist.New()}
}

// Count counts an operation of the step, which is over.
func (f *Figures) Count(failed bool, response, service time.Duration) {
	if failed {
		f.Failed++
	} else {
		f.OK++
	}
	f.Response.Record(response)
	f.Service.Record(service)
}

// RoundCounts are how many rounds there were, whose first and last operation count.
type RoundCounts struct{ Begun, Completed, Failed, Dropped uint64 } // Dropped: for want of room, at their beginning

// Of are the counts as Extra has them.
func (c RoundCounts) Of(r *takt.Report) map[string]any {
	rounds := map[string]any{"begun": float64(c.Begun), "completed": float64(c.Completed), "failed": float64(c.Failed)}
	if r.Rate.Intended != nil {
		rounds["intended_per_s"] = *r.Rate.Intended * float64(c.Begun+c.Dropped) / float64(max(1, r.Counts.Scheduled))
	}
	if c.Dropped > 0 {
		rounds["dropped"] = float64(c.Dropped)
	}
	return rounds
}

// latency is a latency of a step, by its name in a row.
type latency struct {
	name string
	h    *hist.Histogram
}

func (f *Figures) latencies() []latency {
	return []latency{{"response", f.Response}, {"service", f.Service}}
}

// Rows are the steps as Report.Extra has them: plain values.
func Rows(list []Figures) (rows []any) {
	for i := range list {
		f := &list[i]
		row := map[string]any{"step": float64(i + 1), "name": f.Name, "ok": float64(f.OK), "failed": float64(f.Failed), "skipped": float64(f.Skipped)}
		for _, l := range f.latencies() {
			if l.h.Count() == 0 {
				continue
			}
			for name, at := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1} {
				row[l.name+"_"+name+"_us"] = hist.Micros(l.h.Quantile(at))
			}
			row[l.name+"_hdr"] = l.h.Encode()
		}
		var checks []any
		for _, c := range f.Checks {
			checks = append(checks, map[string]any{"check": c.Text, "passed": float64(c.Passed), "failed": float64(c.Failed)})
		}
		if checks != nil {
			row["checks"] = checks
		}
		if f.Passed > 0 {
			row["passed_over"] = float64(f.Passed)
		}
		rows = append(rows, row)
	}
	return rows
}

// Merge returns the rows of the whole, from the Extra of each shard. ok is false if they are not about
// the same steps, or lack their histograms, as reports of an older takt do.
func Merge(extras []map[string]any) (rows []any, ok bool) {
	var whole []Figures
	for i, extra := range extras {
		list, _ := extra[Key].([]any)
		if len(list) == 0 || i > 0 && len(list) != len(whole) {
			return nil, false
		}
		for k, one := range list {
			row, _ := one.(map[string]any)
			name, _ := row["name"].(string)
			if i == 0 {
				whole = append(whole, New(name))
			}
			if whole[k].Name != name || !whole[k].add(row) {
				return nil, false
			}
		}
	}
	return Rows(whole), len(whole) > 0
}

// key is a name as conditions write it: they have no spaces.
func key(name string) string { return strings.ReplaceAll(name, " ", "") }

// Named is the Extra of a report before its run, with nothing but the names of the steps; nil: there are none.
func Named(names []string) map[string]any {
	if names == nil {
		return nil
	}
	var rows []any
	for _, n := range names {
		rows = append(rows, map[string]any{"name": n})
	}
	return map[string]any{Key: rows}
}

// Names are those of the steps of a report.
func Names(r *takt.Report) (names []string) {
	list, _ := r.Extra[Key].([]any)
	for _, one := range list {
		row, _ := one.(map[string]any)
		name, _ := row["name"].(string)
		names = append(names, name)
	}
	return names
}

// Is reports whether a step has this name, in which spaces do not count.
func Is(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return key(n) == key(name) })
}

// Of is the report of one step, by its name, in which spaces do not count: its counts, its latencies, and the verdict of the
// whole; nil: r has no such step.
func Of(r *takt.Report, name string) *takt.Report {
	list, _ := r.Extra[Key].([]any)
	for i, known := range Names(r) {
		f := New(known)
		row, _ := list[i].(map[string]any)
		if key(known) != key(name) || !f.add(row) {
			continue
		}
		of := &takt.Report{Verdict: r.Verdict, DurationS: r.DurationS, Variables: r.Variables, Warnings: r.Warnings, Latency: map[string]takt.Latency{}}
		of.Counts = takt.Counts{Scheduled: f.OK + f.Failed + f.Skipped, Sent: f.OK + f.Failed, OK: f.OK, Failed: f.Failed, Dropped: f.Skipped}
		of.Rate.Achieved = float64(f.OK+f.Failed) / max(r.DurationS, math.SmallestNonzeroFloat64)
		for _, l := range f.latencies() {
			of.Latency[l.name] = l.h.Summary()
		}
		return of
	}
	return nil
}

// OfRounds is a report with the rounds of r as its operations; nil: r counts none. Rounds that did not end are in no count:
// the end of a run cut them, and not the target.
func OfRounds(r *takt.Report) *takt.Report {
	rounds, ok := r.Extra[Rounds].(map[string]any)
	if !ok {
		return nil
	}
	n := func(name string) uint64 { f, _ := rounds[name].(float64); return uint64(f) }
	of := &takt.Report{Verdict: r.Verdict, DurationS: r.DurationS, Variables: r.Variables, Warnings: r.Warnings}
	of.Counts = takt.Counts{OK: n("completed"), Failed: n("failed"), Dropped: n("dropped")}
	of.Counts.Sent = of.Counts.OK + of.Counts.Failed
	of.Counts.Scheduled = of.Counts.Sent + of.Counts.Dropped
	return of
}

// MergeRounds are the rounds of the whole, from the Extra of each shard. ok is false if a shard has none.
func MergeRounds(extras []map[string]any) (whole map[string]any, ok bool) {
	whole = map[string]any{}
	for _, extra := range extras {
		one, is := extra[Rounds].(map[string]any)
		if !is {
			return nil, false
		}
		for name, v := range one {
			n, _ := v.(float64)
			if sum, _ := whole[name].(float64); name != Asked {
				n += sum
			}
			whole[name] = n
		}
	}
	return whole, len(extras) > 0
}

// add adds a row, and reports whether it has all that is needed.
func (f *Figures) add(row map[string]any) bool {
	if !count(row, "ok", &f.OK) || !count(row, "failed", &f.Failed) || !count(row, "skipped", &f.Skipped) || !f.addChecks(row) {
		return false
	}
	if _, is := row["passed_over"]; is && !count(row, "passed_over", &f.Passed) {
		return false
	}
	for _, l := range f.latencies() {
		text, ok := row[l.name+"_hdr"].(string)
		if _, measured := row[l.name+"_max_us"]; measured != ok {
			return false
		}
		if ok && l.h.MergeEncoded(text) != nil {
			return false
		}
	}
	return true
}

// count adds the count of this name in a row to n, and reports whether it is one.
func count(row map[string]any, name string, n *uint64) bool {
	v, ok := row[name].(float64)
	if !ok || v < 0 || v > 1<<53 || v != math.Trunc(v) {
		return false
	}
	*n += uint64(v)
	return true
}

// addChecks adds the checks of a row, which are the same in all rows of a step.
func (f *Figures) addChecks(row map[string]any) bool {
	list, _ := row["checks"].([]any)
	if f.Checks == nil {
		f.Checks = make([]Check, len(list))
	}
	if len(list) != len(f.Checks) {
		return false
	}
	for i, one := range list {
		c, _ := one.(map[string]any)
		text, _ := c["check"].(string)
		if known := &f.Checks[i]; known.Text == "" {
			known.Text = text
		}
		if f.Checks[i].Text != text || !count(c, "passed", &f.Checks[i].Passed) || !count(c, "failed", &f.Checks[i].Failed) {
			return false
		}
	}
	return true
}
