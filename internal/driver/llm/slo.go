package llm

import (
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// metric is a figure of a request that an SLO limits.
type metric uint8

// The metrics.
const (
	ttft   metric = iota // due to the first token
	ttfo                 // due to the first token that is no reasoning
	maxGap               // longest time between two parts with output
	tpot                 // time per output token after the first
	e2e                  // due to the end
	metricCount
)

func metricNames() []string { return []string{"ttft", "ttfo", "maxgap", "tpot", "e2e"} }

// slo is a condition of one request.
type slo struct {
	text  string
	of    metric
	below time.Duration
}

// span is what is known of a figure: low ≤ figure ≤ high.
type span struct{ low, high time.Duration }

// exactly is a figure that is known.
func exactly(d time.Duration) span { return span{d, d} }

// figures are those of one request.
type figures [metricCount]span

// readSLOs takes the conditions.
func (o *Options) readSLOs() error {
	o.slos = nil
	for _, given := range o.SLOs {
		for text := range strings.SplitSeq(given, ",") {
			s, err := parseSLO(strings.TrimSpace(text))
			if err != nil {
				return err
			}
			o.slos = append(o.slos, s)
		}
	}
	return nil
}

func parseSLO(text string) (slo, error) {
	name, limit, found := strings.Cut(text, "<")
	of := slices.Index(metricNames(), strings.TrimSpace(name))
	if metric, of, _ := strings.Cut(name, "."); of != "" && slices.Contains(metricNames(), metric) || strings.HasPrefix(text, "goodput>") {
		return slo{}, value.Faultf("--slo %q is about the run, and --slo has conditions of each request; write --assert '%s'", text, text)
	}
	if !found || of < 0 {
		return slo{}, value.Faultf("--slo %q is no condition; write NAME<TIME with %s, such as ttft<300ms", text, strings.Join(metricNames(), ", "))
	}
	below, err := schedule.ParseDuration(strings.TrimSpace(limit))
	if err != nil || below <= 0 {
		return slo{}, value.Faultf("--slo %q has no time above 0 after <; write for example %s<300ms", text, strings.TrimSpace(name))
	}
	return slo{text, metric(of), below}, nil
}

// Goal is all conditions.
func (o *Options) Goal() string {
	var all []string
	for _, s := range o.slos {
		all = append(all, s.text)
	}
	return strings.Join(all, ",")
}

// misses reports whether the condition is certainly not met, and whether that is not known.
func (s slo) misses(f *figures) (missed, unknown bool) {
	return f[s.of].low >= s.below, f[s.of].low < s.below && f[s.of].high >= s.below
}
