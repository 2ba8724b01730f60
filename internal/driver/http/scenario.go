package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// classCapture is the class of an answer without a value that the scenario captures.
const classCapture = "capture"

// scenario performs the steps of a file: a user performs them in order, in a round.
type scenario struct {
	script.File
	o       *Options
	courses *users.Courses  // of the run; nil: all steps of a round are due whatever the answers do
	users   int             // number of users, without a rate
	crowd   *users.Crowd    // of the run
	keeper  *visit          // who has performed @setup; nil: nobody, or @teardown is over
	given   session.Session // has the values of @setup
	trial   *trial          // what tries single rounds; nil: it is a run

	mu      sync.Mutex
	begun   time.Time
	figures []stepFigures
	rounds  steps.RoundCounts
	late    uint64 // rounds that lasted longer than their pace

	followed uint64 // redirects
}

// stepFigures are what a run saw of a step.
type stepFigures struct {
	steps.Figures
	early uint64 // skipped in the warm-up
}

// visit is one round of a user.
type visit struct {
	of      *scenario
	number  uint64
	key     []byte
	track   *script.Track
	user    journey.User
	lines   []uint64 // lent by each of scenario.leases; nil: the round has not begun; empty: it is over, or no file lends lines
	session session.Session
	failed  bool
	done    []*script.Step // with @once, which have succeeded
	again   uint64         // repetition of the current step, from 0
	next    time.Time      // when the user may begin the next round
	sent    time.Time
	place   session.Place // of the current step, as sent
	server  int           // of the current step: index in scenario.hosts
	asked   http1.Request // of the current step
	request []byte        // the same, rendered
}

// turn is the Data of an operation.
type turn struct {
	visit  *visit
	last   bool // of its round
	place  journey.Place
	first  bool  // of its round
	passed []int // steps before the first one, that were passed over
	done   bool  // the answer is what the step polls for

	asks     []*script.Check // of the step, with the values of the round
	hop      *hop            // nil: the request is that of the step
	location string          // of the answer, if the step follows redirects; "": none

	held   []steps.Outcome // of each check of the step
	counts func()          // adds the operation to the figures, whose lock is held, once it is in the report; nil: there is nothing to add
}

// at is the step.
func (t *turn) at() *script.Step { return t.visit.track.Steps[t.place.Step] }

// row is the number of the step in the report.
func (t *turn) row() int { return t.visit.track.From + t.place.Step }

// makesValues reports whether a repetition of the step begins: it is not tried or polled again, and follows no redirect.
func (t *turn) makesValues() bool { return t.hop == nil && t.place.IsFirst() }

// StepNumber implements engine.Stepped.
func (t *turn) StepNumber() int32 { return int32(t.row()) + 1 }

// RoundNumber is the number of the step's round, for internal/sim.
func (t *turn) RoundNumber() uint64 { return t.visit.number }

// UserName is the name of the step's user, for internal/sim.
func (t *turn) UserName() string { return string(t.visit.key) }

// IsFirst implements engine.Stepped.
func (t *turn) IsFirst() bool { return t.first }

// Counts implements engine.Stepped. An operation that ends as the run is cut is in both the report and the rows of its
// steps, or in neither.
func (t *turn) Counts() {
	if t.counts == nil {
		return
	}
	t.visit.of.mu.Lock()
	defer t.visit.of.mu.Unlock()
	t.counts()
}

// Overflow implements engine.Stepped: the round does not begin. Nobody else has its visit yet.
func (t *turn) Overflow(due time.Duration) {
	t.visit.failed = true
	s := t.visit.of
	if s.courses != nil {
		s.courses.Over(nil, 0, 0)
	}
	if due >= s.o.warmup {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.figures[t.row()].Skipped++
		s.rounds.Dropped++
	}
}

// Append implements http1.Requests: users.Options.Begin has rendered the request.
func (s *scenario) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	t := op.Data.(*turn)
	m := t.at().Text
	return append(dst, t.visit.request...), m.Method == http.MethodHead, m.Close || m.SaysClose()
}

