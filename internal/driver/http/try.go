package http

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/pkg/takt"
)

// Tried is one exchange of a round that is tried.
type Tried struct {
	Step     int          `json:"-"`                 // from 1
	Request  string       `json:"request,omitempty"` // beginning of it
	Head     string       `json:"head,omitempty"`    // of the answer
	Body     string       `json:"body,omitempty"`    // beginning of the answer's body, decoded
	Status   int          `json:"status,omitempty"`
	Class    string       `json:"class,omitempty"` // of the failure; "": it is ok
	Error    string       `json:"error,omitempty"`
	TookMS   float64      `json:"service_ms"`
	Checks   []TriedCheck `json:"checks,omitempty"`
	Captured []TriedValue `json:"captured,omitempty"`
	Passed   []int        `json:"passed_over,omitempty"` // steps behind this one whose conditions do not hold, from 1
	Again    bool         `json:"again,omitempty"`       // the same step follows: a retry, a poll or a repetition
}

// TriedCheck is what came of a check.
type TriedCheck struct {
	Text string `json:"text"`
	OK   bool   `json:"ok"`
}

// TriedValue is a captured value, or the first of a list.
type TriedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Of    int    `json:"of,omitempty"` // values of the list
}

// trial is one round of a journey that is tried. Its exchanges come one after the other.
type trial struct {
	track           *track
	request, answer []byte
	seen            func(Tried)
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

// Try sends one round of each journey, without think times, and passes each exchange to seen. It needs Validate.
func (o *Options) Try(ctx context.Context, e engine.Options, abort <-chan struct{}, seen func(Tried)) error {
	s := o.requests.(*scenario)
	s.limit = 1
	for _, t := range s.tracks {
		for i := range t.rules {
			t.rules[i].Think = dist.Time{}
		}
		s.trial = &trial{track: t, seen: seen}
		if err := o.tryRound(ctx, e, abort); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (o *Options) tryRound(ctx context.Context, e engine.Options, abort <-chan struct{}) error {
	base, err := e.Source()
	if err != nil {
		return err
	}
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
		y.request, y.answer = slices.Clone(t.visit.request[:min(len(t.visit.request), triedBytes)]), nil
	}
}

// came notes a part of an answer.
func (y *trial) came(part []byte) {
	if y != nil {
		y.answer = append(y.answer, part[:min(len(part), triedBytes-len(y.answer))]...)
	}
}

// ended passes on an exchange that is over.
func (y *trial) ended(s *scenario, t *turn, r *takt.Result, next journey.Next, took time.Duration) {
	if y == nil {
		return
	}
	at := s.steps[t.step]
	x := Tried{Step: t.step + 1, Request: string(y.request), Status: r.Status, Class: r.Class, TookMS: float64(took.Microseconds()) / 1000}
	y.request = nil
	if r.Err != nil {
		x.Error = r.Err.Error()
	}
	x.Head, x.Body = readAnswer(y.answer)
	y.answer = nil
	for i, one := range t.held {
		if one != steps.Unasked {
			x.Checks = append(x.Checks, TriedCheck{at.checks[i].Text, one == steps.Passed})
		}
	}
	for i := range at.captures {
		c := &at.captures[i]
		if v := t.visit.session.Value(c.Name); v != nil && r.Class == "" {
			x.Captured = append(x.Captured, TriedValue{c.Name, string(v), len(t.visit.session.List(c.Name))})
		}
	}
	for _, i := range next.Passed {
		x.Passed = append(x.Passed, t.visit.track.from+i+1)
	}
	x.Again = !next.Over && t.visit.track.from+next.Step == t.step
	y.seen(x)
}

// readAnswer takes an answer apart, of which there may be only a part.
func readAnswer(text []byte) (head, body string) {
	before, _, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
	if err != nil {
		return string(before), ""
	}
	var from io.Reader = answer.Body
	if strings.EqualFold(answer.Header.Get("Content-Encoding"), "gzip") {
		if z, err := gzip.NewReader(from); err == nil {
			from = z
		}
	}
	b, _ := io.ReadAll(io.LimitReader(from, triedBytes)) // as much of it as there is
	return string(before), string(b)
}
