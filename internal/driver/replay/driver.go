package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Open returns the driver of one run.
func (o *Options) Open(ctx context.Context, conns int) (*takt.Driver, error) {
	d := &takt.Driver{Worker: func(int) (takt.Worker, error) { return budget{}, nil }}
	if !o.Seed.TimeBudget {
		var err error
		if o.Per.given() {
			d, err = o.openUsers()
		} else {
			d, err = o.HTTP.Open(ctx, conns)
		}
		if err != nil {
			o.close()
			return nil, err
		}
	}
	finish, closed := d.Finish, d.Close
	d.Finish = func(ctx context.Context, r *takt.Report) error {
		o.finish(r)
		if finish == nil {
			return nil
		}
		return finish(ctx, r)
	}
	d.Close = func() error {
		o.close()
		if closed == nil {
			return nil
		}
		return closed()
	}
	return d, nil
}

// close ends the reading and printing of the last run.
func (o *Options) close() {
	r := o.run.Load()
	if r == nil {
		return
	}
	r.ahead.Stop()
	if r.log.follow != nil {
		r.log.follow.Stop()
	}
	r.printer.stop()
}

// stdin is standard input, empty if there is none.
func (o *Options) stdin() io.Reader {
	if o.Stdin == nil {
		return bytes.NewReader(nil)
	}
	return o.Stdin
}

// finish adds to the report what was read, the warnings, and the comparison.
func (o *Options) finish(r *takt.Report) {
	run := o.run.Load()
	run.printer.stop()
	a := run.log.seen()
	if a.pass > 0 {
		a.again = run.last / a.pass // reading may be many passes of a short log ahead
	}
	r.Extra["lines"], r.Extra["requests_read"] = a.lines.Lines, a.lines.Records
	for name, n := range map[string]uint64{
		"spread_over_seconds": a.spread, "spread_over_milliseconds": a.fine, "log_began_again": a.again, "gaps_shortened": run.shortened(),
	} {
		if n > 0 {
			r.Extra[name] = n
		}
	}
	if list := a.left.List(); len(list) > 0 {
		r.Extra[trace.LeftKey] = list
	}
	o.warn(r, &a)
	if c := run.comparison; len(c.classes) > 0 {
		r.Extra["comparison"] = c.report()
	}
}

// warn adds the warnings about the log and the replay.
func (o *Options) warn(r *takt.Report, a *account) {
	run := o.run.Load()
	add := func(is bool, code takt.WarningCode, format string, args ...any) {
		if is {
			r.Warn(code, format, args...)
		}
	}
	bad, refused, noHost := a.left.Count(trace.Bad), a.left.Count(trace.NotSent), a.left.Of(trace.Without, hostless).Count
	add(bad > 0, warn.BadLines, "%d of %d lines could not be read and are not in the replay: %s", takt.Number("bad", bad), takt.Number("lines", a.lines.Lines), places(a.left.Reasons(trace.Bad)))
	add(refused > 0, warn.NotSendable, "%d requests were left out: %s", takt.Number("refused", refused), places(a.left.Reasons(trace.NotSent)))
	add(a.late.Count > 0, warn.LogDisorder, "%d requests came more than --disorder after later ones in the log, by up to %v more: they were due at once", takt.Number("late", a.late.Count), takt.Time("late_most", a.late.Most))
	add(run.shortened() > 0, warn.GapsShortened, "%s", takt.Number("gaps", run.shortened()).As(run.gapsText()))
	headers := headersLeft(&a.left)
	add(headers != "", warn.HeadersLeftOut, "headers of the log were not sent: %s; %s", headers, takt.Advice("add what the server needs with -H"))
	add(noHost > 0, warn.WithoutHost, "%d requests have no recorded host that can be sent: their Host was that of --host or of the URL", takt.Number("requests", noHost))
	body := a.left.Of(trace.Without, formats.LeftBody)
	add(body.Count > 0, warn.BodiesLeftOut, "%d requests are sent with random bytes instead of their body: the archive does not have the content of the files of a form", takt.Number("requests", body.Count))
	add(o.uneven(run), warn.UnevenShards, "this shard sent %.0f %% of the requests instead of %.0f %%, because all requests of a client go to one shard; %s",
		takt.Percent("sent_share", 100*float64(run.sent)/float64(run.read)), takt.Percent("share", 100/float64(o.shards)),
		takt.Advice("more clients, or fewer shards, spread them better, and --shard-by request spreads them evenly without their clients' order"))
	add(a.crowded > 0, warn.Crowded, "%d requests were due at the end of their second, which had more than 131072 requests", takt.Number("requests", a.crowded))
	add(run.lost > 0, warn.RowsLost, "%d operations ended after 131072 later ones had begun: they have no row in -o load and are not compared; all other figures include them", takt.Number("lost", run.lost))
	add(run.printer.lost.Load() > 0, warn.NotShown, "%d exchanges were not shown, because standard error was too slow", takt.Number("lost", run.printer.lost.Load()))
}

// placesShown is how many reasons a warning names.
const placesShown = 3

// places names reasons with their first lines. It does not show the text of a line, which may contain a secret.
func places(reasons []trace.Reason) string {
	var list []string
	for _, r := range reasons[:min(len(reasons), placesShown)] {
		list = append(list, fmt.Sprintf("%s: %s", r.Place(), r.Why))
	}
	if len(reasons) > placesShown {
		list = append(list, "…")
	}
	return strings.Join(list, "; ")
}

// headersLeft lists the headers that were left out: cookie 2, referer 1.
func headersLeft(left *trace.Left) string {
	var list []string
	for _, r := range left.Reasons(trace.Without) {
		if name, ok := strings.CutPrefix(r.Why, formats.LeftHeader); ok {
			list = append(list, fmt.Sprintf("%s %d", name, r.Count))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// budget is the protocol of --timeBudget: fixed service times, so everything above them is takt's.
type budget struct{}

// Do implements takt.Worker.
func (budget) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	rec := op.Data.(*trace.Record)
	d := time.Second
	if isReading(rec.Method) {
		d = time.Second / 10
	}
	if !pause.For(d, ctx.Done()) {
		r.Class, r.Err = "cancelled", context.Cause(ctx)
		return
	}
	r.Status = cmp.Or(rec.Expected, 200)
}

// Close implements takt.Worker.
func (budget) Close() error { return nil }
