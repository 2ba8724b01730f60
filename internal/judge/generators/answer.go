package generators

import (
	"slices"
	"time"
)

// Schema is the version of the JSON of an Answer.
const Schema = 1

// Answer is what takt judge found.
type Answer struct {
	SchemaVersion int            `json:"schema_version"`
	Takt          string         `json:"takt"` // version
	StartedAt     time.Time      `json:"started_at"`
	Host          map[string]any `json:"host"`
	Rate          float64        `json:"rate_per_s"` // asked of the generators
	Duration      float64        `json:"duration_s"` // of most runs
	Repeats       int            `json:"repeats"`
	Generators    []Generator    `json:"generators"`
}

// Generator is a command and its trials.
type Generator struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Command []string `json:"command"` // with placeholders
	Notes   []string `json:"notes,omitempty"`
	Trials  []Trial  `json:"trials"`
}

// Trial is a generator against a target with one pathology.
type Trial struct {
	Pathology   string     `json:"pathology"`
	Connections int        `json:"connections"`
	Weak        bool       `json:"weak,omitempty"`     // the generator was stopped or had too little CPU: its own words count
	LeftOut     string     `json:"left_out,omitempty"` // why there are no runs
	Command     []string   `json:"command,omitempty"`  // of the first run
	Runs        []TrialRun `json:"runs,omitempty"`
	Cells       []Cell     `json:"cells,omitempty"`
}

// TrialRun is one run of a trial.
type TrialRun struct {
	Said   Said    `json:"said"`
	Unread string  `json:"unread,omitempty"` // why nothing is known of what it said
	Exit   string  `json:"exit"`             // how the process ended: "exit status 0"
	Failed bool    `json:"failed,omitempty"` // the exit code is not 0
	Served Served  `json:"served"`
	Felt   Felt    `json:"felt"`
	CPU    float64 `json:"cpu_us_per_request"`
	Memory int64   `json:"memory_bytes"` // sum of the peaks of its processes; 0: unknown
}

// Served is the record of the target. Times are in ms.
type Served struct {
	Requests    float64 `json:"requests"`
	Answered    float64 `json:"answered"`        // with a good answer
	Broken      float64 `json:"broken"`          // reset or closed instead
	Rate        float64 `json:"rate_per_s"`      // of the arrivals, from the first to the last
	Whole       float64 `json:"whole_per_s"`     // answers in the time from the first arrival to the last answer
	LateP50     float64 `json:"late_p50_ms"`     // of the arrivals, after the schedule
	LateP99     float64 `json:"late_p99_ms"`     //
	TargetP99   float64 `json:"target_p99_ms"`   // lateness of the target itself, in ms: it read requests, or sent answers, too late
	TargetWorst float64 `json:"target_worst_ms"` //
}

// Felt is what users of the schedule feel. Times are in ms.
type Felt struct {
	Due    float64 `json:"due"` // requests
	Broken float64 `json:"broken"`
	P50    float64 `json:"p50_ms"`
	P90    float64 `json:"p90_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
}

// State is what is wrong with a figure.
type State string

// The states.
const (
	Right      State = "right"
	Wrong      State = "wrong"       // by Off
	Silent     State = "silent"      // the generator says nothing of what happened
	Admitted   State = "admitted"    // wrong, and the generator itself says that the run is invalid, or what it did not send
	NotPrinted State = "not_printed" // the generator has no such figure
	Unclear    State = "unclear"     // the target was late itself, so there is no truth to compare with
)

// States are all states, in the order of summaries.
func States() []State { return []State{Right, Wrong, Silent, Admitted, NotPrinted, Unclear} }

// The figures of a cell, besides those of package generators.
const (
	Sent    = "sent"    // requests that arrived, of those that were due
	Spacing = "spacing" // p99 of how late requests arrived, after the schedule
)

// Figures are all figures of cells, in the order of tables.
func Figures() []string {
	return []string{Sent, Spacing, Answered, Errors, Rate, P50, P90, P99, Max, Words}
}

// Cell is one figure of a trial.
type Cell struct {
	Figure string   `json:"figure"`
	State  State    `json:"state"`
	Said   *float64 `json:"said,omitempty"` // median of the runs; of sent and spacing: what the target recorded
	True   *float64 `json:"true,omitempty"`
}

// Off is by how much the figure is wrong.
func (c *Cell) Off() float64 {
	if c.Said == nil || c.True == nil {
		return 0
	}
	return *c.Said - *c.True
}

// Cell is the cell of a figure; nil: there is none.
func (t *Trial) Cell(figure string) *Cell {
	for i := range t.Cells {
		if t.Cells[i].Figure == figure {
			return &t.Cells[i]
		}
	}
	return nil
}

// Count counts the cells of each state.
func (g *Generator) Count() map[State]int {
	n := map[State]int{}
	for i := range g.Trials {
		for _, c := range g.Trials[i].Cells {
			n[c.State]++
		}
	}
	return n
}

// Count counts the cells of each state, of all generators.
func (a *Answer) Count() map[State]int {
	n := map[State]int{}
	for i := range a.Generators {
		for s, k := range a.Generators[i].Count() {
			n[s] += k
		}
	}
	return n
}

// Join adds an answer with other runs. A generator that both have, with the same load, gets the runs of both, and its
// trials are judged again.
func (a *Answer) Join(b Answer) {
	for _, g := range b.Generators {
		i := slices.IndexFunc(a.Generators, func(have Generator) bool { return have.joins(&g) })
		if i < 0 {
			a.Generators = append(a.Generators, g)
			continue
		}
		a.Generators[i].join(&g)
	}
	for i := range a.Generators {
		_, most := a.Generators[i].Runs()
		a.Repeats = max(a.Repeats, most)
	}
}

// joins reports whether both are one generator whose trials had the same load.
func (g *Generator) joins(other *Generator) bool {
	return g.Name == other.Name && g.Version == other.Version && slices.Equal(g.Command, other.Command) &&
		!slices.ContainsFunc(other.Trials, func(t Trial) bool {
			have := g.Trial(t.Pathology, t.Connections)
			return have != nil && have.Runs != nil && t.Runs != nil && have.Runs[0].Felt.Due != t.Runs[0].Felt.Due
		})
}

// join adds the runs of the same generator.
func (g *Generator) join(other *Generator) {
	for _, t := range other.Trials {
		have := g.Trial(t.Pathology, t.Connections)
		switch {
		case have == nil:
			g.Trials = append(g.Trials, t)
		case t.Runs == nil:
		case have.Runs == nil:
			*have = t
		default:
			have.Runs, have.Cells = append(have.Runs, t.Runs...), nil
			Judge(have)
		}
	}
}

// Trial is the one with a pathology and a load; nil: there is none.
func (g *Generator) Trial(pathology string, connections int) *Trial {
	for i := range g.Trials {
		if t := &g.Trials[i]; t.Pathology == pathology && t.Connections == connections {
			return t
		}
	}
	return nil
}

// Runs are the least and the most runs of its trials. A trial that was left out has none, and does not count.
func (g *Generator) Runs() (least, most int) {
	for i := range g.Trials {
		if n := len(g.Trials[i].Runs); n > 0 {
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
		}
	}
	return least, most
}

// Lies is the number of cells that mislead: wrong or silent.
func (a *Answer) Lies() int {
	n := a.Count()
	return n[Wrong] + n[Silent]
}

// Unclear is the number of cells without a truth.
func (a *Answer) Unclear() int { return a.Count()[Unclear] }
