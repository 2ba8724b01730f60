// Package history finds the revisions at which a metric of stored runs changed: the metrics of comparable
// runs over revisions in order of date, their change points, and whether a change for the worse is
// still there.
package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// Options say what counts as a change.
type Options struct {
	Tolerance      float64  // changes up to this are ignored: 0.05 is 5 %
	ErrorTolerance float64  // Tolerance for metrics in percent, in percentage points
	Confidence     float64  // 1 − the probability of any false change, in all series together
	Detect         float64  // a series that cannot show a change of this size is inconclusive: 0.1 is 10 %
	Metrics        []string // metrics to judge, in addition to errors; empty: those that verify judges
	Lift           []string // variables, flags and labels that may differ among the runs of a series
	Accept         []string // revisions whose changes are accepted
}

// DefaultOptions are those of verify, and a change of 10 % that a series must be able to show.
func DefaultOptions() Options {
	return Options{Tolerance: 0.05, ErrorTolerance: stored.ErrorTolerance, Confidence: 0.95, Detect: 0.1}
}

// Validate reports every fault of the options at once.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !(o.Tolerance > 0 && o.Tolerance <= 10) {
		fault("the tolerance %s %% is not above 0 %% and at most 1000 %%; give one such as 5%%", stored.Decimal(o.Tolerance*100))
	}
	if !(o.ErrorTolerance > 0 && o.ErrorTolerance <= 100) {
		fault("the error tolerance %s %% is not above 0 %% and at most 100 %%; give one such as 0.1%%, a tenth of a percentage point", stored.Decimal(o.ErrorTolerance))
	}
	if !(o.Confidence >= 0.5 && o.Confidence <= mostConfidence) {
		fault("the confidence %s %% is not from 50 %% to %s %%; give one such as 95%%", stored.Decimal(o.Confidence*100), stored.Decimal(mostConfidence*100))
	}
	if !(o.Detect >= o.Tolerance && o.Detect <= 10) {
		fault("the change to detect, %s %%, is not from the tolerance, %s %%, to 1000 %%; give one such as 10%%", stored.Decimal(o.Detect*100), stored.Decimal(o.Tolerance*100))
	}
	for _, name := range o.Metrics {
		if _, ok := stored.MetricOf(name); !ok {
			fault("unknown metric %q; use a percentile such as p99 or service.p99, or one of those of takt help collate", name)
		}
	}
	return errors.Join(faults...)
}

// mostConfidence is the largest confidence: a test at level l needs 5 ÷ l draws.
const mostConfidence = 0.9999

// Word is the verdict about a series, or all of them.
type Word string

// The words. Regressed: a change for the worse is open. Inconclusive: no change is open, but the series
// could not show a change of the size to detect.
const (
	Regressed    Word = "regressed"
	Inconclusive Word = "inconclusive"
	OK           Word = "ok"
)

// History is what the stored runs say about the revisions.
type History struct {
	Verdict        Word     `json:"verdict"`
	Tolerance      float64  `json:"tolerance"`
	ErrorTolerance float64  `json:"error_tolerance_points"`
	Confidence     float64  `json:"confidence"`
	Detect         float64  `json:"detect"`
	Groups         []Group  `json:"groups"`        // newest run first
	Hidden         int      `json:"hidden_groups"` // further groups with several revisions
	Single         int      `json:"single_groups"` // groups of one revision, which are left out
	Unfit          int      `json:"unfit_runs"`    // runs from which nothing can be concluded
	Without        int      `json:"runs_without_revision"`
	Advice         []string `json:"advice"`
}

// Group contains the series of comparable runs.
type Group struct {
	Kind      string          `json:"kind"`
	Same      []query.Setting `json:"same"` // settings that identify the group
	Runs      int             `json:"runs"`
	Revisions []Revision      `json:"revisions"`       // oldest first
	Older     int             `json:"older_revisions"` // older revisions, which are left out
	Series    []Series        `json:"series"`
}

// Revision is one place on the time axis.
type Revision struct {
	Name string    `json:"revision"`
	Date time.Time `json:"date"` // label revision_date, or without it the start of the first run
	Runs int       `json:"runs"`
}

// Series is a metric over the revisions of a group. Values are in the metric's unit.
type Series struct {
	Metric   string      `json:"metric"`
	Unit     stored.Unit `json:"unit"`
	Better   string      `json:"better"`   // lower or higher
	Absolute bool        `json:"absolute"` // differences are in the metric's unit, not relative
	Verdict  Word        `json:"verdict"`
	Points   []Point     `json:"points"`
	Changes  []Change    `json:"changes"` // in order of the revisions
	Noise    Noise       `json:"noise"`
	Skipped  int         `json:"skipped_runs"` // runs without a value that can be judged
}

// Point is the metric of a revision.
type Point struct {
	At    int     `json:"at"`    // index of the revision in the group
	Value float64 `json:"value"` // median of its runs
	Low   float64 `json:"low"`   // least of its runs
	High  float64 `json:"high"`
	Level float64 `json:"level"` // median of the points from one change to the next
}

// Change is a change point: from this revision on, the level is another one.
type Change struct {
	At         int       `json:"at"` // index of the first revision of the new level
	Revision   string    `json:"revision"`
	Date       time.Time `json:"date"`
	After      string    `json:"after"`      // the change is later than this revision …
	Until      string    `json:"until"`      // … and not later than this one, by the interval of the position
	From       int       `json:"from"`       // index of After
	To         int       `json:"to"`         // index of Until
	Before     float64   `json:"before"`     // level before
	Now        float64   `json:"now"`        // level from here to the next change
	Difference float64   `json:"difference"` // estimated by Hodges–Lehmann; relative unless the series is absolute
	Low        *float64  `json:"low"`        // ends of the difference's 95 % interval; nil: too few points
	High       *float64  `json:"high"`
	Worse      bool      `json:"worse"`
	Accepted   bool      `json:"accepted"` // by Options.Accept
	Open       bool      `json:"open"`     // for the worse, not accepted, and the newest level is still worse than Before
}

// Noise says what a series can show.
type Noise struct {
	Spread      float64 `json:"spread"`      // standard deviation of points about their level; relative unless the series is absolute
	Correlation float64 `json:"correlation"` // of neighbours, as the tests assume it
	Outliers    int     `json:"outliers"`    // points farther than 4 spreads from their level
	Needed      int     `json:"needed"`      // revisions that show a change of the size to detect in 4 of 5 cases, if half of them come after it
	Missing     int     `json:"missing"`     // Needed − the revisions that there are; 0: there are enough
	Delay       int     `json:"delay"`       // revisions after which such a change shows from now on; 0: the newest level has too few
}
