package elastic

import (
	"encoding/json"
	"fmt"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// doc is a run as the cluster keeps it: the report, what takt lists of it, and both
// only for takt; beside them what the cluster searches and what dashboards show.
type doc struct {
	Report []byte `json:"report,omitempty"` // JSON, packed with gzip; base64 here
	Run    string `json:"run"`              // a listed, as JSON

	Order        string                  `json:"order,omitempty"` // started_at and id: sorts, and no two are equal
	Kind         string                  `json:"kind,omitempty"`
	StartedAt    string                  `json:"started_at,omitempty"`
	Labels       []string                `json:"labels,omitempty"` // NAME=VALUE
	Branch       string                  `json:"branch,omitempty"`
	Revision     string                  `json:"revision,omitempty"`
	RevisionDate string                  `json:"revision_date,omitempty"`
	Key          string                  `json:"comparability_key,omitempty"`
	Host         string                  `json:"host_class,omitempty"`
	Verdict      takt.Verdict            `json:"verdict,omitempty"`
	DurationS    float64                 `json:"duration_s"`
	Counts       takt.Counts             `json:"counts"`
	Rate         takt.Rate               `json:"rate_per_s"`
	Latency      map[string]takt.Latency `json:"latency,omitempty"`
}

// listed is stored.Run as JSON.
type listed struct {
	ID        string            `json:"id"`
	Kind      string            `json:"kind"`
	StartedAt string            `json:"started_at"`
	Hash      string            `json:"hash"`
	Variables json.RawMessage   `json:"variables"`
	Host      string            `json:"host"`
	Labels    map[string]string `json:"labels,omitempty"`
	Key       string            `json:"key,omitempty"`
	Group     string            `json:"group,omitempty"`
	Shard     string            `json:"shard,omitempty"`
	Unfit     string            `json:"unfit,omitempty"`
	Names     []string          `json:"names"`
	Values    []float64         `json:"values"`
}

func newDoc(p *document.Packed) (*doc, error) {
	run, r := &p.Run, p.Report
	variables, err := json.Marshal(run.Settings.Variables)
	if err != nil {
		return nil, err
	}
	started := document.Stamp(run.StartedAt)
	text, err := json.Marshal(listed{
		ID: run.ID, Kind: run.Kind, StartedAt: started, Hash: run.Settings.Hash, Variables: variables, Host: run.Settings.Host,
		Labels: run.Labels, Key: run.Key, Group: run.Group, Shard: run.Shard, Unfit: run.Unfit,
		Names: run.Figures.Names, Values: run.Figures.Values,
	})
	if err != nil {
		return nil, err
	}
	d := &doc{
		Report: p.Gzip, Run: string(text),
		Order: started + " " + run.ID, Kind: run.Kind, StartedAt: started,
		Branch: run.Labels[stored.LabelBranch], Revision: run.Labels[stored.LabelRevision], RevisionDate: run.Labels[stored.LabelRevisionDate],
		Key: run.Key, Host: run.Settings.Host, Verdict: r.Verdict,
		DurationS: r.DurationS, Counts: r.Counts, Rate: r.Rate, Latency: map[string]takt.Latency{},
	}
	for name, value := range run.Labels {
		d.Labels = append(d.Labels, name+"="+value)
	}
	for _, name := range latencies() {
		if l, ok := r.Latency[name]; ok {
			d.Latency[name] = l
		}
	}
	return d, nil
}

// run makes the run again. Runs with equal settings share them in known.
func (l *listed) run(known map[string]*stored.Settings) (run stored.Run, err error) {
	if n, m := len(l.Values), len(l.Names); n != m {
		return run, fmt.Errorf("it has %d figures, and %d names for them", n, m)
	}
	s := known[l.Hash]
	if s == nil {
		s = &stored.Settings{Hash: l.Hash, Host: l.Host}
		if s.Variables, err = document.Variables(l.Variables); err != nil {
			return run, err
		}
		known[l.Hash] = s
	}
	run = stored.Run{
		ID: l.ID, Kind: l.Kind, Settings: s, Labels: l.Labels, Key: l.Key, Group: l.Group, Shard: l.Shard, Unfit: l.Unfit,
		Figures: stored.Figures{Names: l.Names, Values: l.Values},
	}
	run.StartedAt, err = document.Time(l.StartedAt)
	return run, err
}
