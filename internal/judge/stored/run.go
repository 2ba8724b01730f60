// Package stored is a run as queries see it: settings, labels and figures, without histograms. It is
// the only place that knows the kinds of load and their metrics.
package stored

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Run is a stored run as queries, collate and verify see it: its report without histograms and
// intervals. Stores return hundreds of thousands of runs per second, so runs share what is equal.
type Run struct {
	ID        string
	Kind      string
	StartedAt time.Time
	Settings  *Settings // shared by runs with equal settings; read-only
	Labels    map[string]string
	Key       string // comparability_key
	Group     string // schedule.run_group
	Shard     string // schedule.shard
	Unfit     string // why nothing can be concluded from the run; "": it can be judged
	Figures   Figures
}

// IsDigest reports whether a variable is the digest of a content. An error that names the variable must
// not tell its value: it would say which content is right.
func IsDigest(variable string) bool { return strings.HasSuffix(variable, "_sha256") }

// Settings are the variables of a report and the class of its host. They must be equal for two runs
// to be comparable.
type Settings struct {
	Hash      string // equal for equal settings
	Variables map[string]any
	Host      string // generator.host_class
}

// NewSettings creates settings with their hash. The hash is that of their JSON, so the Go type of a
// number does not matter.
func NewSettings(variables map[string]any, host string) *Settings {
	return &Settings{Hash: HashOf(variables, host), Variables: variables, Host: host}
}

// HashOf returns the hash of settings.
func HashOf(variables map[string]any, host string) string {
	b, err := json.Marshal([]any{variables, host})
	if err != nil {
		return "" // cannot happen: variables are plain values
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Flags are the settings of the server under test, by name.
func (s *Settings) Flags() map[string]any {
	flags, _ := s.Variables["flags"].(map[string]any)
	return flags
}

// RunOf returns a report as queries see it.
func RunOf(r *takt.Report) Run {
	return Run{
		ID: r.ID, Kind: r.Kind, StartedAt: r.StartedAt, Labels: r.Labels, Key: r.ComparabilityKey,
		Settings: NewSettings(r.Variables, r.Generator.HostClass),
		Group:    r.Schedule.RunGroup, Shard: r.Schedule.Shard,
		Unfit: unfit(r), Figures: FiguresOf(r),
	}
}

// Run.Unfit of an invalid run starts with invalidRun. If the run was also cut short, bothIs and that
// reason follow.
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
	case takt.IsShard(r.Schedule.Shard):
		return "it is shard " + r.Schedule.Shard + " of a run; takt merge combines them into one report"
	case r.Counts.OK == 0:
		return "not one operation succeeded"
	}
	return ""
}

// CutShort says why the report is not about the whole run; "": it is.
func CutShort(r *takt.Report) string {
	for _, w := range r.Warnings {
		switch w.Code {
		case warn.Cancelled, warn.Aborted, warn.BrokeOff, warn.Recovered, warn.ShardsMissing, warn.NotComparable:
			return w.Message
		}
	}
	return ""
}

// Target names what the run loaded, as its variables do; "": they do not say it.
func (r *Run) Target() string {
	text := func(name string) string { s, _ := r.Settings.Variables[name].(string); return s }
	target := cmp.Or(text("host")+text("path"), text("apm_host"), text("topic"), text("destinations"), text("log"))
	return strings.TrimSpace(Program(r.Settings.Variables) + " " + target)
}

// Program is the name of the program that performed the operations of a run with these variables; "":
// takt itself did.
func Program(variables map[string]any) string {
	name, _ := variables["name"].(string)
	switch {
	case name == "command-line-arguments": // it was built from a list of files
		return ""
	case name == "", strings.Contains(name, " "): // a text of load.Plan.Name
		return name
	}
	return path.Base(name) // of a main package
}

// Invalid reports whether the verdict of the run is invalid.
func (r *Run) Invalid() bool { return strings.HasPrefix(r.Unfit, invalidRun) }

// InvalidOnly reports whether nothing but its verdict is wrong with the run.
func (r *Run) InvalidOnly() bool { return r.Invalid() && !strings.Contains(r.Unfit, bothIs) }

// Figures are the measured values of a run, by name of the metric. Runs share the list of names.
type Figures struct {
	Names  []string
	Values []float64
}

// Get returns the figure of that name.
func (f Figures) Get(name string) (v float64, ok bool) {
	for i, n := range f.Names {
		if n == name && i < len(f.Values) { // a damaged store may return fewer values
			return f.Values[i], true
		}
	}
	return 0, false
}

// Query says which runs a store returns. An empty field does not restrict them.
type Query struct {
	IDs    []string
	Kind   string
	Group  string            // schedule.run_group
	Since  time.Time         // started then or later
	Labels map[string]string // equal in the run
	Match  func(*Run) bool   // applied after the other conditions
	Limit  int               // only the newest Limit runs; 0: all
}
