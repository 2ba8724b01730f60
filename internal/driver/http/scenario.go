package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// classCapture is the class of an answer without a value that the scenario captures.
const classCapture = "capture"

// failPause is how long a user without a schedule rests after a step without an answer. Else it
// would begin thousands of rounds a second at a dead target.
const failPause = 100 * time.Millisecond

// scenario has steps that a user performs in order: a round.
type scenario struct {
	o      *Options
	name   string
	sum    string
	steps  []*step
	closed *users.Circles // of the run, without a rate; nil: a schedule says when rounds begin
	users  int            // number of users, without a rate
	limit  uint64         // number of rounds for which files have lines; 0: no limit
	leases []*payload.Lease
	crowd  *users.Crowd // of the run

	mu      sync.Mutex
	begun   time.Time
	figures []stepFigures
}

// stepFigures are what a run saw of a step.
type stepFigures struct {
	steps.Figures
	early uint64 // skipped in the warm-up
}

// visit is one round of a user.
type visit struct {
	number  uint64
	key     []byte
	lines   []uint64 // lent by each of scenario.leases; nil: the round has not begun; empty: it is over, or no file lends lines
	session session.Session
	failed  bool
	sent    time.Time
	target  string // of the current step, as sent
	request []byte // of the current step
}

// turn is the Data of an operation.
type turn struct {
	visit *visit
	step  int
	last  bool // of its round
}

// Append implements http1.Requests: users.Options.Begin has rendered the request.
func (s *scenario) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	t := op.Data.(*turn)
	m := s.steps[t.step].text
	return append(dst, t.visit.request...), m.Method == http.MethodHead, m.Close || m.SaysClose()
}

// message implements requests; takt's own client sends all scenarios.
func (s *scenario) message(*takt.Op) (*message, error) {
	return nil, errors.New("net/http sends no scenarios")
}

func (s *scenario) describe(v map[string]any) {
	v["scenario"], v["scenario_sha256"], v["steps"] = s.name, s.sum, len(s.steps)
	u := s.steps[0].text.url
	v["scheme"], v["host"] = u.Scheme, u.Host
	if s.users > 0 {
		v["users"] = s.users
	}
}

// shapeUsers makes users of the connections of a closed loop. With a rate, the schedule says how
// many there are.
func (o *Options) shapeUsers(e *engine.Options) {
	if o.users = 0; e.Closed() {
		o.users = cmp.Or(e.Connections, o.givenUsers, heyConnections)
		e.MaxInFlight = o.users
	}
	o.givenUsers = cmp.Or(e.Connections, o.givenUsers) // Shape may be called again
	e.Connections = 0
	o.inFlight, o.warmup = e.InFlight(), e.Warmup
}

// checkScenario refuses flags that mean nothing beside --scenario.
func (o *Options) checkScenario(faults *value.Faults) {
	if o.Scenario == "" {
		return
	}
	faults.If(o.Scenario == stdin, "--scenario is -; name a file, takt reads it before the run")
	faults.If(o.Targets != "", "both --scenario and --targets are given; keep one")
	faults.If(!strings.EqualFold(o.Method, "GET"), "both -m and --scenario are given; drop -m, every step says its own method")
	faults.If(o.Body != "" || o.BodyFile != "", "both a body and --scenario are given; write it in the file, as @body TEXT or @FILE")
	faults.If(o.givenUsers > 0 && !o.closed, "both -c and a rate are given with --scenario; drop -c, each round has a user of its own, and --max-in-flight limits them")
	faults.Add(o.CheckUsers("--scenario"))
}

// buildScenario reads the scenario.
func (o *Options) buildScenario() (faults value.Faults) {
	o.DisableCompression = true // takt reads bodies
	s, err := o.readScenario()
	if err != nil {
		return []error{err}
	}
	s.users = o.users
	for _, l := range s.leases {
		n := l.Len(o.part, o.parts)
		faults.If(n < uint64(max(1, s.users)), "%s lends %d lines to %d users, one each; give it more lines, or lower -c", l.Name(), n, max(1, s.users))
	}
	o.requests = s
	return faults
}

// render fills in the placeholders of a step.
func (s *scenario) render(t *turn) error {
	v, at := t.visit, s.steps[t.step]
	fill := func(tmpl *payload.Template) string {
		b, _ := tmpl.Fill(nil, v.number, v.session.Value, func(l *payload.Lease) uint64 { return v.lines[slices.Index(s.leases, l)] }) // an earlier step has captured each value
		return string(b)
	}
	q := at.text.Request
	var err error
	if _, q.Target, err = targetOn(at.text.url, q.Host, fill(at.target)); err != nil {
		return err
	}
	v.target = q.Target
	q.Header = slices.Clone(q.Header)
	for i, h := range at.header {
		q.Header[i].Value = fill(h)
	}
	if len(q.Body) > 0 {
		q.Body = []byte(fill(at.body))
	}
	if c := v.session.Cookies(nil, q.Target, at.text.url.Scheme == "https"); len(c) > 0 && !Header(q.Header).Has("Cookie") {
		q.Header = append(q.Header, http1.Field{Name: "Cookie", Value: string(c)})
	}
	v.request, err = q.AppendTo(v.request[:0])
	return err
}