// Message implements requests; takt's own client sends all scenarios.
func (s *scenario) Message(*takt.Op) (*httpreq.Message, error) {
	return nil, errors.New("net/http sends no scenarios")
}

func (s *scenario) Describe(v map[string]any) {
	v["scenario"], v["scenario_sha256"], v["steps"] = s.Name, s.Sum, len(s.Steps)
	v["scheme"], v["host"] = s.Hosts[0].Scheme, s.Hosts[0].Host
	if len(s.Hosts) > 1 {
		v["other_hosts"] = strings.Join(s.Hosts[1:].Names(), ", ")
	}
	if s.users > 0 {
		v["users"] = s.users
	}
}

// fill fills in placeholders for a round. A value that it does not have is empty.
func (s *scenario) fill(v *visit, tmpl *payload.Template) string {
	text, _ := s.fillAll(v, tmpl)
	return text
}

// fillAll is fill, with the name of the first value that the round does not have; "": it has all.
func (s *scenario) fillAll(v *visit, tmpl *payload.Template) (text, missing string) {
	b, missing := tmpl.Fill(nil, v.number, v.again, v.session.Value, func(l *payload.Lease) uint64 { return v.lines[slices.Index(s.Leases, l)] })
	return string(b), missing
}

// render fills in the placeholders of a step.
func (s *scenario) render(t *turn) error {
	v, at := t.visit, t.at()
	if err := s.makeValues(t); err != nil {
		return err
	}
	var missing string
	fill := func(tmpl *payload.Template) string {
		text, lacks := s.fillAll(v, tmpl)
		missing = cmp.Or(missing, lacks)
		return text
	}
	q := at.Text.Request
	target := fill(at.Target)
	q.Header = slices.Clone(q.Header)
	for i, h := range at.Header {
		q.Header[i].Value = fill(h)
	}
	if len(q.Body) > 0 {
		q.Body = []byte(fill(at.Body))
	}
	if missing != "" {
		return lacks(missing)
	}
	if strings.HasPrefix(at.Text.Target, httpreq.Placeholder) {
		target, _, _ = strings.Cut(target, "#") // of a Location, whose fragment is for browsers: RFC 9110, 10.2.2
	}
	base, alias, own := at.Text.URL, q.Host, at.Own
	if t.hop != nil {
		t.hop.apply(&q)
		base, alias, own, target = s.Hosts[v.server], v.asked.Host, 0, t.hop.to
	}
	_, server, path, err := s.Hosts.Locate(base, alias, target)
	if err != nil {
		return err
	}
	if !httpreq.SameOrigin(server, at.Text.URL) {
		q.Host, q.Header = httpreq.WithoutZone(server.Host), httpreq.WithoutCredentials(q.Header, own)
	}
	q.Target, v.server = path, s.Hosts.Index(server)
	v.place = session.Place{Host: server.Hostname(), Path: path, Secure: server.Scheme == "https"}
	if c := v.session.Cookies(nil, v.place); len(c) > 0 && !httpreq.Header(q.Header).Has("Cookie") {
		q.Header = append(q.Header, http1.Field{Name: "Cookie", Value: string(c)})
	}
	v.asked = q
	v.request, err = q.AppendTo(v.request[:0])
	return err
}

// serverOf is the index of the server that the operation of a scenario goes to.
func serverOf(op *takt.Op) int { return op.Data.(*turn).visit.server }

// Value implements round.
func (v *visit) Value(name string) []byte { return v.session.Value(name) }

// Fill implements round.
func (v *visit) Fill(t *payload.Template) string { return v.of.fill(v, t) }

// Did implements round.
func (v *visit) Did(at *script.Step) bool { return slices.Contains(v.done, at) }

// visit is a round of a new user.
func (s *scenario) visit(number uint64) *visit {
	return s.round(&visit{of: s, key: strconv.AppendUint(nil, number, 10)}, number)
}

