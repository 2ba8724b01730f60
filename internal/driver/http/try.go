package http

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/exchange"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// trial is one round of each journey that is tried, one after the other, and so are its exchanges.
type trial struct {
	*exchange.Tap
	last *exchange.Exchange // of the request that ended; nil: nothing was sent since the last step
	seen func(script.Tried)
}

// triedRequests bounds the requests of a round that is tried, and of a list.
const triedRequests = 1000

// ShapeTrial prepares the options, and those of the engine, for Try.
func (o *Options) ShapeTrial() engine.Options {
	e := engine.Defaults()
	e = e.Single()
	o.Shape(&e)
	return e
}

// Single leaves out the rate of rounds, for --debug. It is called before Shape.
func (o *Options) Single() { o.Rounds = engine.Rate{} }

// Watch makes a tap for a run that sends each request once, after Validate: of a scenario, one round of each journey, without
// think times. seen gets each exchange. most bounds the requests.
func (o *Options) Watch(seen func(*exchange.Exchange)) (tap engine.Tap, most uint64, err error) {
	s, ok := o.requests.(*scenario)
	switch {
	case ok:
		tap, most = o.try(s, func(x script.Tried) {
			x.Title = fmt.Sprintf("step %d: %s (line %d)", x.Step, x.Name, x.Line)
			x.HideValues()
			x.Exchange.Facts = x.Facts()
			seen(x.Exchange)
		})
		return tap, most, nil
	case o.client() == clientNet && o.HTTP2 && o.protocol() != "h2c":
		return nil, 0, value.Faultf("--debug cannot see requests of net/http over HTTP/2 with TLS; leave out --h2, or %s", cmp.Or(o.needsNet(), "--client net"))
	}
	most = 1
	if o.list != nil {
		if most = triedRequests; o.list.count > 0 {
			most = min(most, uint64(o.list.count))
		}
	}
	return exchange.NewTap(func(x *exchange.Exchange) {
		x.Answer.SplitEvents()
		seen(x)
	}), most, nil
}

// try prepares a scenario for one round of each journey. most bounds its requests.
func (o *Options) try(s *scenario, seen func(script.Tried)) (y *trial, most uint64) {
	for _, t := range append([]*script.Track{&s.Before, &s.After}, s.Tracks...) {
		for i, at := range t.Steps {
			t.Rules[i].Think, at.Rest, at.Pace = dist.Time{}, dist.Time{}, nil
		}
	}
	y = &trial{seen: seen}
	y.Tap = exchange.NewTap(func(x *exchange.Exchange) { y.last = x })
	s.Limit, s.trial = uint64(len(s.Tracks)), y
	return y, triedRequests * uint64(len(s.Tracks))
}

// Try sends one round of each journey, without think times, and passes each exchange to seen, also those of @setup before and
// of @teardown after them. It needs Validate.
func (o *Options) Try(ctx context.Context, e engine.Options, abort <-chan struct{}, seen func(script.Tried)) error {
	tap, most := o.try(o.requests.(*scenario), seen)
	e.Requests = most
	base, err := e.Source()
	if err != nil {
		return err
	}
	o.Identify(engine.NewID(time.Now()))
	src, err := o.Source(ctx, base)
	if err != nil {
		return err
	}
	d, err := o.Open(ctx, 1)
	if err != nil {
		return err
	}
	_, err = engine.Run(ctx, engine.Plan{Options: e, Kind: "http", Source: src, Driver: d, Abort: abort, Tap: tap})
	return err
}

// ended passes on an exchange that is over. follows: its redirect is followed.
func (y *trial) ended(s *scenario, t *turn, r *takt.Result, next journey.Next, follows bool, took time.Duration) {
	if y == nil {
		return
	}
	at, track := t.at(), t.visit.track
	x := script.Tried{Step: s.Number(at), Exchange: y.last, Name: at.Name, Line: at.Line}
	if y.last = nil; x.Exchange == nil {
		x.Exchange = new(exchange.Exchange)
	}
	x.Result, x.Took, x.Follows = *r, took, follows
	for i, one := range t.held {
		if one != steps.Unasked {
			x.Checks = append(x.Checks, script.TriedCheck{Text: at.Checks[i].Text, OK: one == steps.Passed})
		}
	}
	for i, name := range at.Values() {
		if v := t.visit.session.Value(name); v != nil && r.Class == "" && !follows {
			x.Captured = append(x.Captured, script.TriedValue{Name: name, Value: string(v), Of: len(t.visit.session.List(name)), Made: i >= len(at.Captures)})
		}
	}
	numbers := func(list []int) (of []int) {
		for _, i := range list {
			of = append(of, s.Number(track.Steps[i]))
		}
		return of
	}
	x.Before, x.Passed = numbers(t.passed), numbers(next.Passed)
	x.Again = !follows && !next.Over && track.Steps[next.Step] == at
	y.seen(x)
}
