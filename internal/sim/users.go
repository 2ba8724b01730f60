package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// try is an operation of a user: one request of a step, or the step that was not sent.
type try struct {
	seq     uint64
	round   uint64
	user    string
	step    int // from 0
	due     time.Duration
	begun   bool
	sent    time.Duration // when it began, in the world's time
	conns   []*conn       // on which its user sent meanwhile
	dropped bool
	ended   bool
	done    time.Duration // when its end was told, in the world's time
	status  int
	class   string
	silent  bool // no byte of an answer came
}

// said is what an answer to a user has in its body.
type said struct {
	done, right bool
	value       string // "": there is none
	items       int
}

// crowd is what the simulator sees of the users of a run, between the engine and the driver of takt http.
type crowd struct {
	w       *world
	options engine.Options
	tries   []*try
	open    map[uint64]*try // by token
	bySeq   map[uint64]*try
}

// openUsers makes the driver of users: that of takt http, in this world.
func (w *world) openUsers(o *engine.Options) (takt.Source, *takt.Driver, error) {
	h := http.New()
	h.World, h.Scenario, h.ScenarioFile = w, "script", strings.NewReader(w.sc.Script.String())
	h.Timeout, h.ConnectTimeout, h.HTTP2 = w.sc.Timeout, w.sc.ConnectTimeout, w.sc.H2
	if w.sc.PerRound {
		h.Rounds, o.Rate = o.Rate, engine.Rate{}
	}
	drain := o.Drain
	h.Shape(o)
	o.Drain = drain
	if err := errors.Join(append(h.Validate([]string{"http://" + address.String() + "/"}), o.Validate()...)...); err != nil {
		return nil, nil, err
	}
	src, err := o.Source()
	if err == nil {
		src, err = h.Source(context.Background(), src)
	}
	if err != nil {
		return nil, nil, err
	}
	d, err := h.Open(context.Background(), 1)
	if err != nil {
		return nil, nil, err
	}
	w.users = &crowd{w: w, options: *o, open: map[uint64]*try{}, bySeq: map[uint64]*try{}}
	open := d.Async
	d.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
		c, err := open(i, &watchedSink{sink, w.users})
		start := c.Start
		c.Start = func(op *takt.Op) error {
			w.users.start(op)
			return start(op)
		}
		return c, err
	}
	return src, d, nil
}

// numbered is the Data of a step's operation.
type numbered interface {
	engine.Stepped
	RoundNumber() uint64
	UserName() string
}

// start notes an operation that the engine hands over.
func (c *crowd) start(op *takt.Op) {
	step := op.Data.(numbered) // as the driver made it
	t := &try{seq: op.Seq, round: step.RoundNumber(), user: step.UserName(), step: int(step.StepNumber()) - 1, due: op.Due}
	c.tries = append(c.tries, t)
	c.open[op.Token], c.bySeq[op.Seq] = t, t
	c.w.note("start", t.step, int(op.Seq))
}

// watchedSink tells the crowd what becomes of operations.
type watchedSink struct {
	takt.Sink
	c *crowd
}

// Observed implements engine.Observer.
func (s *watchedSink) Observed() *engine.Observed { return s.Sink.(engine.Observer).Observed() }

func (s *watchedSink) Began(token uint64, t takt.Turn) {
	one := s.c.open[token]
	one.begun, one.sent = true, s.c.w.cur.at
	s.c.w.cur.begins, s.c.w.cur.seq = true, one.seq // the request that this thread sends next
	s.Sink.Began(token, t)
}

func (s *watchedSink) Drop(token uint64) {
	s.c.open[token].dropped = true
	s.Sink.Drop(token)
}

func (s *watchedSink) Done(token uint64, r *takt.Result) {
	one := s.c.open[token]
	one.ended, one.done, one.class, one.status = true, s.c.w.cur.at, r.Class, r.Status
	one.silent = r.Status == 0 && r.BytesReceived == 0
	s.Sink.Done(token, r)
}

// uses notes that the current thread sends on a connection for its operation.
func (c *crowd) uses(to *conn) {
	if t := c.bySeq[c.w.cur.seq]; t != nil && !slices.Contains(t.conns, to) {
		t.conns = append(t.conns, to)
	}
}

// broke reports whether a connection broke on which the operation was sent, or was to be sent.
func (c *crowd) broke(seq uint64) bool {
	t := c.bySeq[seq]
	return t != nil && slices.ContainsFunc(t.conns, func(one *conn) bool { return one.faults > 0 })
}

// body makes the body of an answer: of n bytes, or for users of more.
func (v *server) body(r *request, n int) []byte {
	if v.w.users == nil {
		return bytes.Repeat([]byte{'x'}, n)
	}
	r.said = v.say()
	return []byte(r.said.json(n))
}

// names reads the round, the step and the value of @set from the target of a user's request.
func (r *request) names(target string, s script) bool {
	path, query, _ := strings.Cut(target, "?")
	r.set = query
	n, err := fmt.Sscanf(path+" ", "/%d/%d ", &r.round, &r.step)
	return n == 2 && err == nil && r.step < len(s)
}

// redirect draws whether the answer to r is a redirect: only steps that follow have some.
func (v *server) redirect(r *request) (location string) {
	w := v.w
	if w.users == nil || r.status != 200 || w.sc.Script[r.step].follow == 0 || w.rng.Float64() >= w.sc.Redirects {
		return ""
	}
	w.report.injected["redirect"]++
	r.status = 302
	return fmt.Sprintf("/%d/%d?%s", r.round, r.step, r.set)
}

// say draws what an answer says. A wrong one fails the check of its step, or lacks the values.
func (v *server) say() said {
	w := v.w
	a := said{done: w.rng.IntN(2) == 0 && !w.sc.Endless, right: true, value: string(truth[0] + byte(w.rng.IntN(2))), items: 1 + w.rng.IntN(3)}
	if w.chance("wrong answer", w.sc.Wrong) {
		if w.rng.IntN(2) == 0 {
			a.right = false
		} else {
			a.value = ""
		}
	}
	return a
}

// json is the answer as a body, of at least size bytes.
func (a said) json(size int) string {
	var b strings.Builder
	b.WriteString(`{"state":"` + map[bool]string{true: "done", false: "busy"}[a.done] + `"`)
	b.WriteString(`,"right":` + map[bool]string{true: "true", false: "false"}[a.right])
	if a.value != "" {
		b.WriteString(`,"v":"` + a.value + `"`)
	}
	b.WriteString(`,"items":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, a.items), ",") + `]`)
	b.WriteString(`,"pad":"` + strings.Repeat("x", size) + `"}`)
	return b.String()
}

// usersOf is how many users a world without a schedule has; 0: it has a schedule.
func (sc *Scenario) usersOf() int {
	if sc.Mode != modeUsers || sc.Rate > 0 {
		return 0
	}
	return cmp.Or(sc.Connections, 1)
}
