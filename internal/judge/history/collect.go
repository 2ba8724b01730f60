package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

const (
	// mostGroups and mostRevisions bound the time: a series of 500 revisions needs 30 ms, and all groups
	// share the probability of a false change.
	mostGroups    = 20
	mostRevisions = 500
)

// Collector groups runs as they come from a store. It keeps their values, and one run of each group.
type Collector struct {
	options  Options
	groups   map[string]*group
	settings map[string]string // part of the key that comes from settings, by their hash
	lifted   map[string]bool   // names of Options.Lift that some run has
	unfit    int
	without  int
	dirty    int // runs of uncommitted changes: two of them may be of different code
}

// NewCollector returns a collector without runs.
func NewCollector(o Options) *Collector {
	return &Collector{options: o, groups: map[string]*group{}, settings: map[string]string{}, lifted: map[string]bool{}}
}

// group is a Group under construction.
type group struct {
	sample    stored.Run
	metrics   []string
	newest    time.Time
	runs      int
	revisions map[string]*revision
}

// revision has the values of each of the group's metrics, in the order of runs.
type revision struct {
	name        string
	date, first time.Time
	runs        int
	values      [][]float64
	skipped     []int
}

// Add adds a run.
func (c *Collector) Add(r *stored.Run) {
	name := r.Labels[stored.LabelRevision]
	switch {
	case r.Unfit != "":
		c.unfit++
		return
	case name == "":
		c.without++
		return
	case stored.IsDirty(name):
		c.dirty++
		return
	}
	key := c.key(r)
	g := c.groups[key]
	if g == nil {
		g = &group{sample: *r, metrics: c.metrics(r), revisions: map[string]*revision{}}
		c.groups[key] = g
	}
	g.add(name, r)
}

