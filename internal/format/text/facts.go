package text

import (
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// Facts are the lines of the text report about a whole run, for other formats. Empty: the report
// says nothing of it.
type Facts struct {
	Rate, Accounting, Broker, Bytes, Measured, Generator, Extra, Command string
}

// FactsOf returns the facts of r.
func FactsOf(r *takt.Report) Facts {
	plain := func(s string) string { return strings.ReplaceAll(s, page.NoBreak, " ") }
	return Facts{
		Rate: rates(r), Accounting: accounting(r.Counts), Broker: ledger(r.Ledger), Bytes: plain(volumes(r)), Measured: measured(r),
		Generator: plain(generator(r.Generator)), Extra: plain(extras(r.Extra)), Command: CommandLine(r.Command),
	}
}

// CommandLine is a command as a line for a shell.
func CommandLine(words []string) string {
	var line []string
	for _, word := range words {
		line = append(line, quote(page.Visible(word)))
	}
	return strings.Join(line, " ")
}

// Statistics are the rows of the percentile table.
func Statistics() (names []string, values []func(takt.Latency) float64) {
	for _, row := range rows() {
		names, values = append(names, row.name), append(values, row.value)
	}
	return names, values
}

// Columns are the latencies that the percentile table shows, and Parts those that it leaves out.
func Columns(r *takt.Report) []string { return tableColumns(r) }
func Parts(r *takt.Report) []string   { return partNames(r) }

// Meaning explains the name of a part; "": the name says it.
func Meaning(name string) string { return meaning(name) }

// Cause is a share of the response time.
type Cause struct {
	Name, Meaning string
	All, Slowest  float64 // shares, 0 to 1
}

// Causes divide the response time. from is the shortest response time of the slowest, µs.
func Causes(r *takt.Report) (list []Cause, from float64) {
	all := r.Attribution.Whole()
	if all.Total() <= 0 {
		return nil, 0
	}
	from, tail := r.Attribution.Slowest(slowest)
	for _, c := range causes {
		list = append(list, Cause{c.name, c.meaning, c.of(all) / all.Total(), c.of(tail) / max(1e-12, tail.Total())})
	}
	return list, from
}

// Codes lists the result codes in the order of the text report.
func Codes(r *takt.Report) []string { return byLength(page.Sorted(r.Status)) }

// Replayed is the comparison of a replay: a row for each class and for each pair of status codes.
func Replayed(r *takt.Report) (classes []ReplayedClass, statuses []ReplayedStatus) {
	c, _ := comparisonOf(r)
	for _, class := range c.timed() {
		name, _ := class["class"].(string)
		one := ReplayedClass{Name: page.Clean(name), Count: uint64(plainNumber(class["with_latency"]))}
		for i, q := range []string{"p50", "p95", "p99"} {
			one.Recorded[i], one.Response[i] = plainNumber(class["recorded_"+q+"_us"]), plainNumber(class["response_"+q+"_us"])
		}
		classes = append(classes, one)
	}
	for _, s := range c.statuses {
		recorded, replayed, verdict := statusPair(s)
		statuses = append(statuses, ReplayedStatus{recorded, replayed, verdict, uint64(plainNumber(s["count"]))})
	}
	return classes, statuses
}

// ReplayedClass has p50, p95 and p99 in µs.
type ReplayedClass struct {
	Name               string
	Count              uint64
	Recorded, Response [3]float64
}

// ReplayedStatus is how often a recorded status was replayed as another, or the same.
type ReplayedStatus struct {
	Recorded, Replayed, Verdict string
	Count                       uint64
}
