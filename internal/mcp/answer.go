package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Limits of the lists in an answer.
const (
	mostErrors = 5
	mostStalls = 10
	mostOthers = 10 // latencies besides response and service
	mostSteps  = 80
)

// decode reads the JSON of a command into v. An error in its place is an error.
func decode(out []byte, v any) error {
	var failed struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(out, &failed); err != nil {
		return err
	}
	if failed.Error != "" {
		return errors.New(failed.Error)
	}
	return json.Unmarshal(out, v)
}

// runAnswer is the report of a run, or of a search for a capacity.
func runAnswer(out []byte) (*result, error) {
	var r takt.Report
	if err := decode(out, &r); err != nil {
		return nil, err
	}
	if r.Kind == stored.KindCapacity {
		return capacityAnswer(&r)
	}
	word, _, sentence := report.Headline(&r)
	claims := report.Claims(&r)
	found := &result{words: append([]string{page.Clean(sentence)}, claimWords(claims)...)}
	if r.Verdict != takt.Invalid {
		found.words[0] = "Verdict " + word + ": " + found.words[0]
	}
	for _, w := range r.Warnings {
		found.words = append(found.words, "Warning: "+page.Clean(w.Message))
	}
	found.structured = map[string]any{
		"verdict": word, "claims": claims, "run": r.ID, "kind": r.Kind, "target": report.Target(&r), "started_at": r.StartedAt, "labels": r.Labels,
		"duration_s": r.DurationS, "rate_per_s": r.Rate, "counts": r.Counts, "status": r.Status, "errors": errorsOf(&r), "warnings": warningsOf(&r),
	}
	if r.Verdict == takt.Invalid {
		found.words = append(found.words, "Latencies, stalls and assertions are left out, since takt or its host shaped them.")
		return found, nil
	}
	for _, a := range r.Assertions {
		found.words = append(found.words, page.Clean(a.String()))
	}
	found.add(&r)
	return found, nil
}

// add adds the figures of a valid run.
func (found *result) add(r *takt.Report) {
	found.structured["stalls"], found.structured["stalls_count"] = r.Stalls[:min(len(r.Stalls), mostStalls)], len(r.Stalls)
	if n := len(r.Stalls); n > 0 {
		longest := slices.MaxFunc(r.Stalls, func(a, b takt.Stall) int { return cmp.Compare(a.LongestUS, b.LongestUS) })
		found.words = append(found.words, fmt.Sprintf("Seen: %s in which the target answered nothing; the longest wait was %s, from %s on.", page.Plural(n, "stall"), figure.Micros(longest.LongestUS), figure.Micros(1e6*longest.FromS)))
	}
	if r.Assertions != nil {
		found.structured["assertions"] = r.Assertions
	}
	if r.Overload != nil {
		found.structured["overload"] = r.Overload
		found.words = append(found.words, "Latencies are left out: those of an overloaded target grow with the length of the run.")
		return
	}
	all, notes := latenciesOf(r)
	found.structured["latency"] = all
	found.words = append(found.words, notes...)
}

// claimWords are claims as sentences.
func claimWords(claims []takt.Claim) (words []string) {
	for _, c := range claims {
		lead, level := "Unknown: ", ""
		if c.Supported {
			lead = "Supported: "
		}
		if c.Level > 0 {
			level = " (" + proof.Words(c.Level) + ")"
		}
		words = append(words, lead+page.Clean(c.Text)+level)
	}
	return words
}

func errorsOf(r *takt.Report) []map[string]any {
	list := []map[string]any{}
	for _, e := range r.Errors[:min(len(r.Errors), mostErrors)] {
		list = append(list, map[string]any{"class": e.Class, "count": e.Count, "sample": page.Clean(e.Sample)})
	}
	return list
}

func warningsOf(r *takt.Report) []string {
	list := []string{}
	for _, w := range r.Warnings {
		list = append(list, string(w.Code))
	}
	return list
}

