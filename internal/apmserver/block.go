package apmserver

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// producesMore is hey-apm's index ratio below which the server is faster than the cluster.
const producesMore = 0.9

// Block writes the report of a trial in hey-apm's form, with response times in addition.
// words are the words of the test as typed.
func Block(to io.Writer, r *takt.Report, words []string) error {
	var b strings.Builder
	x := r.Extra
	if r.Verdict == takt.Invalid {
		b.WriteString(verdict.Headline(r.Warnings) + "\n")
	}
	fmt.Fprintf(&b, "on branch %s , cmd = %v\n\n", orUnknown(r.Labels[stored.LabelBranch]), words)
	fmt.Fprintf(&b, "pushed %s / sec , accepted %s / sec (uncompressed)\n", sizeOf(x["pushed"]), sizeOf(x["accepted"]))
	responses(&b, r)
	b.WriteString("\n")
	documentLine(&b, r)
	if v, ok := number(x["latency"]); ok {
		fmt.Fprintf(&b, "%.2f ms / request (1000 / accepted requests per second; no response time)\n", v)
	}
	if v, ok := number(x["max_rss"]); ok {
		fmt.Fprintf(&b, "%s (max RSS)\n", decimal(v))
	} else {
		b.WriteString("unknown (max RSS)\n")
	}
	if v, ok := number(x["efficiency"]); ok {
		fmt.Fprintf(&b, "%.3f memory efficiency (accepted data volume per minute / memory used)\n", v)
	}
	for _, w := range r.Warnings { // includes the load's warnings, which are shown nowhere else
		fmt.Fprintln(&b, w.Message)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// responses writes the answers by target and status, then requests without a good answer, and
// the response times.
func responses(b *strings.Builder, r *takt.Report) {
	for _, t := range targetsOf(r) {
		fmt.Fprintln(b, t.name)
		for _, code := range slices.Sorted(maps.Keys(t.status)) {
			fmt.Fprintf(b, "  [%s]\t%.0f responses (%.2f%%)\n", code, t.status[code], 100*t.status[code]/t.all)
		}
		fmt.Fprintf(b, "  total\t%.0f responses (%.2f rps)\n", t.all, t.perS)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(b, "  [%d]\t%s: %s\n", e.Count, e.Class, e.Sample)
	}
	for _, name := range []string{takt.LatencyResponse, takt.LatencyService} {
		if l := r.Latency[name]; l.Count > 0 {
			fmt.Fprintf(b, "  %s time  p50 %s  p90 %s  p99 %s  max %s\n", name, ms(l.P50), ms(l.P90), ms(l.P99), ms(l.Max))
		}
	}
}

// answered is the answers of one target.
type answered struct {
	name      string
	status    map[string]float64
	all, perS float64
}

// targetsOf are the targets in takt apm's report; one for all if there are none.
func targetsOf(r *takt.Report) (all []answered) {
	list, _ := r.Extra["targets"].([]any)
	for _, one := range list {
		m, _ := one.(map[string]any)
		t := answered{status: map[string]float64{}}
		index, _ := number(m["index"])
		t.name = fmt.Sprintf("%s %.0f", orUnknown(m["url"]), index)
		t.all, _ = number(m["responses"])
		t.perS, _ = number(m["responses_per_s"])
		status, _ := m["status"].(map[string]any)
		for code, n := range status {
			t.status[code], _ = number(n)
		}
		all = append(all, t)
	}
	if len(all) > 0 {
		return all
	}
	t := answered{name: orUnknown(r.Variables["apm_host"]), status: map[string]float64{}}
	for code, n := range r.Status {
		t.status[code] = float64(n)
		t.all += float64(n)
	}
	if r.DurationS > 0 {
		t.perS = t.all / r.DurationS
	}
	return []answered{t}
}

// documentLine says how many of the accepted events arrived and where the rest is. Below 90 %
// it explains the difference, if the server's queue was not empty.
func documentLine(b *strings.Builder, r *takt.Report) {
	x := r.Extra
	if line := accountLine(x); line != "" {
		defer fmt.Fprintln(b, line)
	}
	n, counted := number(x[extraDocuments])
	if !counted {
		b.WriteString("docs were not counted\n")
		return
	}
	rate, _ := number(x["throughput"])
	fmt.Fprintf(b, "%.0f docs indexed (%.2f / sec)", n, rate)
	index, ok := number(x["index"])
	if ok {
		fmt.Fprintf(b, "  (%.2f%% of expected)", 100*index)
	}
	b.WriteString("\n")
	account, _ := x[extraAccount].(map[string]any)
	if queued, _ := number(account["queued"]); ok && index < producesMore && n > 0 && queued > 0 {
		b.WriteString("apm-server produces more than Elasticsearch ingests: its settings of the output or of the queue, the cluster, or the network between them bound it\n")
	}
}

func orUnknown(v any) string {
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	return "unknown"
}

func sizeOf(v any) string {
	if n, ok := number(v); ok {
		return decimal(n)
	}
	return "unknown"
}

// decimal writes bytes as hey-apm does: steps of 1000, one digit, and b for bytes.
func decimal(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.0f b", n)
	}
	units := "kMGTPE"
	for n /= 1000; n >= 1000 && len(units) > 1; n /= 1000 {
		units = units[1:]
	}
	return fmt.Sprintf("%.1f%cb", n, units[0])
}

func ms(us float64) string { return fmt.Sprintf("%.2f ms", us/1000) }