// source makes operations of the rounds.
func (s *scenario) source(base takt.Source) takt.Source {
	visits := map[uint64]*visit{} // only the source uses it
	order := users.Steps{Data: func(round uint64, step int, last bool) any {
		v := visits[round]
		if v == nil {
			v = &visit{number: round, key: strconv.AppendUint(nil, round, 10)}
			visits[round] = v
		}
		if last {
			delete(visits, round)
		}
		return &turn{visit: v, step: step, last: last}
	}, Over: func(round uint64) { delete(visits, round) }, Part: s.o.part, Parts: s.o.parts, Limit: s.limit}
	for _, l := range s.leases {
		l.Begin(s.o.part, s.o.parts)
	}
	for _, at := range s.steps {
		order.Think = append(order.Think, at.think)
	}
	s.figures = nil
	for _, at := range s.steps {
		s.figures = append(s.figures, stepFigures{Figures: steps.New(at.name)})
	}
	if s.users == 0 {
		return users.NewRounds(base, order)
	}
	s.closed = users.NewCircles(base, order, s.users)
	return s.closed
}

// Later is driver.Load.Later: a round that has begun is finished.
func (o *Options) Later() (d time.Duration) {
	s, ok := o.requests.(*scenario)
	if !ok || s.users > 0 {
		return 0
	}
	for _, at := range s.steps[1:] {
		d += at.think
	}
	return d
}

// open opens the driver of a run.
func (s *scenario) open(seats int, warmup time.Duration) (*takt.Driver, error) {
	var err error
	var d *takt.Driver
	d, s.crowd, err = s.o.Users(users.Options{
		Seats: seats + s.users, // a round may begin before the connection of the last one is closed
		Key:   func(op *takt.Op) []byte { return op.Data.(*turn).visit.key },
		Enter: func(op *takt.Op) bool { return s.lend(op.Data.(*turn).visit) },
		Begin: func(_ *users.User, op *takt.Op, r *takt.Result) bool { return s.begin(op, r, warmup) },
		End:   func(_ *users.User, op *takt.Op, r *takt.Result, at time.Time) { s.end(op, r, at, warmup) },
		Leaves: func(op *takt.Op) bool {
			t := op.Data.(*turn)
			return t.last || s.closed != nil && t.visit.failed
		},
	})
	if err != nil {
		return nil, err
	}
	open, finish := d.Async, d.Finish
	d.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
		c, err := open(i, sink)
		started := c.Started
		c.Started = func(at time.Time) {
			s.begun = at
			if s.closed != nil {
				s.closed.Begin(sink.Wake)
			}
			started(at)
		}
		return c, err
	}
	d.Finish = func(ctx context.Context, r *takt.Report) error {
		s.finish(r)
		return finish(ctx, r)
	}
	return d, nil
}

// lend gives a round a line of each file whose lines are lent, or none.
func (s *scenario) lend(v *visit) bool {
	if v.lines != nil {
		return true
	}
	lines := make([]uint64, 0, len(s.leases))
	for _, l := range s.leases {
		line, ok := l.Take()
		if !ok {
			s.giveBack(lines)
			return false
		}
		lines = append(lines, line)
	}
	v.lines = lines
	return true
}

// giveBack takes lines back that the first leases have lent.
func (s *scenario) giveBack(lines []uint64) {
	for i, line := range lines {
		s.leases[i].Give(line)
	}
}

// leave takes the lines of a round back, which is over, and lets in a round that waits for them.
func (s *scenario) leave(v *visit) {
	if len(v.lines) == 0 {
		return
	}
	s.giveBack(v.lines)
	v.lines = v.lines[:0]
	s.crowd.Admit()
}

// begin is users.Options.Begin.
func (s *scenario) begin(op *takt.Op, r *takt.Result, warmup time.Duration) bool {
	t := op.Data.(*turn)
	if t.visit.failed {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f := &s.figures[t.step]; op.Due >= warmup {
			f.Skipped++
		} else {
			f.early++
		}
		return false
	}
	if err := s.render(t); err != nil {
		r.Class, r.Err = classRequest, fmt.Errorf("step %q: %w", s.steps[t.step].name, err)
	}
	t.visit.sent = time.Now()
	return true
}

