package loadcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/exchange"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/value"
)

// debugging is --debug: each request is sent once and shown, and nothing is measured.
type debugging struct {
	on    bool
	most  uint64 // -n; 0: all
	shown []*exchange.Shown
	err   error // of the first text that could not be written
}

func (l *load) addDebugFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&l.debug.on, "debug", false, "send each request once (of a list each target, of a scenario one round, with -n at most N), show it with its answer and times, without secrets, and measure nothing; -o json=PATH writes JSON")
}

// single leaves out of the options what says when and how often requests are sent.
func (l *load) single() {
	if !l.debug.on {
		return
	}
	l.debug.most = l.engine.Requests
	l.engine = l.engine.Single()
	l.aborts, l.until, l.faultTexts = nil, "", nil
	if l.driver.Debug.Single != nil {
		l.driver.Debug.Single()
	}
}

// checkDebug refuses what --debug cannot do.
func (l *load) checkDebug() (faults value.Faults) {
	if !l.debug.on {
		return nil
	}
	faults.If(l.env.Fleet != nil || l.env.Side != nil || l.env.Asking != nil, "--debug measures nothing, and this is a part of a larger run; leave it out")
	for _, d := range l.outputs.Opened {
		faults.If(d.Format.Name != "json" && d.Path != format.Stdout, "-o %s=%s needs a report, and --debug makes none; leave it out, or give -o json=PATH", d.Format.Name, d.Path)
	}
	return faults
}

// debugRun sends the requests and shows them. The error is that of a run if one of them failed.
func (l *load) debugRun(ctx context.Context) error {
	if l.driver.Learn != nil {
		if err := l.driver.Learn(ctx); err != nil {
			return l.unopened(err)
		}
	}
	tap, most, err := l.driver.Debug.Watch(l.show)
	if err != nil {
		return core.ExitWith(core.ExitUsage, l.clean(err))
	}
	if l.engine.Requests = most; l.debug.most > 0 {
		l.engine.Requests = l.debug.most
	}
	return l.debugged(ctx, l.send(ctx, tap))
}

// send performs the operations, one after the other.
func (l *load) send(ctx context.Context, tap engine.Tap) error {
	source, err := l.source(ctx)
	if err != nil {
		return err
	}
	if l.driver.Identify != nil {
		l.driver.Identify(engine.NewID(l.head().StartedAt))
	}
	d, err := l.driver.Open(ctx, 1)
	if err != nil {
		return err
	}
	if _, err = engine.Run(ctx, engine.Plan{Options: l.engine, Kind: l.row.Kind, Source: source, Driver: d, Abort: l.env.Abort, Tap: tap}); err != nil {
		return err
	}
	if feed, ok := source.(engine.Feed); ok {
		return feed.Err()
	}
	return nil
}

// show shows an exchange.
func (l *load) show(x *exchange.Exchange) {
	s := x.Show(len(l.debug.shown)+1, func(text string) string { return httpreq.HideSecrets(l.hide(text)) })
	l.debug.shown = append(l.debug.shown, s)
	if l.debug.err == nil && !l.jsonOnly() {
		l.debug.err = s.WriteText(l.env.Stdout)
	}
}

// jsonOnly reports whether JSON goes to standard output, so that the text does not.
func (l *load) jsonOnly() bool {
	for _, d := range l.outputs.Opened {
		if d.Format.Name == "json" && d.Path == format.Stdout {
			return true
		}
	}
	return false
}

// debugged writes the files, and says how it went. broke is what ended the run early.
func (l *load) debugged(ctx context.Context, broke error) error {
	failed := 0
	for _, s := range l.debug.shown {
		if s.Failed() {
			failed++
		}
	}
	err := l.debug.err
	for _, d := range l.outputs.Opened {
		if d.Format.Name != "json" {
			continue
		}
		out := core.AnswerOutput{Name: d.Format.Name, Path: d.Path}
		if one := out.Write(l.env, l.writeExchanges); err == nil {
			err = one
		}
	}
	if err == nil && broke == nil && core.SignalOf(ctx) == nil && !l.jsonOnly() {
		_, err = fmt.Fprintf(l.env.Stdout, "\n%s sent, %d failed; nothing was measured or stored\n", figure.Plural(len(l.debug.shown), "request"), failed)
	}
	switch signal := core.SignalOf(ctx); {
	case signal != nil:
		return core.ExitBy(signal, err)
	case broke != nil:
		return l.broken(ctx, broke)
	case err != nil:
		return err
	case failed > 0:
		return fmt.Errorf("%d of %s failed", failed, figure.Plural(len(l.debug.shown), "request"))
	}
	return nil
}

// writeExchanges writes all exchanges as JSON.
func (l *load) writeExchanges(w io.Writer, _ bool) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	return to.Encode(map[string]any{"exchanges": l.debug.shown})
}