// metrics are the ones to judge in runs like r, each once: what verify judges, and the metrics of the server
// if takt started it.
func (c *Collector) metrics(r *stored.Run) (once []string) {
	list := slices.Clone(stored.KindOf(r.Kind).Gated)
	if _, started := r.Settings.Variables["server_run"]; started {
		list = append(list, "max_rss", "server_cpu")
	}
	if len(c.options.Metrics) > 0 {
		list = append(slices.Clone(c.options.Metrics), "errors")
	}
	for _, name := range list {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

// key is equal for runs that may be compared: of one kind, with equal settings on an equal host, and
// with equal labels except those of the revision.
func (c *Collector) key(r *stored.Run) string {
	parts := []string{r.Kind, c.settingsKey(r.Settings)}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		if c.lifts(name) || name == stored.LabelRevision || name == stored.LabelRevisionDate {
			continue
		}
		parts = append(parts, strconv.Quote(name)+strconv.Quote(r.Labels[name]))
	}
	return strings.Join(parts, " ")
}

// lifts reports whether values of that name may differ.
func (c *Collector) lifts(name string) bool {
	if !slices.Contains(c.options.Lift, name) {
		return false
	}
	c.lifted[name] = true
	return true
}

func (c *Collector) settingsKey(s *stored.Settings) string {
	if len(c.options.Lift) == 0 {
		return s.Hash
	}
	if key, ok := c.settings[s.Hash]; ok {
		return key
	}
	variables, flags, host := maps.Clone(s.Variables), maps.Clone(s.Flags()), s.Host
	drop := func(name string, _ any) bool { return c.lifts(name) }
	maps.DeleteFunc(flags, drop)
	maps.DeleteFunc(variables, drop)
	if flags != nil {
		variables["flags"] = flags
	}
	if c.lifts("host_class") {
		host = ""
	}
	key := stored.HashOf(variables, host)
	c.settings[s.Hash] = key
	return key
}

func (g *group) add(name string, r *stored.Run) {
	v := g.revisions[name]
	if v == nil {
		v = &revision{name: name, date: stored.Dated(r), first: r.StartedAt, values: make([][]float64, len(g.metrics)), skipped: make([]int, len(g.metrics))}
		g.revisions[name] = v
	}
	if d := stored.Dated(r); d.Before(v.date) {
		v.date = d // running a revision again does not make it newer
	}
	if r.StartedAt.Before(v.first) {
		v.first = r.StartedAt
	}
	if r.StartedAt.After(g.newest) {
		g.newest = r.StartedAt
	}
	v.runs++
	g.runs++
	for i, metric := range g.metrics {
		if value, ok := valueOf(r, metric); ok {
			v.values[i] = append(v.values[i], value)
		} else {
			v.skipped[i]++
		}
	}
}

// valueOf is the value of a metric that can be judged. A latency cannot if errors are among it.
func valueOf(r *stored.Run, metric string) (float64, bool) {
	v, ok := r.Figures.Get(metric)
	switch m, _ := stored.MetricOf(metric); {
	case !ok, math.IsNaN(v), math.IsInf(v, 0):
		return 0, false
	case absolute(m):
		return v, true
	case v <= 0:
		return 0, false
	}
	return v, !stored.IsLatency(metric) || r.Standing().Bars(metric) == ""
}

// absolute reports whether differences of a metric are in its unit: 0 % of errors have no ratio.
func absolute(m stored.Metric) bool { return m.Unit == stored.Percent }

// ordered returns the revisions, oldest first. Of two with the same date, the one whose first run is
// later is newer.
func (g *group) ordered() []*revision {
	list := slices.Collect(maps.Values(g.revisions))
	slices.SortFunc(list, func(a, b *revision) int {
		return cmp.Or(a.date.Compare(b.date), a.first.Compare(b.first), cmp.Compare(a.name, b.name))
	})
	return list
}

// build returns the group with the points of its series.
func (g *group) build() Group {
	list := g.ordered()
	out := Group{Kind: g.sample.Kind, Runs: g.runs, Older: max(0, len(list)-mostRevisions)}
	list = list[out.Older:]
	for _, v := range list {
		out.Revisions = append(out.Revisions, Revision{v.name, v.date.UTC(), v.runs})
	}
	for i, name := range g.metrics {
		m, _ := stored.MetricOf(name)
		s := Series{Metric: name, Unit: m.Unit, Better: "lower", Absolute: absolute(m), Changes: []Change{}}
		if m.Higher {
			s.Better = "higher"
		}
		for at, v := range list {
			s.Skipped += v.skipped[i]
			if len(v.values[i]) > 0 {
				s.Points = append(s.Points, pointOf(at, v.values[i]))
			}
		}
		if len(s.Points) > 0 {
			out.Series = append(out.Series, s)
		}
	}
	return out
}

// pointOf is a revision as one point, however many runs it has: what changes from one revision to the
// next, such as the machine, affects all of them.
func pointOf(at int, values []float64) Point {
	slices.Sort(values)
	return Point{At: at, Value: stats.Median(values), Low: values[0], High: values[len(values)-1]}
}

// chosen returns the groups to judge, newest first, and what identifies each.
func (c *Collector) chosen(h *History) (list []Group) {
	var several, single []*group
	for _, g := range c.groups {
		if len(g.revisions) > 1 {
			several = append(several, g)
		} else {
			single = append(single, g)
		}
	}
	newestFirst := func(a, b *group) int {
		return cmp.Or(b.newest.Compare(a.newest), cmp.Compare(a.sample.ID, b.sample.ID))
	}
	slices.SortFunc(several, newestFirst)
	slices.SortFunc(single, newestFirst)
	shown := several
	if len(shown) == 0 && len(single) > 0 {
		shown, single = single[:1], single[1:]
	}
	h.Single, h.Hidden = len(single), max(0, len(shown)-mostGroups)
	shown = shown[:len(shown)-h.Hidden]
	samples := make([]map[string]any, len(shown))
	for i, g := range shown {
		list = append(list, g.build())
		samples[i] = c.common(&g.sample)
	}
	for i, same := range query.Identities(samples) {
		list[i].Same = same
	}
	if len(single) > 0 {
		h.Advice = append(h.Advice, c.scattered(shown, single))
	}
	return list
}

// common are the settings of a group, without those that may differ.
func (c *Collector) common(r *stored.Run) map[string]any {
	all := query.Common(r, true)
	for _, name := range append([]string{stored.LabelRevision, stored.LabelRevisionDate}, c.options.Lift...) {
		delete(all, name)
	}
	return all
}