// latenciesOf are the percentiles of a valid run, without those that say nothing of the target: a percentile that
// cannot be told from the maximum, and one that is takt's own lateness. notes say which.
func latenciesOf(r *takt.Report) (all map[string]any, notes []string) {
	all = map[string]any{}
	names := report.Columns(r)
	for _, name := range slices.Sorted(maps.Keys(r.Latency)) {
		own := []string{takt.LatencySendDelay, takt.LatencyScheduleLag, takt.LatencyOnTime, takt.LatencyResponseOK, "client_dial"}
		if !slices.Contains(names, name) && !slices.Contains(own, name) && len(all)+len(names) < mostOthers {
			names = append(names, name)
		}
	}
	for i, name := range names {
		l := r.Latency[name]
		shown := map[string]any{"count": l.Count}
		onTime, known := stored.OnTime(r, name)
		for _, p := range append(proof.Intervals(&l), proof.Shown{P: 0, Name: "max", Field: "max_us", Value: l.Max}) {
			switch {
			case p.P > 0 && proof.IsMax(p.P, l.Count):
			case i == 0 && known && verdict.Own(p.Value, stored.Statistic(onTime, p.Name)):
				notes = append(notes, fmt.Sprintf("The %s of the %s time is left out: it is takt's own lateness; without it, it is %s.", p.Name, name, figure.Micros(stored.Statistic(onTime, p.Name))))
			default:
				shown[p.Field] = figure.Round(p.Value, 4)
				if p.Range != nil {
					shown[strings.TrimSuffix(p.Field, "_us")+"_interval_us"] = []float64{figure.Round(p.Range.Low, 4), figure.Round(p.Range.High, 4)}
				}
			}
		}
		all[name] = shown
	}
	return all, notes
}

// capacityAnswer is the answer of a search.
func capacityAnswer(r *takt.Report) (*result, error) {
	c, err := capacity.In(r)
	if err != nil {
		return nil, err
	}
	words := answer.CapacityWords(c)
	word, known := "limit not known", c.Known()
	switch {
	case c.Ended == capacity.EndNone:
		word = "met at no rate"
	case known && c.Confidence > 0:
		word = "limit found"
	case known && c.Interval.High != nil:
		word = "limit between two rates"
	}
	claims := []takt.Claim{{Text: words[0], Supported: known}}
	if !known {
		claims[0].Text = "the highest rate that meets the objective (the search was not sure)" // its rates would be taken for an answer
	}
	steps := []map[string]any{}
	for _, s := range c.Steps[:min(len(c.Steps), mostSteps)] {
		one := map[string]any{"offered_per_s": s.Offered, "run": s.ReportID, "counts": c.Counts(s)}
		if c.Counts(s) { // what takt itself shaped would be taken for a result
			one["completed_per_s"], one["met"], one["reason"] = s.Completed, s.Met, page.Clean(s.Reason)
		}
		steps = append(steps, one)
	}
	found := &result{words: append([]string{"Capacity, " + word + "."}, append(claimWords(claims), words[1:]...)...)}
	for _, w := range r.Warnings {
		found.words = append(found.words, "Warning: "+page.Clean(w.Message))
	}
	found.structured = map[string]any{
		"verdict": word, "claims": claims, "run": r.ID, "target": report.Target(r), "slo": c.SLO, "limited_by": c.LimitedBy, "confidence": c.Confidence,
		"ended": c.Ended, "steps": steps, "warnings": warningsOf(r),
	}
	if known {
		found.structured["interval_per_s"], found.structured["machines"] = c.Interval, c.Machines
	}
	switch {
	case known && c.Confidence > 0:
		found.structured["sustainable_per_s"] = c.Sustainable
	case known && c.Sustainable > 0:
		found.structured["met_up_to_per_s"] = c.Sustainable // not the limit
	}
	return found, nil
}

// verifyAnswer is the judgement of two servers.
func verifyAnswer(out []byte) (*result, error) {
	var j verify.Judgement
	if err := decode(out, &j); err != nil {
		return nil, err
	}
	if len(j.Comparisons) == 0 {
		return nil, errors.New("the judgement compares nothing")
	}
	c := j.Comparisons[0]
	claims := findingClaims(c.Findings, j.Tolerance, j.ErrorTolerance)
	found := &result{words: append([]string{"Verdict " + string(j.Verdict) + ": " + map[verify.Word]string{
		verify.Regressed: "head is worse than base.", verify.Inconclusive: "it is not known whether head is worse; do not say that it is as good.",
		verify.OK: "head is not worse than base by more than the tolerance.",
	}[j.Verdict]}, claimWords(claims)...)}
	found.words = append(found.words, j.Advice...)
	found.structured = map[string]any{"verdict": j.Verdict, "claims": claims, "metrics": findings(c.Findings), "base": c.Base.Name, "head": j.Head.Name, "tolerance": j.Tolerance}
	return found, nil
}

