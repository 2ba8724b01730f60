// Package verify decides whether a change made the thing under test slower: from stored runs, from
// pairs of runs in turns, and from duets.
package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// Options say how runs are judged.
type Options struct {
	Tolerance      float64   // changes for the worse up to this are ignored: 0.05 is 5 %
	ErrorTolerance float64   // Tolerance for metrics in percent, in percentage points
	Confidence     float64   // probability that no regressed or ok of a judgement is wrong, from 0.5 to below 1: 0.95
	Metrics        []string  // metrics that decide, in addition to errors; empty: gatedMetrics
	Also           []string  // metrics that decide besides those of the kind, unless Metrics are given
	Lift           []string  // variables and flags that may differ among the runs; in a history, labels too
	Rows           []string  // of a duet: latencies that each operation has once, besides its response time; nil: not known
	Names          [2]string // what the user calls base and head, such as a URL; "": a word such as base
}

// DefaultOptions are a tolerance of 5 %, or 0.1 percentage points, and a confidence of 95 %.
func DefaultOptions() Options {
	return Options{Tolerance: 0.05, ErrorTolerance: stored.ErrorTolerance, Confidence: 0.95}
}

// gatedMetrics returns the metrics that decide about runs of that kind by default.
func gatedMetrics(kind string) []string {
	return slices.Clone(stored.KindOf(kind).Gated)
}

// Word is the verdict of a comparison about the head.
type Word string

// The words. OK: any change for the worse is smaller than the tolerance. Improved: OK, and the interval
// of the metric shows that it is better by more than the tolerance. Improved is only a remark: the
// confidence of the judgement does not cover it, and it is never the word for a whole comparison.
const (
	Regressed    Word = "regressed"
	Inconclusive Word = "inconclusive"
	OK           Word = "ok"
	Improved     Word = "improved"
)

// Method is how two sides are compared.
type Method string

// The methods. Prediction: the head is one run, the base ten or more.
const (
	Paired     Method = "paired"
	Unpaired   Method = "unpaired"
	Prediction Method = "prediction"
)

// Judgement is what verify concludes from runs.
type Judgement struct {
	Verdict        Word              `json:"verdict"` // regressed, inconclusive or ok
	Tolerance      float64           `json:"tolerance"`
	ErrorTolerance float64           `json:"error_tolerance_points"`
	Confidence     float64           `json:"confidence"`
	Look           int               `json:"look,omitempty"`      // the look that judged, from 1; 0: the time was over between two looks
	Looks          int               `json:"looks,omitempty"`     // number of looks of the plan, at which the series may end
	Disturbed      *Disturbed        `json:"disturbed,omitempty"` // pairs that were replaced; nil: not a series of pairs
	Duet           *DuetFacts        `json:"duet,omitempty"`      // facts about the duet; nil: not a duet
	Answers        *answers.Result   `json:"answers,omitempty"`   // answers of both sides to the same requests; nil: not compared
	Functions      *functions.Result `json:"functions,omitempty"` // profiles of both sides; nil: none were taken
	Futile         bool              `json:"futile,omitempty"`    // ended early, because the rest of the series would most probably not conclude either
	Head           Side              `json:"head"`
	Comparisons    []Comparison      `json:"comparisons"`      // one, or one for each earlier revision, newest first
	Bisect         []Culprit         `json:"bisect,omitempty"` // where the regressed metrics became worse; nil: not searched
	BisectEnded    BisectEnd         `json:"bisect_ended,omitempty"`
	Advice         []string          `json:"advice"`            // sentences: what was found, and what to do
	Command        []string          `json:"command,omitempty"` // command line, without secrets

	Reports [2][]*takt.Report `json:"-"` // the reports of base and head, for the page: at least ID, Command and Latency; nil: not known
}

// Attach sets the Reports to those of the judged runs, in their order, if all of them are in all.
func (j *Judgement) Attach(all map[string]*takt.Report) {
	if len(j.Comparisons) != 1 {
		return
	}
	var reports [2][]*takt.Report
	for i, side := range []Side{j.Comparisons[0].Base, j.Head} {
		for _, id := range side.Runs {
			if all[id] == nil {
				return
			}
			reports[i] = append(reports[i], all[id])
		}
	}
	j.Reports = reports
}

