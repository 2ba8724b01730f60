package analysis

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Run is a stored run as queries, collate and verify see it: its report without
// histograms and intervals. Stores give hundreds of thousands of them in a second, so
// what runs have in common is shared.
type Run struct {
	ID        string
	Kind      string
	StartedAt time.Time
	Settings  *Settings // shared by runs with equal settings; not to be changed
	Labels    map[string]string
	Key       string // comparability_key
	Group     string // schedule.run_group
	Shard     string // schedule.shard
	Unfit     string // why it cannot be judged, a sentence; "": it can
	Figures   Figures
}

// Settings are the variables of a report and the class of its host: what has to be
// equal for two runs to be compared.
type Settings struct {
	Hash      string // equal for equal settings
	Variables map[string]any
	Host      string // generator.host_class
}

// NewSettings makes settings with their hash. Numbers may be of any type: as JSON
// they are equal.
func NewSettings(variables map[string]any, host string) *Settings {
	return &Settings{Hash: hash(variables, host), Variables: variables, Host: host}
}

func hash(variables map[string]any, host string) string {
	b, err := json.Marshal([]any{variables, host})
	if err != nil {
		return "" // variables are plain values: cannot happen
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Flags are the settings of the server under test, by name.
func (s *Settings) Flags() map[string]any {
	flags, _ := s.Variables["flags"].(map[string]any)
	return flags
}

// RunOf is what queries see of a report.
func RunOf(r *takt.Report) Run {
	return Run{
		ID: r.ID, Kind: r.Kind, StartedAt: r.StartedAt, Labels: r.Labels, Key: r.ComparabilityKey,
		Settings: NewSettings(r.Variables, r.Generator.HostClass),
		Group:    r.Schedule.RunGroup, Shard: r.Schedule.Shard,
		Unfit: unfit(r), Figures: FiguresOf(r),
	}
}

// invalidRun begins Run.Unfit of an invalid run; what follows bothIs says what else is
// wrong with it.
const (
	invalidRun = "the run is invalid"
	bothIs     = "; "
)

// unfit says why nothing can be concluded from a run. A run can be invalid and cut short.
func unfit(r *takt.Report) string {
	var why []string
	if r.Verdict == takt.Invalid {
		why = append(why, invalidRun+": "+verdict.Reason(r.Warnings))
	}
	if s := CutShort(r); s != "" {
		why = append(why, s)
	}
	switch {
	case why != nil:
		return strings.Join(why, bothIs)
	case r.Schedule.Shard != "" && r.Schedule.Shard != "1/1":
		return "it is shard " + r.Schedule.Shard + " of a run; takt merge makes one report of them"
	case r.Counts.OK == 0:
		return "not one operation succeeded"
	}
	return ""
}

// CutShort says why the report is not that of the whole run; "" if it is.
func CutShort(r *takt.Report) string {
	for _, w := range r.Warnings {
		switch w.Code {
		case "cancelled", "aborted", "broke_off", "recovered", "shards_missing", "not_comparable":
			return w.Message
		}
	}
	return ""
}

// Invalid reports whether the verdict of the run is invalid.
func (r *Run) Invalid() bool { return strings.HasPrefix(r.Unfit, invalidRun) }

// InvalidOnly reports whether nothing but its verdict is wrong with the run.
func (r *Run) InvalidOnly() bool { return r.Invalid() && !strings.Contains(r.Unfit, bothIs) }

// Figures are the measured values of a run, by the names of the table of metrics.
// Runs share the list of names.
type Figures struct {
	Names  []string
	Values []float64
}

// Get is the figure of that name.
func (f Figures) Get(name string) (v float64, ok bool) {
	for i, n := range f.Names {
		if n == name && i < len(f.Values) { // a damaged store may give fewer
			return f.Values[i], true
		}
	}
	return 0, false
}

// Query says which runs a store is to give. What is empty does not restrict.
type Query struct {
	IDs    []string
	Kind   string
	Since  time.Time         // started at it or later
	Labels map[string]string // equal
	Match  func(*Run) bool   // held against what is left
	Limit  int               // the newest so many; 0: all
}