// round begins a round of a user.
func (s *scenario) round(v *visit, number uint64) *visit {
	v.number, v.failed, v.next = number, false, time.Time{}
	v.session.Begin(s.Lasting, &s.given)
	draws := rand.New(rand.NewPCG(s.o.seed, number))
	switch v.track = s.Tracks[0]; {
	case s.trial != nil:
		v.track = s.Tracks[number%uint64(len(s.Tracks))]
	case len(s.Tracks) > 1:
		v.track = s.trackAt(draws.Float64())
	}
	if s.Draws {
		v.session.Draw = draws.IntN
	}
	v.user = journey.User{Self: v, List: v.session.List, Rand: draws, Lose: func(i int) {
		for _, name := range v.track.Steps[i].Values() {
			v.session.Unset(name)
		}
	}}
	return v
}

// trackAt is the journey at a share of the sum of all weights.
func (s *scenario) trackAt(share float64) *script.Track {
	sum := 0.0
	for _, t := range s.Tracks {
		sum += t.Weight
	}
	at := share * sum
	for _, t := range s.Tracks {
		if at -= t.Weight; at < 0 {
			return t
		}
	}
	return s.Tracks[len(s.Tracks)-1]
}

// source makes operations of the rounds.
func (s *scenario) source(base takt.Source) takt.Source {
	numbers := users.Numbers{Part: s.o.part, Parts: s.o.parts, Limit: s.Limit}
	for _, l := range s.Leases {
		l.Begin(s.o.part, s.o.parts)
	}
	s.figures, s.courses, s.rounds, s.late, s.followed = nil, nil, steps.RoundCounts{}, 0, 0
	for _, at := range s.Steps {
		f := stepFigures{Figures: steps.New(at.Name)}
		for _, c := range at.Checks {
			f.Checks = append(f.Checks, steps.Check{Text: c.Text})
		}
		s.figures = append(s.figures, f)
	}
	if s.Reacts || s.users > 0 {
		s.courses = users.NewCourses(base, numbers, s.users, s.o.Later(), func(number uint64, user any) (any, time.Duration) {
			v, again := user.(*visit)
			if again {
				v = s.round(v, number)
			} else {
				v = s.visit(number)
			}
			n := journey.Begin(v.track.Rules, v.user)
			t := s.turn(v, n)
			t.first, t.passed = true, n.Passed
			return t, n.Wait
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
		return &turn{visit: v, first: step == 0, last: last, place: journey.Place{Step: step}}
	}, Numbers: numbers, Seed: s.o.seed}
	for _, at := range s.Steps {
		order.Think = append(order.Think, at.Think)
	}
	return users.NewRounds(base, order)
}

// turn is the step of a round at a place.
func (s *scenario) turn(v *visit, n journey.Next) *turn {
	return &turn{visit: v, place: n.Place}
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
		Leaves: func(op *takt.Op) bool { return op.Data.(*turn).last && !s.Lasts },
	})
	if err != nil {
		return nil, err
	}
	s.keeper, s.given = nil, session.Session{}
	d.Setup = s.setUp
	open, finish, closing := d.Async, d.Finish, d.Close
	d.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
		c, err := open(i, sink)
		started := c.Started
		c.Started = func(at time.Time) {
			s.begun = at
			if s.courses != nil {
				s.courses.Begin(sink.Wake)
			}
			started(at)
		}
		return c, err
	}
	d.Finish = func(ctx context.Context, r *takt.Report) error {
		s.finish(r)
		s.noteTearDown(ctx, r)
		return finish(ctx, r)
	}
	d.Close = func() error {
		_ = s.tearDown(context.Background()) // of a run that ended before its start, which has another error
		return closing()
	}
	return d, nil
}

// lend gives a round a line of each file whose lines are lent, or none.
func (s *scenario) lend(v *visit) bool {
	if v.lines != nil || v.failed {
		return true
	}
	lines := make([]uint64, 0, len(s.Leases))
	for _, l := range s.Leases {
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
		s.Leases[i].Give(line)
	}
}