// BisectEnd is why a bisection ended.
type BisectEnd string

// The reasons. Only after Found is the first worse commit of each regressed metric known.
const (
	BisectFound       BisectEnd = "found"
	BisectNone        BisectEnd = "none"        // head is not proven worse, so there is nothing to search
	BisectLimit       BisectEnd = "limit"       // of the pairs, or of the time; or no commit can say more
	BisectDisturbed   BisectEnd = "disturbed"   // the machine disturbed every pair
	BisectInterrupted BisectEnd = "interrupted" // by a signal
	BisectFailed      BisectEnd = "failed"      // base or head did not start, or the cache could not be written
)

// Note adds the disturbed pairs of a series, with advice about them.
func (j *Judgement) Note(d Disturbed) {
	j.Disturbed = &d
	j.Advice = append(j.Advice, d.advice()...)
}

// Side is the runs of one side of a comparison.
type Side struct {
	Name string   `json:"name"` // the revision, or a name such as base or head
	Runs []string `json:"runs"` // ids of the runs

	Commit *Commit `json:"commit,omitempty"` // built by takt; nil: somebody else started the thing under test
}

// Commit is the commit of a side.
type Commit struct {
	Name    string `json:"name,omitempty"` // as the user wrote it
	Hash    string `json:"hash"`
	Date    string `json:"date"`             // RFC 3339
	Branch  string `json:"branch,omitempty"` // "": unknown
	Subject string `json:"subject"`
}

// Comparison is the head against one base.
type Comparison struct {
	Base     Side      `json:"base"`
	Method   Method    `json:"method"`
	Verdict  Word      `json:"verdict"`
	Findings []Finding `json:"metrics"`
	Costs    []Finding `json:"costs,omitempty"`   // of what an operation costs; they do not decide
	Changes  []Change  `json:"changes,omitempty"` // proven differences of Findings and Costs
}

// Finding is what a comparison says about one metric.
type Finding struct {
	Metric     string      `json:"metric"`
	Unit       stored.Unit `json:"unit"`
	Better     string      `json:"better"`     // lower or higher
	Base       float64     `json:"base"`       // median of the runs; in a duet, the figure of all counted blocks
	Head       float64     `json:"head"`       // as Base
	Absolute   bool        `json:"absolute"`   // whether the difference is in the metric's unit; if not, it is relative: 0.1 is 10 % more
	Difference float64     `json:"difference"` // estimated by Hodges–Lehmann in most methods; not the difference of the medians
	Low        *float64    `json:"low"`        // lower end of the difference's interval; nil: too few runs for a bound
	High       *float64    `json:"high"`       // upper end; nil: too few runs for a bound
	Confidence float64     `json:"confidence"` // of the interval from Low to High, after Holm
	P          float64     `json:"p"`          // p-value of a change for the worse that equals the tolerance
	Verdict    Word        `json:"verdict"`
	Needed     int         `json:"needed,omitempty"`         // pairs, or a duet's slices, that are perhaps needed; or about the runs of each side
	Pairs      []float64   `json:"pairs,omitempty"`          // differences of the single pairs, in their order; as Difference
	Least      bool        `json:"least,omitempty"`          // Needed is not a forecast, but the least number that can prove anything
	Unknown    bool        `json:"needed_unknown,omitempty"` // Needed is not a forecast: so few pairs cannot tell how many are needed, and it may be more
}

// Culprit says in which commit a metric became worse.
type Culprit struct {
	Metric  string    `json:"metric"`
	Found   bool      `json:"found"`   // Chance reaches the confidence
	Chance  float64   `json:"chance"`  // that the first worse commit is among Commits
	Pairs   int       `json:"pairs"`   // pairs that were made for it
	Commits []Suspect `json:"commits"` // the first worse commit; several if those before it were skipped, or the likely ones if none was found
}

// Suspect is a commit that may be the first worse one.
type Suspect struct {
	Commit
	Chance  float64 `json:"chance"`            // to be the first worse one
	Pairs   int     `json:"pairs"`             // pairs of this commit
	Skipped string  `json:"skipped,omitempty"` // why the commit could not be compared
	Merge   bool    `json:"merge,omitempty"`   // it has several parents
}