// end is users.Options.End.
func (s *scenario) end(op *takt.Op, r *takt.Result, at time.Time, warmup time.Duration) {
	t := op.Data.(*turn)
	failed := r.Class != ""
	t.visit.failed = t.visit.failed || failed
	if op.Due >= warmup {
		s.mu.Lock()
		f := &s.figures[t.step]
		if failed {
			f.Failed++
		} else {
			f.OK++
		}
		f.Response.Record(at.Sub(s.begun) - op.Due)
		f.Service.Record(at.Sub(t.visit.sent))
		s.mu.Unlock()
	}
	if t.last || failed {
		s.leave(t.visit)
	}
	if s.closed != nil {
		pause := time.Duration(0)
		if failed && r.Status == 0 && r.BytesReceived == 0 {
			pause = failPause
		}
		s.closed.Ended(t.visit.number, t.step, failed, at, pause)
	}
}

// finish adds the figures of the steps to the report.
func (s *scenario) finish(r *takt.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []steps.Figures
	var skipped, early uint64
	for _, f := range s.figures {
		skipped, early = skipped+f.Skipped, early+f.early
		list = append(list, f.Figures)
	}
	r.Extra[steps.Key] = steps.Rows(list)
	s.noteThinking(r)
	s.noteBarred(r)
	if skipped+early == 0 {
		return
	}
	if r.Counts.Dropped+r.WarmupCounts.Dropped <= skipped+early {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == warn.Dropped })
	}
	r.Warn(warn.StepsSkipped, "%d steps were not sent, because an earlier step of their round failed: they count as dropped and are in no percentile", takt.Number("skipped", skipped+early))
}

// noteBarred says that rounds waited for lines that others had.
func (s *scenario) noteBarred(r *takt.Report) {
	n := s.crowd.Seen().Barred
	if n == 0 {
		return
	}
	var names []string
	for _, l := range s.leases {
		names = append(names, fmt.Sprintf("%s (%d)", l.Name(), l.Len(s.o.part, s.o.parts)))
	}
	r.Warn(warn.LinesLent, "%d rounds waited until a line of %s was free: each line is lent to one round at a time; that time is in their response time; %s",
		takt.Number("waited", n), strings.Join(names, ", "), takt.Advice("give the file more lines, or lower --rate"))
}

// longThinking is the share of a run for which rounds may go on after the last one has begun, before the
// report says what that does to the rates.
const longThinking = 0.1

// noteThinking says that think times make a run longer than its schedule, which lowers rates over the
// whole run.
func (s *scenario) noteThinking(r *takt.Report) {
	var think time.Duration
	for _, at := range s.steps {
		think += at.think
	}
	if s.closed != nil || r.Rate.Intended == nil || think.Seconds() <= longThinking*r.DurationS {
		return
	}
	r.Warn(warn.ThinkTimes, "a round lasts %v with its think times, so the run ends that much later than its schedule, with fewer and fewer steps: its rates are means over all that time, and lower than those of the schedule; %s", takt.Time("round", think), takt.Advice("make the run longer"))
}

// scenarioCodec is the codec of a connection for the steps of a scenario.
type scenarioCodec struct {
	*http1.Codec
	s     *scenario
	turn  *turn // in flight
	fault error // first capture without a value in a header

	matches func(http1.Content) error // --expect-body; nil: not given
}

func (s *scenario) codec() takt.Codec {
	c := &scenarioCodec{s: s}
	opt := http1.Options{Fail: s.o.FailOn.Class, Field: c.field, Check: c.check, Reads: c.reads, Room: &s.o.room}
	c.matches = s.o.ExpectBody.check()
	c.Codec = http1.NewCodec(s.o.throughProxy(s), opt)
	return c
}

// Append implements takt.Codec.
func (c *scenarioCodec) Append(dst []byte, op *takt.Op) []byte {
	c.turn, c.fault = op.Data.(*turn), nil
	c.turn.visit.session.Drop(c.s.steps[c.turn.step].captures)
	return c.Codec.Append(dst, op)
}

func (c *scenarioCodec) field(name, value []byte) {
	at := c.s.steps[c.turn.step]
	if err := c.turn.visit.session.Field(at.captures, c.turn.visit.target, at.text.url.Scheme == "https", name, value); err != nil && c.fault == nil {
		c.fault = err
	}
}

// reads reports whether anything asks for the body of the answer.
func (c *scenarioCodec) reads() bool {
	return c.matches != nil || slices.ContainsFunc(c.s.steps[c.turn.step].captures, func(one session.Capture) bool { return one.InBody() })
}

func (c *scenarioCodec) check(body http1.Content) error {
	if c.matches != nil {
		if err := c.matches(body); err != nil {
			return err
		}
	}
	if c.fault != nil {
		return c.fault
	}
	return c.turn.visit.session.Body(c.s.steps[c.turn.step].captures, body.Bytes, body.Why)
}

// Parse implements takt.Codec.
func (c *scenarioCodec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	if n, p = c.Codec.Parse(in, eof, r); p != takt.More && errors.Is(r.Err, session.ErrCapture) {
		r.Class = classCapture
	}
	return n, p
}
