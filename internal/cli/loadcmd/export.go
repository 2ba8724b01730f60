package loadcmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/exporters"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

func (l *load) addExportFlag(fs *pflag.FlagSet) {
	fs.Var(exporters.Flag(&l.exports), "export", "send figures to another system once a second, `KIND=WHERE`: "+exporters.Usage()+"; repeatable")
}

// openPump opens the destinations of --export for a run; nil: there are none.
func (l *load) openPump(head *takt.Report) (*metrics.Pump, error) {
	known := stored.RunOf(head)
	run := metrics.Run{
		ID: head.ID, Kind: head.Kind, Target: l.hide(known.Target()), Labels: head.Labels, Version: head.Tool.Version,
	}
	if shard := l.engine.Shard.String(); takt.IsShard(shard) {
		run.Shard = shard
	}
	var opened []metrics.Opened
	for _, d := range l.exports {
		e, err := d.Open(run)
		if err != nil {
			for _, o := range opened {
				_ = o.Close(context.Background()) // an error loses nothing
			}
			return nil, core.ExitWith(core.ExitUsage, l.clean(value.Faultf("--export %s cannot be opened: %w", d.Shown, err)))
		}
		opened = append(opened, metrics.Opened{Shown: d.Shown, Exporter: e})
	}
	cpu := proc.CPU
	if l.env.Fleet != nil || l.driver.Run != nil {
		cpu = nil // other processes send the load
	}
	return metrics.Start(run, opened, cpu, func(text string) {
		fmt.Fprintf(l.env.Stderr, "takt: warning: --export %s; the run goes on, and its report says what was lost\n", l.hide(text))
	}), nil
}

// endExports waits for the receivers, and notes in the report what they got.
func (l *load) endExports(p *metrics.Pump, r *takt.Report) {
	if r == nil {
		return // once closes p
	}
	r.Exports = p.End(r, l.env.Abort, func(to []string) {
		fmt.Fprintf(l.env.Stderr, "takt: waiting up to %v until the last figures have reached %s; Ctrl-C ends the wait\n", metrics.LastWait, l.hide(strings.Join(to, ", ")))
	})
	for i := range r.Exports {
		e := &r.Exports[i]
		e.To, e.Error = l.hide(e.To), l.hide(e.Error)
		if e.Lost > 0 {
			r.Warn(warn.ExportLost, "%d of %d seconds of figures did not reach %s: %s; the run itself is complete", takt.Number("lost", e.Lost), takt.Number("seconds", e.Sent+e.Lost), e.To, cmp.Or(e.Error, "there was no time left"))
		}
	}
}
