package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// maxShown is the largest number of error texts to print; the report has all.
const maxShown = 20

// PrintResult writes r in the lines of wrk3, word for word, then the texts of errors and the
// warnings. An invalid run, or a run without a success, is announced first.
//
// Value in the table is the response time, from the instant at which a request was due. wrk3
// counts from a later instant when its own generator is late. The table has all requests that
// were sent or waited; unfinished requests have their age at the end of the drain.
func PrintResult(w io.Writer, r *Result) error {
	table, err := format.Quantiles(r.Report)
	if err != nil {
		return err
	}
	var b strings.Builder
	alarm(&b, r)
	fmt.Fprintf(&b, "benchmark results:\n")
	fmt.Fprintf(&b, "total duration:  %v (target duration: %v )\n", r.TotalDuration, r.Target.Duration)
	fmt.Fprintf(&b, "total requests:  %d\n", r.TotalRequests)
	fmt.Fprintf(&b, "errors:  %d\n", r.Errors)
	fmt.Fprintf(&b, "omitted requests:  %d\n", r.Omitted)
	fmt.Fprintf(&b, "throughput:  %s (target throughput: %s )\n", number(r.Throughput), target(r.Target))
	fmt.Fprintf(&b, "latency distribution:\n%s", table)
	failures(&b, r.Report.Errors)
	omitted(&b, r.Report.Counts)
	if r.Report.Verdict != takt.Invalid {
		warnings(&b, "warnings:", r.Report.Warnings)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// announcement is the line before the run.
func announcement(b Benchmark) string {
	after := ""
	if b.Warmup > 0 {
		after = " after " + b.Warmup.String() + " of warm-up"
	}
	return fmt.Sprintf("running benchmark for %v%s...\n", b.Duration, after)
}

func alarm(b *strings.Builder, r *Result) {
	invalid := r.Report.Verdict == takt.Invalid
	if invalid {
		warnings(b, verdict.Headline(r.Report.Warnings), r.Report.Warnings)
	}
	if r.failed() {
		b.WriteString("NOT ONE REQUEST SUCCEEDED.\n")
	}
	if invalid || r.failed() {
		b.WriteString("\n")
	}
}

func warnings(b *strings.Builder, head string, list []takt.Warning) {
	if len(list) == 0 {
		return
	}
	b.WriteString(head + "\n")
	for _, w := range list {
		fmt.Fprintf(b, "  - %s [%s]\n", w.Message, w.Code)
	}
}

// failures are the texts of errors, most frequent first.
func failures(b *strings.Builder, list []takt.ErrorClass) {
	if len(list) == 0 {
		return
	}
	b.WriteString("errors by text:\n")
	var rest uint64
	for i, e := range list {
		if i >= maxShown {
			rest += e.Count
			continue
		}
		fmt.Fprintf(b, "%10d  %s\n", e.Count, e.Class)
	}
	if rest > 0 {
		fmt.Fprintf(b, "%10d  with %d more texts, which the output json has\n", rest, len(list)-maxShown)
	}
}

// omitted explains where requests are that were due and did not end.
func omitted(b *strings.Builder, c takt.Counts) {
	if c.Unfinished > 0 {
		open := c.Sent - c.OK - c.Failed
		fmt.Fprintf(b, "omitted requests: %d under way and %d waiting when the run ended; the table has them at their age\n", open, c.Unfinished-open)
	}
}

func target(b Benchmark) string {
	if b.closed() {
		return "max"
	}
	return number(b.Throughput)
}

// number prints all digits, as wrk3 does.
func number(perS float64) string { return strconv.FormatFloat(perS, 'f', -1, 64) }
