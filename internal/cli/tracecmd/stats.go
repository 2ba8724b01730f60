package tracecmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/figures"
	"github.com/taktload/takt/internal/trace/order"
	"github.com/taktload/takt/internal/value"
)

// traceStats is the command that summarizes a log.
type traceStats struct {
	tracing
	output string
}

func newTraceStats(env core.Env) *cobra.Command {
	s := &traceStats{tracing: newTracing(env), output: "text"}
	return s.command(&cobra.Command{
		Use:   "stats LOG…",
		Short: "summarize a log: rate per second, methods, status, sizes, latencies",
		Example: `  takt trace stats /var/log/nginx/access.log
  takt trace stats access.log --path '^/api/' -o json`,
	}, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.VarP(value.Offering(value.Text(&s.output), "text", "json"), "output", "o", "`FORMAT` on standard output: text or json")
		})
	}, func() []error {
		if s.output != "text" && s.output != "json" {
			return []error{value.About(fmt.Errorf("unknown output %q; use text or json", s.output), "output")}
		}
		return nil
	}, s.write)
}

func (s *traceStats) write(src trace.Stream) error {
	found, err := figures.Survey(order.Timed(src, order.Timing{}))
	if err != nil || found.Requests == 0 {
		return err
	}
	if s.output == "json" {
		to := json.NewEncoder(s.env.Stdout)
		to.SetIndent("", "  ")
		return to.Encode(found)
	}
	return found.WriteText(s.env.Stdout)
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
		c, err := figures.Seconds(env.Stdout, order.Timed(src, order.Timing{}))
		fmt.Fprintf(env.Stderr, "takt trace: %d rows, %d requests, %d errors, of which %d were 404\n", c.Rows, c.Requests, c.Errors, c.NotFound)
		return err
	})
}
