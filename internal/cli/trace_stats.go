package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/figures"
	"github.com/taktload/takt/internal/trace/reader"
	"github.com/taktload/takt/internal/value"
)

// traceStats is the command that summarizes a log.
type traceStats struct {
	tracing
	output string
}

func newTraceStats(env core.Env) *cobra.Command {
	s := &traceStats{tracing: newTracing(env), output: "text"}
	s.reading.Inspect = true
	return s.command(&cobra.Command{
		Use:   "stats LOG…",
		Short: "summarize a log: format, faults, rate per second, bursts, methods, status, sizes, latencies",
		Example: `  takt trace stats /var/log/nginx/access.log
  takt trace stats access.log --path '^/api/' -o json`,
	}, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.VarP(value.Offering(value.Text(&s.output), "text", "json"), "output", "o", "`FORMAT` on standard output: text or json")
		})
		value.Declare(fs, value.GroupLog, func(fs *pflag.FlagSet) {
			fs.Var(value.Duration(&s.reading.MaxGap), "max-gap", "call more than `TIME` without a request a gap (default: a minute, or more if the log has few requests)")
		})
	}, func() []error {
		if s.output != "text" && s.output != "json" {
			return []error{value.About(fmt.Errorf("unknown output %q; use text or json", s.output), "output")}
		}
		return nil
	}, s.write)
}

// surveyed is the output of takt trace stats -o json.
type surveyed struct {
	Logs     []reader.Inspected `json:"logs"`
	Examples []figures.Example  `json:"examples"`
	Skewed   string             `json:"skewed,omitempty"` // which figures are wrong, and why
	figures.Statistics
}

func (s *traceStats) write(src trace.Stream) error {
	shown := &figures.Examples{Src: src}
	stamps := &figures.Stamps{Src: shown}
	found, err := figures.Survey(trace.Timed(stamps, trace.Timing{}), stamps)
	if err != nil || found.Requests == 0 {
		return err
	}
	all := surveyed{Logs: s.log.Inspected(), Examples: shown.First, Statistics: found}
	all.Skewed = s.skewed(all.Logs)
	if s.output == "json" {
		to := json.NewEncoder(s.env.Stdout)
		to.SetIndent("", "  ")
		return to.Encode(all)
	}
	if err := all.writeLogs(s.env.Stdout); err != nil {
		return err
	}
	return found.WriteText(s.env.Stdout)
}

// maxLogs limits the logs that writeLogs describes without a fault.
const maxLogs = 10

// writeLogs says what each log was taken for, shows the first requests, and lists the faults.
func (a *surveyed) writeLogs(w io.Writer) error {
	var b []byte
	for i, in := range a.Logs {
		if i == maxLogs {
			b = fmt.Appendf(b, "%-12sand %d more logs\n", "", len(a.Logs)-i)
			break
		}
		b = fmt.Appendf(b, "%-12s%s is %v\n", "log", page.Visible(in.File), in.Guess)
	}
	b = fmt.Appendf(b, "%-12sif that is wrong, give --format a name, or the server's own format string (docs/log-formats.md)\n", "")
	for _, e := range a.Examples {
		b = fmt.Appendf(b, "%-12s%v\n", "line "+strconv.Itoa(e.Line), e)
	}
	for _, in := range a.Logs {
		for _, f := range in.Faults {
			b = fmt.Appendf(b, "%-12s%v\n", "fault", page.Visible(f.String()))
		}
		if in.Longest != "" {
			b = fmt.Appendf(b, "%-12sthe longest part of %s without a gap or a step: %s\n", "window", page.Visible(in.File), in.Longest)
		}
	}
	if a.Skewed != "" {
		b = fmt.Appendf(b, "%-12s%s\n", "note", a.Skewed)
	}
	_, err := w.Write(b)
	return err
}

// skewed says which figures are wrong because of the faults of the logs, and what to do; "": none.
// The faults are those of the whole logs, even if flags choose a part.
func (s *traceStats) skewed(logs []reader.Inspected) string {
	var causes []string
	for _, in := range logs {
		for _, f := range in.Faults {
			if f.Skews != "" && !slices.Contains(causes, f.Skews) {
				causes = append(causes, f.Skews)
			}
		}
	}
	switch all := strings.Join(causes, " and the "); {
	case all == "":
		return ""
	case s.reading.Window.Given() || s.reading.From > 0 || s.reading.For > 0:
		return "the rates, the gap and the times are right only if the chosen part is without the " + all
	default:
		return "the rates, the gap and the times are not right, because of the " + all + "; choose a part with --window, or --from and --for"
	}
}

// newTraceSeconds returns the command that replaces perf2seconds.
func newTraceSeconds(env core.Env) *cobra.Command {
	t := newTracing(env)
	return t.command(&cobra.Command{
		Use:   "seconds LOG…",
		Short: "write a row for each second: means, requests, errors, offered rate, p50 and p99",
		Long:  "The eight columns of perf2seconds, then the offered rate, p50 and p99; docs/traces.md explains each column.",
		Example: `  takt trace seconds raw.csv > seconds.csv
  takt trace seconds /var/log/nginx/access.log --zone UTC`,
	}, func(*pflag.FlagSet) {}, func() []error { return nil }, func(src trace.Stream) error {
		c, err := figures.Seconds(env.Stdout, trace.Timed(src, trace.Timing{}))
		fmt.Fprintf(env.Stderr, "takt trace: %d rows, %d requests, %d errors, of which %d were 404\n", c.Rows, c.Requests, c.Errors, c.NotFound)
		return err
	})
}