// compareAnswer is the difference of two runs, or of two groups.
func compareAnswer(out []byte) (*result, error) {
	var c verify.Contrast
	if err := decode(out, &c); err != nil {
		return nil, err
	}
	claims := findingClaims(c.Findings, c.Tolerance, c.ErrorTolerance)
	word := "each metric by itself"
	if c.Verdict == verify.Inconclusive || len(c.Unfit) > 0 {
		word, claims = "inconclusive", []takt.Claim{{Text: "whether the two differ other than by chance"}}
	}
	found := &result{words: append([]string{"Verdict: " + word + "."}, claimWords(claims)...)}
	for _, u := range c.Unfit {
		found.words = append(found.words, "Proves nothing: "+page.Clean(u))
	}
	if len(c.Differing) > 0 {
		found.words = append(found.words, "The runs are not the same in: "+page.Clean(strings.Join(c.Differing, ", "))+"; a difference may be from that.")
	}
	found.words = append(found.words, c.Advice...)
	found.structured = map[string]any{"verdict": word, "claims": claims, "metrics": findings(c.Findings), "base": c.Base, "head": c.Head, "differing": c.Differing, "unfit": c.Unfit}
	return found, nil
}

// findingClaims say what is known of each metric.
func findingClaims(list []verify.Finding, tolerance, points float64) (claims []takt.Claim) {
	for _, f := range list {
		cells := answer.FindingCells(f)
		figures := fmt.Sprintf("base %s, head %s, difference %s, interval %s", cells[1], cells[2], cells[3], cells[4])
		c := takt.Claim{Supported: true, Level: f.Confidence}
		within := page.Short(100*tolerance) + " %"
		if f.Absolute {
			within = page.Short(points) + " points"
		}
		switch f.Verdict {
		case verify.Regressed:
			c.Text = f.Metric + " is worse in head: " + figures
		case verify.OK:
			c.Text = f.Metric + " is not worse in head by more than " + within + ": " + figures
		case verify.Improved:
			c.Text = f.Metric + " is better in head: " + figures
		default:
			c = takt.Claim{Text: "whether " + f.Metric + " is worse in head (" + figures + ")"}
		}
		claims = append(claims, c)
	}
	return claims
}

// findings are the figures of metrics.
func findings(list []verify.Finding) []map[string]any {
	all := []map[string]any{}
	for _, f := range list {
		all = append(all, map[string]any{"metric": f.Metric, "unit": f.Unit, "base": f.Base, "head": f.Head, "absolute": f.Absolute, "difference": f.Difference, "low": f.Low, "high": f.High, "verdict": f.Verdict})
	}
	return all
}

// runsAnswer is the list of stored runs, without latencies: those of an overloaded or late run would be taken for
// the target's, and show tells them apart.
func runsAnswer(out []byte) (*result, error) {
	var list []answer.Listed
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, err
	}
	all := make([]map[string]any, 0, len(list))
	for _, r := range list {
		one := map[string]any{"run": r.ID, "kind": r.Kind, "started_at": r.StartedAt, "verdict": r.Verdict, "labels": r.Labels}
		for _, name := range []string{"method", "scheme", "host", "path", "rate_per_s", "duration_s", "slo"} {
			if v, has := r.Variables[name]; has {
				one[name] = v
			}
		}
		switch {
		case r.Kind == stored.KindCapacity:
			one["verdict"] = "show says what the search found"
		case r.Verdict == string(takt.Valid):
			delete(r.Figures, "p50")
			delete(r.Figures, "p99")
			one["figures"] = r.Figures
		}
		all = append(all, one)
	}
	return &result{words: []string{page.Plural(len(list), "run") + ", the newest first."}, structured: map[string]any{"runs": all}}, nil
}

// bounded is a buffer that forgets what is beyond its limit.
type bounded struct {
	bytes.Buffer
	most int
	full bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		b.full = true
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}
