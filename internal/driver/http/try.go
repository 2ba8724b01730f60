package http

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/pkg/takt"
)

// trial is one round of each journey that is tried, one after the other, and so are its exchanges.
type trial struct {
	request, answer []byte
	head, body      string // of an answer over HTTP/2
	seen            func(script.Tried)
}

// triedBytes bounds what is kept of a request, and of an answer.
const triedBytes = 64 << 10

// triedRequests bounds the requests of a round that is tried.
const triedRequests = 1000

// ShapeTrial prepares the options, and those of the engine, for Try.
func (o *Options) ShapeTrial() engine.Options {
	e := engine.Defaults()
	e.Connections, e.Requests = 1, triedRequests
	o.Shape(&e)
	return e
}

// Try sends one round of each journey, without think times, and passes each exchange to seen, also those of @setup before and
// of @teardown after them. It needs Validate.
func (o *Options) Try(ctx context.Context, e engine.Options, abort <-chan struct{}, seen func(script.Tried)) error {
	s := o.requests.(*scenario)
	for _, t := range append([]*script.Track{&s.Before, &s.After}, s.Tracks...) {
		for i, at := range t.Steps {
			t.Rules[i].Think, at.Rest, at.Pace = dist.Time{}, dist.Time{}, nil
		}
	}
	s.Limit, s.trial = uint64(len(s.Tracks)), &trial{seen: seen}
	e.Requests *= uint64(len(s.Tracks))
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
	_, err = engine.Run(ctx, engine.Plan{Options: e, Kind: "http", Source: src, Driver: d, Abort: abort})
	return err
}

// begins notes the request of a step.
func (y *trial) begins(t *turn) {
	if y != nil {
		y.request, y.answer, y.head, y.body = slices.Clone(t.visit.request[:min(len(t.visit.request), triedBytes)]), nil, "", ""
	}
}

// came notes a part of an answer.
func (y *trial) came(part []byte) {
	if y != nil {
		y.answer = append(y.answer, part[:min(len(part), triedBytes-len(y.answer))]...)
	}
}

// status notes the status of an answer over HTTP/2, behind its fields, and content its body.
func (y *trial) status(code int) {
	if y != nil {
		y.head = fmt.Sprintf("HTTP/2 %d", code) + y.head
	}
}

func (y *trial) field(name, value []byte) {
	if y != nil && len(y.head) < triedBytes {
		y.head += fmt.Sprintf("\r\n%s: %s", name, value)
	}
}

func (y *trial) content(body []byte) {
	if y != nil {
		y.body = string(body[:min(len(body), triedBytes)])
	}
}

// ended passes on an exchange that is over. follows: its redirect is followed.
func (y *trial) ended(s *scenario, t *turn, r *takt.Result, next journey.Next, follows bool, took time.Duration) {
	if y == nil {
		return
	}
	at, track := t.at(), t.visit.track
	x := script.Tried{Step: s.Number(at), Request: string(y.request), Status: r.Status, Class: r.Class, TookMS: float64(took.Microseconds()) / 1000, Follows: follows}
	if r.Err != nil {
		x.Error = r.Err.Error()
	}
	if x.Head, x.Body = y.head, y.body; x.Head == "" {
		x.Head, x.Body = readAnswer(y.answer)
	}
	y.request, y.answer, y.head, y.body = nil, nil, "", ""
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

// readAnswer takes an answer apart, of which there may be only a part. Answers before it, such as 103, are left out.
func readAnswer(text []byte) (head, body string) {
	from := bufio.NewReader(bytes.NewReader(text))
	for {
		before, rest, _ := bytes.Cut(text, []byte("\r\n\r\n"))
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			return string(before), ""
		}
		if answer.StatusCode < 200 && answer.StatusCode != http.StatusSwitchingProtocols {
			text = rest
			continue
		}
		b, _ := io.ReadAll(answer.Body) // as much of it as there is
		var k http1.Kept
		k.Add(b, triedBytes, nil)
		c, release := http1.ContentOf(&k, http1.CodingOf(answer.Header.Values("Content-Encoding")))
		defer release()
		return string(before), string(c.Bytes[:min(len(c.Bytes), triedBytes)])
	}
}
