package answer

import (
	"cmp"
	"io"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// noRuns replaces an empty table.
const noRuns = "there is no such run; takt stores every run unless it is told --no-store\n"

// Runs writes the table of stored runs: a line each, in the order of list. It cuts no values
// except hashes of revisions.
func Runs(w io.Writer, list []stored.Run) error {
	if len(list) == 0 {
		_, err := io.WriteString(w, noRuns)
		return err
	}
	table := [][]string{{"id", "date (UTC)", "kind", "rate", "p50", "p99", "errors", "verdict", "branch", "revision"}}
	for i := range list {
		table = append(table, RunCells(&list[i]))
	}
	page.Align(table, func(column int) bool { return column >= 3 && column <= 6 })
	var p page.Page
	for _, cells := range table {
		p.Linef("%s", strings.Join(cells, "  "))
	}
	return p.Print(w)
}

// Listed is a stored run in a list, as JSON (schema/runs-v1.schema.json): the figures of the table.
type Listed struct {
	ID        string             `json:"id"`
	StartedAt time.Time          `json:"started_at"`
	Kind      string             `json:"kind"`
	Verdict   string             `json:"verdict"` // valid, or why nothing can be concluded from the run
	Labels    map[string]string  `json:"labels"`
	Variables map[string]any     `json:"variables"`
	Figures   map[string]float64 `json:"figures"` // rate, of a capacity sustainable (per second), p50 and p99 (µs), errors (%)
}

// List is the list of stored runs as JSON has it, in the order of runs.
func List(runs []stored.Run) []Listed {
	all := make([]Listed, 0, len(runs))
	for i := range runs {
		r := &runs[i]
		one := Listed{r.ID, r.StartedAt, r.Kind, fitness(r), map[string]string{}, map[string]any{}, map[string]float64{}}
		maps.Copy(one.Labels, r.Labels) // never null
		maps.Copy(one.Variables, r.Settings.Variables)
		for _, name := range []string{rateOf(r), "p50", "p99", "errors"} {
			if v, ok := r.Figures.Get(name); ok && !math.IsNaN(v) && !math.IsInf(v, 0) { // JSON has neither
				one.Figures[name] = v
			}
		}
		all = append(all, one)
	}
	return all
}

// rateOf is the metric that is the rate of a run: of a capacity, the one that was searched, not the mean of all
// steps.
func rateOf(r *stored.Run) string {
	if r.Kind == stored.KindCapacity {
		return stored.MetricSustainable
	}
	return "rate"
}

// RunCells are the cells of a run: id, date, kind, rate, p50, p99, errors, verdict, branch and revision.
func RunCells(r *stored.Run) []string {
	shown := func(name string, show func(float64) string) string {
		if v, ok := r.Figures.Get(name); ok {
			return show(v)
		}
		return "-"
	}
	label := func(name string) string { return cmp.Or(page.Clean(r.Labels[name]), "-") }
	return []string{
		page.Clean(r.ID), r.StartedAt.UTC().Format("2006-01-02 15:04"), page.Clean(r.Kind),
		shown(rateOf(r), page.Rate), shown("p50", figure.Micros), shown("p99", figure.Micros),
		shown("errors", func(v float64) string { return page.Percent(v, 100) }),
		fitness(r), label("branch"), stored.ShortRevision(label("revision")),
	}
}

// fitness says in a word whether the run is conclusive.
func fitness(r *stored.Run) string {
	ok, counted := r.Figures.Get("ok")
	switch {
	case r.Unfit == "":
		return "valid"
	case r.InvalidOnly():
		return "invalid"
	case r.Invalid():
		return "invalid, incomplete"
	case takt.IsShard(r.Shard):
		return "shard " + page.Clean(r.Shard)
	case counted && ok == 0:
		return "failed"
	default: // the run ended early, or shards are missing
		return "incomplete"
	}
}