// leave takes the lines of a round back, which is over, and lets in a round that waits for them.
func (s *scenario) leave(v *visit) {
	if len(v.lines) == 0 || s.Lasts {
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
		f, early := &s.figures[t.row()], op.Due < warmup
		t.counts = func() {
			if early {
				f.early++
			} else {
				f.Skipped++
			}
		}
		return false
	}
	s.prepare(t, r)
	if pace := t.visit.track.Steps[0].Pace; t.first && pace != nil {
		t.visit.next = t.visit.sent.Add(pace.Draw(t.visit.user.Rand))
	}
	return true
}

// prepare makes the request of a step. If that fails, so does the operation, which is not sent.
func (s *scenario) prepare(t *turn, r *takt.Result) {
	t.visit.again = uint64(t.place.Time())
	if t.makesValues() {
		t.repeat()
	}
	err := s.render(t)
	if err == nil {
		t.asks, err = t.at().AsksFor(t.visit.session.Value)
	}
	if err != nil {
		r.Class, r.Err = classRequest, fmt.Errorf("step %q: %w", t.at().Name, err)
	}
	t.visit.session.Drop(t.at().Captures) // also if no answer comes
	t.visit.sent = engine.WorldOf(s.o.World).Now()
}

// end is users.Options.End.
func (s *scenario) end(op *takt.Op, r *takt.Result, at time.Time, warmup time.Duration) {
	t := op.Data.(*turn)
	response, service := at.Sub(s.begun)-op.Due, at.Sub(t.visit.sent)
	follower := s.follower(t, r)
	if follower == nil {
		s.checkTimes(t, r, response, service)
	}
	failed := r.Class != ""
	next := journey.Next{Failed: failed}
	if s.courses != nil && follower == nil {
		next = journey.After(t.visit.track.Rules, t.place, journey.Result{Class: r.Class, Status: r.Status, Done: t.done}, t.visit.user)
		t.last = next.Over
	}
	s.trial.ended(s, t, r, next, follower != nil, service)
	t.visit.failed = t.visit.failed || next.Failed
	if s.Lasts && follower == nil && t.at().Once && !failed && (next.Over || next.Step != t.place.Step) {
		t.visit.done = append(t.visit.done, t.at())
	}
	if op.Due >= warmup {
		// The visit may be in its next round when the figures are counted.
		broken, late, from, f := t.visit.failed, t.last && at.After(t.visit.next) && !t.visit.next.IsZero(), t.visit.track.From, &s.figures[t.row()]
		t.counts = func() {
			s.countRound(t, next, from, broken)
			if late {
				s.late++
			}
			if follower != nil {
				s.followed++
			}
			f.count(failed, response, service, t.held)
		}
	}
	if t.last || t.visit.failed {
		s.leave(t.visit)
	}
	if follower != nil {
		s.courses.Follow(follower, at.Sub(s.begun))
	} else if s.courses != nil {
		s.follow(t, next, op.Due, at.Sub(s.begun), r)
	}
}

// count adds an operation of the step.
func (f *stepFigures) count(failed bool, response, service time.Duration, held []steps.Outcome) {
	f.Count(failed, response, service)
	for i, one := range held {
		f.Checks[i].Add(one)
	}
}

// countRound counts a round that is over, and the steps that it passed over, of a journey that begins with the step from.
// The caller holds the lock.
func (s *scenario) countRound(t *turn, n journey.Next, from int, broken bool) {
	for _, i := range slices.Concat(t.passed, n.Passed) {
		s.figures[from+i].Passed++
	}
	if t.first {
		s.rounds.Begun++
	}
	switch {
	case broken:
		s.rounds.Failed++
	case t.last && (s.courses != nil || from+t.place.Step == len(s.Steps)-1): // the schedule may end within a round
		s.rounds.Completed++
	}
}

