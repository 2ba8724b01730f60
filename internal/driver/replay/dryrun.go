package replay

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// plannedShown is how many requests a dry run shows.
const plannedShown = 10

// Plans is driver.Load.Plans.
func (o *Options) Plans() bool { return o.DryRun }

// Plan is driver.Load.Plan. It reads the logs as a run does, but sends nothing.
func (o *Options) Plan(ctx context.Context, w io.Writer, src takt.Source) error {
	defer o.close()
	feed := src.(engine.Feed)
	host, prefix := o.HTTP.Endpoint()
	var op takt.Op
	var n uint64
	var last time.Duration
	for ctx.Err() == nil {
		if !src.Next(&op) {
			if !feed.Starved() {
				break
			}
			time.Sleep(time.Millisecond) // as the engine does
			continue
		}
		if src.End() >= 0 && op.Due >= src.End() || o.enough(op.Due, n, src.End()) {
			break
		}
		n++
		last = op.Due
		if n <= plannedShown {
			rec := op.Data.(*trace.Record)
			fmt.Fprintf(w, "%12s  %s %s  to %s%s  recorded %s, %s:%d\n", due(op.Due), rec.Method, rec.URI, host, prefix, status(rec.Expected), rec.File, rec.Line)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := feed.Err(); err != nil {
		return err
	}
	return o.plan(w, n, last)
}

// enough reports whether a plan must end after n requests, before one that is due at next. A closed
// loop has no instants to end at, and a log with --rewind has no end.
func (o *Options) enough(next time.Duration, n uint64, end time.Duration) bool {
	closed, limit := next == takt.Asap, o.engine.Requests
	return closed && limit > 0 && n >= limit || o.Seed.Rewind && n >= plannedShown && (closed || end < 0)
}

// plan writes the summary of the run.
func (o *Options) plan(w io.Writer, n uint64, last time.Duration) error {
	a := o.run.Load().log.seen()
	pace := "at their recorded times, " + (*speed)(&o.Speed).String()
	switch e := o.engine; {
	case e.Stages.Given():
		pace = "in " + fmt.Sprint(len(o.stages)) + " stages"
	case e.Rate.Given():
		pace = "at " + e.Rate.String()
	}
	fmt.Fprintf(w, "plan: %s %s, the last due after %s", figure.Plural(n, "request"), pace, due(last))
	if s := last.Seconds(); s > 0 && n > 1 {
		fmt.Fprintf(w, ", %s on average", schedule.FormatRate(float64(int(float64(n-1)/s*1000+0.5))/1000))
	}
	fmt.Fprintln(w)
	if o.Seed.Rewind {
		fmt.Fprintln(w, "log: begins again at its end")
	} else {
		fmt.Fprintf(w, "log: %s\n%s", a.text(), a.left.AppendText(nil))
	}
	if o.foundGaps.Count > 0 {
		fmt.Fprintf(w, "gaps: %s\n", shortened(o.foundGaps))
	}
	_, err := fmt.Fprintln(w, "nothing was sent: this was --dry-run")
	return err
}

func due(d time.Duration) string {
	if d == takt.Asap {
		return "at once"
	}
	return d.Round(time.Microsecond).String()
}

func status(code int) string {
	if code == 0 {
		return "none"
	}
	return fmt.Sprint(code)
}
