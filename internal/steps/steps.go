// Package steps has what a run saw of the steps of a scenario, as reports contain it.
package steps

import (
	"math"

	"github.com/taktload/takt/pkg/hist"
)

// Key is the name of the steps in Report.Extra.
const Key = "steps"

// Figures are what a run saw of one step.
type Figures struct {
	Name                string
	OK, Failed, Skipped uint64
	Response, Service   *hist.Histogram
}

// New are the figures of a step before its run.
func New(name string) Figures {
	return Figures{Name: name, Response: hist.New(), Service: hist.New()}
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

// add adds a row, and reports whether it has all that is needed.
func (f *Figures) add(row map[string]any) bool {
	counts := []*uint64{&f.OK, &f.Failed, &f.Skipped}
	for i, name := range []string{"ok", "failed", "skipped"} {
		n, ok := row[name].(float64)
		if !ok || n < 0 || n > 1<<53 || n != math.Trunc(n) {
			return false
		}
		*counts[i] += uint64(n)
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
