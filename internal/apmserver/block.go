package apmserver

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/pkg/takt"
)

// producesMore is the index ratio below which the server is told to be faster than the
// cluster; hey-apm's.
const producesMore = 0.9

// Block writes the report of a trial as hey-apm's test did, with the response times
// beside its figures. words are those of the test as they were typed.
func Block(to io.Writer, r *takt.Report, words []string) error {
	var b strings.Builder
	x := r.Extra
	fmt.Fprintf(&b, "on branch %s , cmd = %v\n\n", orUnknown(r.Labels[analysis.LabelBranch]), words)
	fmt.Fprintf(&b, "pushed %s / sec , accepted %s / sec (uncompressed)\n", sizeOf(x["pushed"]), sizeOf(x["accepted"]))
	responses(&b, r)
	b.WriteString("\n")
	documentLine(&b, x)
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
	for _, w := range r.Warnings {
		if w.Code == WarnUncounted || w.Code == WarnUndrained || w.Code == WarnIncomparable {
			fmt.Fprintln(&b, w.Message)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// responses are the answers by status, and the response times.
func responses(b *strings.Builder, r *takt.Report) {
	fmt.Fprintln(b, orUnknown(r.Variables["apm_host"]))
	var all uint64
	for _, n := range r.Status {
		all += n
	}
	for _, code := range slices.Sorted(maps.Keys(r.Status)) {
		n := r.Status[code]
		fmt.Fprintf(b, "  [%s]\t%d responses (%.2f%%)\n", code, n, 100*float64(n)/float64(all))
	}
	if r.DurationS > 0 {
		fmt.Fprintf(b, "  total\t%d responses (%.2f rps)\n", all, float64(all)/r.DurationS)
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

// documentLine says what has arrived of what was accepted, and below 90 % why it may
// be less.
func documentLine(b *strings.Builder, x map[string]any) {
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
	if ok && index < producesMore {
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