// follow does what follows a step, which was due and whose answer came at these instants.
func (s *scenario) follow(t *turn, n journey.Next, due, at time.Duration, r *takt.Result) {
	if n.Over {
		pause := t.visit.track.Steps[0].Rest.Draw(t.visit.user.Rand)
		if n.Failed && r.Status == 0 && r.BytesReceived == 0 {
			pause = max(pause, users.FailPause)
		}
		if next := t.visit.next; !next.IsZero() {
			pause = max(pause, next.Sub(s.begun)-at)
		}
		var user any
		if s.Lasts {
			user = t.visit
		}
		s.courses.Over(user, at, pause)
		return
	}
	if s.users > 0 || n.After {
		due = at
	}
	s.courses.Follow(s.turn(t.visit, n), due+n.Wait)
}

// repeat sets the value of the repetition that begins.
func (t *turn) repeat() {
	r := t.visit.track.Rules[t.place.Step].Repeat
	if r.Name == "" {
		return
	}
	v := strconv.AppendInt(nil, int64(r.Number(t.place.Time())), 10)
	if list := t.visit.session.List(r.List); t.place.Time() < len(list) {
		v = list[t.place.Time()]
	}
	t.visit.session.Set(r.Name, v)
}

// checkTimes asks the checks of the times of an answer that did not fail otherwise.
func (s *scenario) checkTimes(t *turn, r *takt.Result, response, service time.Duration) {
	if r.Class != "" && r.Class != script.ClassCheck {
		return
	}
	for i, c := range t.at().Checks {
		if !c.Timed {
			continue
		}
		took := service
		if c.Due {
			took = response
		}
		ok := took < c.Limit
		t.hold(i, len(t.at().Checks), ok)
		if !ok && r.Class == "" {
			r.Class, r.Err = script.ClassCheck, fmt.Errorf("%w %q: it is %v", session.ErrCheck, c.Text, took)
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
	s.noteCut(r)
	s.notePace(r)
	s.noteBarred(r)
	if skipped -= s.rounds.Dropped; skipped+early == 0 {
		return
	}
	if r.Counts.Dropped+r.WarmupCounts.Dropped <= skipped+early {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == warn.Dropped })
	}
	r.Warn(warn.StepsSkipped, "%d steps were not sent, because an earlier step of their round failed or was dropped: they count as dropped and are in no percentile", takt.Number("skipped", skipped+early))
}

// noteBarred says that rounds waited for lines that others had.
func (s *scenario) noteBarred(r *takt.Report) {
	n := s.crowd.Seen().Barred
	if n == 0 {
		return
	}
	var names []string
	for _, l := range s.Leases {
		names = append(names, fmt.Sprintf("%s (%d)", l.Name(), l.Len(s.o.part, s.o.parts)))
	}
	r.Warn(warn.LinesLent, "%d rounds waited until a line of %s was free: each line is lent to one round at a time; that time is in their response time; %s",
		takt.Number("waited", n), strings.Join(names, ", "), takt.Advice("give the file more lines, or lower --rate"))
}

// noteRounds says how many rounds there were, where they and not their steps have a rate.
func (s *scenario) noteRounds(r *takt.Report) {
	if !s.Reacts && !s.o.Rounds.Given() {
		return
	}
	rounds := s.rounds.Of(r)
	if asked, constant := s.o.Rounds.Constant(); constant && !s.Reacts && s.o.Rounds.Given() {
		rounds[steps.Asked] = asked
	}
	r.Extra[steps.Rounds] = rounds
}

// noteCut says how many rounds were cut.
func (s *scenario) noteCut(r *takt.Report) {
	if s.courses != nil {
		s.courses.NoteCut(r, "raise --drain, or ask fewer times with @poll and @retry")
	}
}

// longThinking is the share of a run for which rounds may go on after the last one has begun, before the
// report says what that does to the rates.
const longThinking = 0.1