// Verify judges head against base. With inPairs, the i-th runs of both sides are a pair, and what
// affects both runs of a pair cancels out.
func Verify(base, head []stored.Run, inPairs bool, o Options) (Judgement, error) {
	if len(base) == 0 || len(head) == 0 {
		return Judgement{}, fmt.Errorf("there are %d base runs and %d head runs; give at least one of each", len(base), len(head))
	}
	if inPairs && len(base) != len(head) {
		return Judgement{}, fmt.Errorf("%d base runs and %d head runs are not pairs; give equally many of each", len(base), len(head))
	}
	if err := o.Check(slices.Concat(base, head)...); err != nil {
		return Judgement{}, err
	}
	o.Metrics = o.gated(head[0].Kind, slices.Concat(base, head)...)
	from, to := o.sidesOf(base, head, "base", "head")
	return judge([]match{{from, base, head, inPairs}}, to, o), nil
}

// gated returns the metrics that decide, each once. errors always decides, because errors may be fast
// answers. Default metrics that none of the runs has are left out: imported runs have no percentiles.
func (o Options) gated(kind string, runs ...stored.Run) []string {
	if len(o.Metrics) > 0 {
		return once(append(slices.Clone(o.Metrics), "errors"))
	}
	return slices.DeleteFunc(once(append(gatedMetrics(kind), o.Also...)), func(name string) bool {
		has := func(r stored.Run) bool { _, ok := r.Figures.Get(name); return ok }
		return len(runs) > 0 && !slices.ContainsFunc(runs, has)
	})
}

func once(names []string) (list []string) {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Validate reports every fault of the options at once.
func (o Options) Validate() error {
	var faults []error
	if !(o.Tolerance > 0 && o.Tolerance <= 10) {
		faults = append(faults, fmt.Errorf("the tolerance %s %% is not above 0 %% and at most 1000 %%; give one such as 5%%", stored.Decimal(o.Tolerance*100)))
	}
	if !(o.ErrorTolerance > 0 && o.ErrorTolerance <= 100) {
		faults = append(faults, fmt.Errorf("the error tolerance %s %% is not above 0 %% and at most 100 %%; give one such as 0.1%%, a tenth of a percentage point", stored.Decimal(o.ErrorTolerance)))
	}
	if !(o.Confidence >= 0.5 && o.Confidence < 1) {
		faults = append(faults, fmt.Errorf("the confidence %s %% is not from 50 %% to below 100 %%; give one such as 95%%", stored.Decimal(o.Confidence*100)))
	}
	for _, name := range o.Metrics {
		if _, ok := stored.MetricOf(name); !ok {
			faults = append(faults, fmt.Errorf("unknown metric %q; use a percentile such as p99 or service.p99, or one of %s", name, strings.Join(tableNames(), " ")))
		}
	}
	return errors.Join(faults...)
}

func tableNames() []string {
	var names []string
	for _, m := range stored.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// sidesOf names two sides by their revisions; if both names are equal, as the user does, or else a and b.
func (o Options) sidesOf(base, head []stored.Run, a, b string) (from, to Side) {
	a, b = o.names(a, b)
	if from, to = sideOf(a, base), sideOf(b, head); from.Name == to.Name {
		from.Name, to.Name = a, b
	}
	return from, to
}

// names are what the user calls the sides, or else a and b.
func (o Options) names(a, b string) (base, head string) {
	if o.Names[0] == "" || o.Names[1] == "" || o.Names[0] == o.Names[1] {
		return a, b
	}
	return o.Names[0], o.Names[1]
}

// sideOf names runs by their revision if all have the same one.
func sideOf(name string, runs []stored.Run) Side {
	side := Side{Name: name}
	revision := runs[0].Labels[stored.LabelRevision]
	for _, r := range runs {
		side.Runs = append(side.Runs, r.ID)
		if r.Labels[stored.LabelRevision] != revision {
			revision = ""
		}
	}
	if revision != "" {
		side.Name = revision
	}
	return side
}
