package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// modelled is a run of takt llm without a fault.
func modelled() *Scenario {
	return &Scenario{
		Mode: modeLoop, Rate: 200, Duration: 100 * time.Millisecond, Loops: 1, InFlight: 100, Room: unbounded, Drain: time.Second, Timeout: time.Second,
		ConnectTimeout: time.Second, Service: time.Millisecond, Parts: 10, Gap: 3 * time.Millisecond, Model: true,
	}
}

// The oracle of takt llm detects wrong tokens, goodput, classes and latencies.
func TestOracleOfModels(t *testing.T) {
	extra := func(name string, v any) func(*checker, *takt.Report) {
		return func(_ *checker, rep *takt.Report) { rep.Extra[tokens.Key].(map[string]any)[name] = v }
	}
	rows := func(change func(r *takt.Sample)) func(*checker, *takt.Report) {
		return func(k *checker, _ *takt.Report) {
			for i := range k.rows {
				change(&k.rows[i])
			}
		}
	}
	for name, c := range map[string]struct {
		kind  string
		spoil func(*checker, *takt.Report)
	}{
		"tokens of output":      {"tokens", extra("output_tokens", 3.0)},
		"tokens of prompts":     {"tokens", extra("input_tokens", 3.0)},
		"answers at the limit":  {"tokens", extra("length", 0.0)},
		"where tokens are from": {"tokens", extra("tokens_from", "usage")},
		"the rate":              {"tokens", extra("output_tokens_per_s", 1.0)},
		"good ones":             {"goodput", func(_ *checker, rep *takt.Report) { rep.Goodput.Good++ }},
		"missed ones":           {"goodput", func(_ *checker, rep *takt.Report) { rep.Goodput.Missed["e2e<20ms"]++ }},
		"a class":               {"class", func(k *checker, _ *takt.Report) { k.rows[0].Class = "cut" }},
		"content too early":     {"parts", rows(func(r *takt.Sample) { r.Timed[engine.RowOwn+1] -= time.Millisecond })},
		"content too late":      {"parts", rows(func(r *takt.Sample) { r.Timed[engine.RowOwn+1] += 5 * time.Millisecond })},
		"silence before a cut":  {"parts", rows(func(r *takt.Sample) { r.Timed[engine.RowMaxGap] -= 5 * time.Millisecond })},
		"time per token":        {"parts", rows(func(r *takt.Sample) { r.Timed[engine.RowOwn] += 5 * time.Millisecond })},
	} {
		sc := modelled()
		if strings.HasSuffix(name, "cut") {
			sc.Unended = 1
		}
		if o := run(3, sc); len(o.Faults) > 0 {
			t.Errorf("%s: without a falsification the oracle says %v", name, o.Faults)
		}
		sc.spoil = c.spoil
		if o := run(3, sc); !slices.ContainsFunc(o.Faults, func(f Fault) bool { return f.Kind == c.kind }) {
			t.Errorf("%s: the oracle says %v", name, o.Faults)
		}
	}
}