// noteThinking says that think times make a run longer than its schedule, which lowers rates over the
// whole run.
func (s *scenario) noteThinking(r *takt.Report) {
	var think time.Duration
	for _, at := range s.Steps {
		think += at.Think.Mean()
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

// codec is that of a connection to u.
func (s *scenario) codec(u *url.URL) takt.Codec {
	c := &scenarioCodec{s: s, matches: s.o.ExpectBody.Check()}
	c.Codec = http1.NewCodec(s.o.throughProxyTo(u, s), c.options())
	return c
}

// options are what the codec asks answers.
func (c *scenarioCodec) options() http1.Options {
	opt := c.s.o.judging()
	opt.Fail, opt.Field, opt.Check, opt.Reads = c.fails, c.field, c.check, c.reads
	return opt
}

// Append implements takt.Codec.
func (c *scenarioCodec) Append(dst []byte, op *takt.Op) []byte {
	c.begin(op)
	return c.Codec.Append(dst, op)
}

// begin makes c ready for the answer to op.
func (c *scenarioCodec) begin(op *takt.Op) {
	c.turn, c.fault, c.seen = op.Data.(*turn), nil, nil
}

// step is the step whose request is in flight.
func (c *scenarioCodec) step() *script.Step { return c.turn.at() }

// fails is http1.Options.Fail: a step that checks its status says itself which are right.
func (c *scenarioCodec) fails(status int) string {
	c.status = status
	if c.s.redirected(c.turn, status) {
		return ""
	}
	if slices.ContainsFunc(c.turn.asks, func(one *script.Check) bool { return one.Status != nil }) {
		return ""
	}
	return c.s.o.FailOn.Class(status)
}

func (c *scenarioCodec) field(name, value []byte) {
	at := c.step()
	if at.Follow > 0 && strings.EqualFold(string(name), "Location") {
		c.turn.location = string(value)
	}
	for i, one := range c.turn.asks {
		if part, ok := one.Header(name, value); ok {
			if c.seen == nil {
				c.seen = make([][][]byte, len(c.turn.asks))
			}
			c.seen[i] = append(c.seen[i], slices.Clone(part))
		}
	}
	if err := c.turn.visit.session.Field(at.Captures, c.turn.visit.place, name, value); err != nil && c.fault == nil {
		c.fault = err
	}
}

// reads reports whether anything asks for the body of the answer.
func (c *scenarioCodec) reads() bool {
	return c.matches != nil || slices.ContainsFunc(c.step().Captures, func(one session.Capture) bool { return one.InBody() }) ||
		slices.ContainsFunc(c.turn.asks, (*script.Check).Reads)
}

func (c *scenarioCodec) check(body http1.Content) error {
	if c.s.redirected(c.turn, c.status) {
		return c.s.checkHops(c.turn)
	}
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
	return c.turn.visit.session.Body(c.step().Captures, body.Bytes, body.Why)
}

// awaited reports whether the answer is what the step polls for; err: it is not, and no other is asked for.
func (c *scenarioCodec) awaited(body http1.Content) (done bool, err error) {
	at, t := c.step(), c.turn
	if at.Until == nil {
		return true, nil
	}
	err = c.holds(len(at.Checks), body)
	if t.done = err == nil; !t.done && !t.place.IsLastPoll(&t.visit.track.Rules[t.place.Step]) {
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
	one := c.turn.asks[i]
	return one.Fails(c.status, body, values, c.s.fill(c.turn.visit, one.Want))
}

// ask asks all checks of the step but those of times, and returns what is wrong by the first one that does not hold.
func (c *scenarioCodec) ask(body http1.Content) (first error) {
	list := c.step().Checks
	for i, one := range list {
		if one.Timed {
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
	if p != takt.More {
		classify(r)
	}
	return n, p
}

// classify gives an answer without a value, or whose check does not hold, its class.
func classify(r *takt.Result) {
	switch {
	case errors.Is(r.Err, session.ErrCapture):
		r.Class = classCapture
	case errors.Is(r.Err, session.ErrCheck):
		r.Class = script.ClassCheck
	}
}
