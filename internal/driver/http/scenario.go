package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/journey"
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
	o       *Options
	name    string
	sum     string
	steps   []*step // of all journeys
	tracks  []*track
	reacts  bool           // answers decide which steps a round has, so a schedule is one of rounds
	courses *users.Courses // of the run; nil: all steps of a round are due whatever the answers do
	users   int            // number of users, without a rate
	limit   uint64         // number of rounds for which files have lines; 0: no limit
	leases  []*payload.Lease
	files   []payload.File
	draws   bool         // a capture takes any of several values
	crowd   *users.Crowd // of the run
	trial   *trial       // what tries single rounds; nil: it is a run

	mu      sync.Mutex
	begun   time.Time
	figures []stepFigures
	rounds  roundCounts
}

// roundCounts are how many rounds there were, whose first and last operation count.
type roundCounts struct{ begun, completed, failed uint64 }

// track is one journey: steps of the scenario, one behind the other.
type track struct {
	name   string
	weight float64
	from   int // its first step
	rules  []journey.Step
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
	track   *track
	user    journey.User
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
	place journey.Place
	first bool // of its round
	done  bool // the answer is what the step polls for

	held []steps.Outcome // of each check of the step
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

// fill fills in placeholders for a round. A value that it does not have is empty.
func (s *scenario) fill(v *visit, tmpl *payload.Template) string {
	text, _ := s.fillAll(v, tmpl)
	return text
}

// fillAll is fill, with the name of the first value that the round does not have; "": it has all.
func (s *scenario) fillAll(v *visit, tmpl *payload.Template) (text, missing string) {
	b, missing := tmpl.Fill(nil, v.number, v.session.Value, func(l *payload.Lease) uint64 { return v.lines[slices.Index(s.leases, l)] })
	return string(b), missing
}

// render fills in the placeholders of a step.
func (s *scenario) render(t *turn) error {
	v, at := t.visit, s.steps[t.step]
	var lacks string
	fill := func(tmpl *payload.Template) string {
		text, missing := s.fillAll(v, tmpl)
		lacks = cmp.Or(lacks, missing)
		return text
	}
	q := at.text.Request
	target := fill(at.target)
	q.Header = slices.Clone(q.Header)
	for i, h := range at.header {
		q.Header[i].Value = fill(h)
	}
	if len(q.Body) > 0 {
		q.Body = []byte(fill(at.body))
	}
	if lacks != "" {
		return fmt.Errorf("the round has no value {{%s}}: the step that captures it was passed over, or failed", lacks)
	}
	var err error
	if _, q.Target, err = targetOn(at.text.url, q.Host, target); err != nil {
		return err
	}
	v.target = q.Target
	if c := v.session.Cookies(nil, q.Target, at.text.url.Scheme == "https"); len(c) > 0 && !Header(q.Header).Has("Cookie") {
		q.Header = append(q.Header, http1.Field{Name: "Cookie", Value: string(c)})
	}
	v.request, err = q.AppendTo(v.request[:0])
	return err
}

// visit is a new round.
func (s *scenario) visit(number uint64) *visit {
	v := &visit{number: number, key: strconv.AppendUint(nil, number, 10)}
	draws := rand.New(rand.NewPCG(s.o.seed, number))
	switch v.track = s.tracks[0]; {
	case s.trial != nil:
		v.track = s.trial.track
	case len(s.tracks) > 1:
		v.track = s.trackAt(draws.Float64())
	}
	if s.draws {
		v.session.Draw = draws.IntN
	}
	v.user = journey.User{Self: v, List: v.session.List, Rand: draws}
	return v
}

// trackAt is the journey at a share of the sum of all weights.
func (s *scenario) trackAt(share float64) *track {
	sum := 0.0
	for _, t := range s.tracks {
		sum += t.weight
	}
	at := share * sum
	for _, t := range s.tracks {
		if at -= t.weight; at < 0 {
			return t
		}
	}
	return s.tracks[len(s.tracks)-1]
}

// source makes operations of the rounds.
func (s *scenario) source(base takt.Source) takt.Source {
	numbers := users.Numbers{Part: s.o.part, Parts: s.o.parts, Limit: s.limit}
	for _, l := range s.leases {
		l.Begin(s.o.part, s.o.parts)
	}
	s.figures, s.courses, s.rounds = nil, nil, roundCounts{}
	for _, at := range s.steps {
		f := stepFigures{Figures: steps.New(at.name)}
		for _, c := range at.checks {
			f.Checks = append(f.Checks, steps.Check{Text: c.Text})
		}
		s.figures = append(s.figures, f)
	}
	if s.reacts || s.users > 0 {
		s.courses = users.NewCourses(base, numbers, s.users, func(number uint64) any {
			v := s.visit(number)
			t := s.turn(v, journey.Begin(v.track.rules, v.user))
			t.first = true
			return t
		})
		return s.courses
	}
	visits := map[uint64]*visit{} // only the source uses it
	order := users.Steps{Data: func(round uint64, step int, last bool) any {
		v := visits[round]
		if v == nil {
			v = s.visit(round)
			visits[round] = v
		}
		if last {
			delete(visits, round)
		}
		return &turn{visit: v, step: step, last: last, place: journey.Place{Step: step}}
	}, Numbers: numbers, Seed: s.o.seed}
	for _, at := range s.steps {
		order.Think = append(order.Think, at.think)
	}
	return users.NewRounds(base, order)
}

// turn is the step of a round at a place.
func (s *scenario) turn(v *visit, n journey.Next) *turn {
	return &turn{visit: v, step: v.track.from + n.Step, place: n.Place}
}

// Later is driver.Load.Later: a round that has begun is finished.
func (o *Options) Later() (d time.Duration) {
	s, ok := o.requests.(*scenario)
	if !ok || s.users > 0 {
		return 0
	}
	for _, at := range s.steps {
		d += at.think.Most()
	}
	return d
}

// Reacts is driver.Load.Reacts.
func (o *Options) Reacts() bool {
	s, ok := o.requests.(*scenario)
	return ok && s.reacts
}

// Steps is driver.Load.Steps.
func (o *Options) Steps() (names []string) {
	if s, ok := o.requests.(*scenario); ok {
		for _, at := range s.steps {
			names = append(names, at.name)
		}
	}
	return names
}

// open opens the driver of a run.
func (s *scenario) open(seats int, warmup time.Duration) (*takt.Driver, error) {
	var err error
	var d *takt.Driver
	d, s.crowd, err = s.o.Users(users.Options{
		Seats:  seats + s.users, // a round may begin before the connection of the last one is closed
		Key:    func(op *takt.Op) []byte { return op.Data.(*turn).visit.key },
		Enter:  func(op *takt.Op) bool { return s.lend(op.Data.(*turn).visit) },
		Begin:  func(_ *users.User, op *takt.Op, r *takt.Result) bool { return s.begin(op, r, warmup) },
		End:    func(_ *users.User, op *takt.Op, r *takt.Result, at time.Time) { s.end(op, r, at, warmup) },
		Leaves: func(op *takt.Op) bool { return op.Data.(*turn).last },
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
			if s.courses != nil {
				s.courses.Begin(at, sink.Wake)
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
	t.repeat()
	if err := s.render(t); err != nil {
		r.Class, r.Err = classRequest, fmt.Errorf("step %q: %w", s.steps[t.step].name, err)
	}
	t.visit.sent = time.Now()
	return true
}

// end is users.Options.End.
func (s *scenario) end(op *takt.Op, r *takt.Result, at time.Time, warmup time.Duration) {
	t := op.Data.(*turn)
	response, service := at.Sub(s.begun)-op.Due, at.Sub(t.visit.sent)
	s.checkTimes(t, r, response, service)
	failed := r.Class != ""
	next := journey.Next{Failed: failed}
	if s.courses != nil {
		next = journey.After(t.visit.track.rules, t.place, journey.Result{Class: r.Class, Status: r.Status, Done: t.done}, t.visit.user)
		t.last = next.Over
	}
	s.trial.ended(s, t, r, next, service)
	t.visit.failed = t.visit.failed || next.Failed
	if op.Due >= warmup {
		s.mu.Lock()
		s.countRound(t, next)
		f := &s.figures[t.step]
		if failed {
			f.Failed++
		} else {
			f.OK++
		}
		f.Response.Record(response)
		f.Service.Record(service)
		for i, one := range t.held {
			f.Checks[i].Add(one)
		}
		s.mu.Unlock()
	}
	if t.last || t.visit.failed {
		s.leave(t.visit)
	}
	if s.courses != nil {
		s.follow(t, next, op.Due, at.Sub(s.begun), r)
	}
}

// countRound counts a round that is over, and the steps that it passed over. The caller holds the lock.
func (s *scenario) countRound(t *turn, n journey.Next) {
	for _, i := range n.Passed {
		s.figures[t.visit.track.from+i].Passed++
	}
	if t.first {
		s.rounds.begun++
	}
	switch {
	case !t.last:
	case t.visit.failed:
		s.rounds.failed++
	default:
		s.rounds.completed++
	}
}

// follow does what follows a step, which was due and whose answer came at these instants.
func (s *scenario) follow(t *turn, n journey.Next, due, at time.Duration, r *takt.Result) {
	if n.Over {
		pause := time.Duration(0)
		if n.Failed && r.Status == 0 && r.BytesReceived == 0 {
			pause = failPause
		}
		s.courses.Over(at, pause)
		return
	}
	if s.users > 0 || n.After {
		due = at
	}
	s.courses.Follow(s.turn(t.visit, n), due+n.Wait)
}

// repeat sets the value of the repetition that begins.
func (t *turn) repeat() {
	r := t.visit.track.rules[t.place.Step].Repeat
	if r.Name == "" {
		return
	}
	v := strconv.AppendInt(nil, int64(r.From+t.place.Time()), 10)
	if r.List != "" {
		v = t.visit.session.List(r.List)[t.place.Time()]
	}
	t.visit.session.Set(r.Name, v)
}

// checkTimes asks the checks of the times of an answer that did not fail otherwise.
func (s *scenario) checkTimes(t *turn, r *takt.Result, response, service time.Duration) {
	if r.Class != "" && r.Class != classCheck {
		return
	}
	for i, c := range s.steps[t.step].checks {
		if !c.timed {
			continue
		}
		took := service
		if c.due {
			took = response
		}
		ok := took < c.limit
		t.hold(i, len(s.steps[t.step].checks), ok)
		if !ok && r.Class == "" {
			r.Class, r.Err = classCheck, fmt.Errorf("%w %q: it is %v", session.ErrCheck, c.Text, took)
		}
	}
}

// hold notes what came of check i of n.
func (t *turn) hold(i, n int, ok bool) {
	if t.held == nil {
		t.held = make([]steps.Outcome, n)
	}
	t.held[i] = steps.Failed
	if ok {
		t.held[i] = steps.Passed
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
	s.noteRounds(r)
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

// noteRounds says how many rounds there were, where they and not their steps have a rate.
func (s *scenario) noteRounds(r *takt.Report) {
	if !s.reacts {
		return
	}
	rounds := map[string]any{"begun": float64(s.rounds.begun), "completed": float64(s.rounds.completed), "failed": float64(s.rounds.failed)}
	if r.Rate.Intended != nil {
		rounds["intended_per_s"] = *r.Rate.Intended * float64(s.rounds.begun) / float64(max(1, r.Counts.Scheduled))
	}
	r.Extra[steps.Rounds] = rounds
}

// longThinking is the share of a run for which rounds may go on after the last one has begun, before the
// report says what that does to the rates.
const longThinking = 0.1

// noteThinking says that think times make a run longer than its schedule, which lowers rates over the
// whole run.
func (s *scenario) noteThinking(r *takt.Report) {
	var think time.Duration
	for _, at := range s.steps {
		think += at.think.Mean()
	}
	if s.courses != nil || r.Rate.Intended == nil || think.Seconds() <= longThinking*r.DurationS {
		return
	}
	r.Warn(warn.ThinkTimes, "a round lasts %v with its think times, so the run ends that much later than its schedule, with fewer and fewer steps: its rates are means over all that time, and lower than those of the schedule; %s", takt.Time("round", think), takt.Advice("make the run longer"))
}

// scenarioCodec is the codec of a connection for the steps of a scenario.
type scenarioCodec struct {
	*http1.Codec
	s      *scenario
	turn   *turn      // in flight
	fault  error      // first capture without a value in a header
	status int        // of the answer
	seen   [][][]byte // values in headers, of each of the step's asks

	matches func(http1.Content) error // --expect-body; nil: not given
}

func (s *scenario) codec() takt.Codec {
	c := &scenarioCodec{s: s}
	opt := http1.Options{Fail: c.fails, Field: c.field, Check: c.check, Reads: c.reads, Room: &s.o.room}
	c.matches = s.o.ExpectBody.check()
	c.Codec = http1.NewCodec(s.o.throughProxy(s), opt)
	return c
}

// Append implements takt.Codec.
func (c *scenarioCodec) Append(dst []byte, op *takt.Op) []byte {
	c.turn, c.fault, c.seen = op.Data.(*turn), nil, nil
	c.turn.visit.session.Drop(c.step().captures)
	c.s.trial.begins(c.turn)
	return c.Codec.Append(dst, op)
}

// step is the step whose request is in flight.
func (c *scenarioCodec) step() *step { return c.s.steps[c.turn.step] }

// fails is http1.Options.Fail: a step that checks its status says itself which are right.
func (c *scenarioCodec) fails(status int) string {
	c.status = status
	if slices.ContainsFunc(c.step().asks, func(one *check) bool { return one.status != nil }) {
		return ""
	}
	return c.s.o.FailOn.Class(status)
}

func (c *scenarioCodec) field(name, value []byte) {
	at := c.step()
	for i, one := range at.asks {
		if part, ok := one.Header(name, value); ok {
			if c.seen == nil {
				c.seen = make([][][]byte, len(at.asks))
			}
			c.seen[i] = append(c.seen[i], slices.Clone(part))
		}
	}
	if err := c.turn.visit.session.Field(at.captures, c.turn.visit.target, at.text.url.Scheme == "https", name, value); err != nil && c.fault == nil {
		c.fault = err
	}
}

// reads reports whether anything asks for the body of the answer.
func (c *scenarioCodec) reads() bool {
	return c.matches != nil || slices.ContainsFunc(c.step().captures, func(one session.Capture) bool { return one.InBody() }) ||
		slices.ContainsFunc(c.step().asks, (*check).reads)
}

func (c *scenarioCodec) check(body http1.Content) error {
	if c.matches != nil {
		if err := c.matches(body); err != nil {
			return err
		}
	}
	if done, err := c.awaited(body); !done {
		return err
	}
	if err := c.ask(body); err != nil {
		return err
	}
	if c.fault != nil {
		return c.fault
	}
	c.turn.visit.session.Status = c.status
	return c.turn.visit.session.Body(c.step().captures, body.Bytes, body.Why)
}

// awaited reports whether the answer is what the step polls for; err: it is not, and no other is asked for.
func (c *scenarioCodec) awaited(body http1.Content) (done bool, err error) {
	at, t := c.step(), c.turn
	if at.until == nil {
		return true, nil
	}
	err = c.holds(len(at.checks), body)
	if t.done = err == nil; !t.done && !t.place.IsLastPoll(&t.visit.track.rules[t.place.Step]) {
		err = nil
	}
	return t.done, err
}

// holds asks check i of the step's asks.
func (c *scenarioCodec) holds(i int, body http1.Content) error {
	var values [][]byte
	if c.seen != nil {
		values = c.seen[i]
	}
	one := c.step().asks[i]
	return one.fails(c.status, body, values, c.s.fill(c.turn.visit, one.want))
}

// ask asks all checks of the step but those of times, and returns what is wrong by the first one that does not hold.
func (c *scenarioCodec) ask(body http1.Content) (first error) {
	list := c.step().checks
	for i, one := range list {
		if one.timed {
			continue
		}
		err := c.holds(i, body)
		c.turn.hold(i, len(list), err == nil)
		first = cmp.Or(first, err)
	}
	return first
}

// Parse implements takt.Codec.
func (c *scenarioCodec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	n, p = c.Codec.Parse(in, eof, r)
	c.s.trial.came(in[:n])
	switch {
	case p == takt.More:
	case errors.Is(r.Err, session.ErrCapture):
		r.Class = classCapture
	case errors.Is(r.Err, session.ErrCheck):
		r.Class = classCheck
	}
	return n, p
}
