package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// failRest is how long a user without a schedule rests after an answer that did not come (docs/scenarios.md: 100 ms).
const failRest = 100 * time.Millisecond

// soon is how late a user without a schedule, whose thread nothing disturbs, begins what it may begin.
const soon = 20 * time.Millisecond

// told is how long after an answer a thread that nothing disturbs tells the engine of it, at most.
const told = time.Millisecond

// rounds is the oracle of users: what docs/scenarios.md says of steps and rounds, from what the target said.
type rounds struct {
	*checker
	w     *world
	s     script
	fixed bool // all steps of a round are due whatever answers do
	users int  // without a schedule; 0: there is one

	ok, failed, skipped, passed []uint64 // by step
	begun, completed, broken    uint64
	from, over                  []time.Duration // of rounds: when they began, and when their user is free again
	firsts                      map[int]int     // rounds by their journey
}

// place is where a round is by the oracle.
type place struct {
	step                 int
	end                  int // of the journey
	times, polls, failed int
	value                map[int]string
	items                map[int]int
}

// users checks what users did.
func (k *checker) users(w *world, rep *takt.Report) {
	n := len(k.sc.Script)
	c := &rounds{
		checker: k, w: w, s: k.sc.Script, users: k.sc.usersOf(), ok: make([]uint64, n), failed: make([]uint64, n),
		skipped: make([]uint64, n), passed: make([]uint64, n), firsts: map[int]int{},
	}
	c.fixed = c.s.fixed() && c.users == 0
	byRound := map[uint64][]*try{}
	for _, t := range w.users.tries {
		byRound[t.round] = append(byRound[t.round], t)
	}
	c.schedule(byRound, rep)
	for i, n := range slices.Sorted(maps.Keys(byRound)) {
		if n != uint64(i) && !k.sc.Drop {
			k.fault("round", "of %d rounds none has the number %d", len(byRound), i)
		}
		c.round(rep, byRound[n])
	}
	c.turns()
	c.counts(rep)
	c.latencies(rep)
}

// schedule checks when rounds began, against the schedule that they were asked for.
func (c *rounds) schedule(byRound map[uint64][]*try, rep *takt.Report) {
	if c.users > 0 {
		return
	}
	src, err := c.w.users.options.Source()
	if err != nil {
		c.fault("round", "no schedule: %v", err)
		return
	}
	each := 1
	if c.fixed {
		each = len(c.s)
	}
	var op takt.Op
	var dues []time.Duration
	for i := 0; src.Next(&op); i++ {
		if i%each == 0 {
			dues = append(dues, op.Due)
		}
	}
	if len(byRound) != len(dues) && c.sc.Cancel == 0 && !c.sc.Drop && rep.Counts.Unfinished == 0 || len(byRound) > len(dues) {
		c.fault("round", "%d rounds began, the schedule has %d", len(byRound), len(dues))
	}
	for n, list := range byRound {
		if n < uint64(len(dues)) && list[0].due != dues[n] && !c.dropped(list) {
			c.fault("round", "round %d began at %v, by the schedule at %v", n, list[0].due, dues[n])
		}
	}
}

// dropped reports whether the engine has dropped the first step of a round for want of room, so that its driver never had it.
func (c *rounds) dropped(list []*try) bool { return c.sc.Drop && c.fixed && list[0].step > 0 }

// round follows one round.
func (c *rounds) round(rep *takt.Report, list []*try) {
	if c.dropped(list) {
		for _, t := range list {
			if t.begun || t.ended {
				c.fault("skipped", "round %d was dropped, but step %d was sent", t.round, t.step)
			}
			count(t.dropped && t.due >= c.sc.Warmup, &c.skipped[t.step])
		}
		return
	}
	first := list[0]
	var p place
	p.step, p.end = c.s.journey(first.step)
	p.value, p.items = map[int]string{}, map[int]int{}
	c.firsts[p.step]++
	if measured := first.due >= c.sc.Warmup; measured && first.ended {
		c.begun++
	}
	due := span{first.due, first.due}
	over, broken := false, false
	for i, t := range list {
		if over {
			c.fault("round", "round %d is over, but step %d follows as number %d", t.round, t.step, i)
			return
		}
		if t.step != p.step {
			c.fault("round", "round %d: step %d came as number %d, want step %d", t.round, t.step, i, p.step)
			return
		}
		if t.due < due.from || t.due > due.to {
			c.fault("due", "round %d: number %d, step %d, is due at %v, want %v", t.round, i, t.step, t.due, due)
		}
		measured := t.due >= c.sc.Warmup
		switch {
		case t.dropped != broken && (t.dropped || t.ended):
			c.fault("skipped", "round %d: number %d, step %d, was dropped: %v; a step before failed: %v", t.round, i, t.step, t.dropped, broken)
			return
		case t.dropped:
			count(measured, &c.skipped[t.step])
			due = c.after(t, due, span{})
			p.step++
			over = p.step == p.end
			continue
		case !t.ended: // cut
			if c.fixed {
				due = c.after(t, due, span{})
				p.step++
			}
			continue
		}
		ok, done := c.judge(t, &p)
		if ok {
			count(measured, &c.ok[t.step])
		} else {
			count(measured, &c.failed[t.step])
		}
		var wait span
		if over, broken, wait = c.next(t, &p, ok, done, measured); over || broken {
			c.over = append(c.over, t.done-c.w.origin)
			c.from = append(c.from, first.due)
			if !ok && over && broken && t.silent {
				c.over[len(c.over)-1] += failRest
			}
			count(measured && broken, &c.broken)
			count(measured && !broken, &c.completed)
		}
		if due = c.after(t, due, wait); c.fixed && broken {
			over = p.step == p.end
		}
	}
	last := list[len(list)-1]
	if !over && last.ended != last.dropped && !c.mayStop(rep, due) {
		c.fault("round", "round %d ended with number %d, step %d; step %d should be due at %v", last.round, len(list)-1, last.step, p.step, due)
	}
}

func count(is bool, n *uint64) {
	if is {
		*n++
	}
}

// mayStop reports whether a round may stop before a step that is due then: the run was stopped, a schedule that counts operations
// ended in the middle of a round, or users may begin no other operation.
func (c *rounds) mayStop(rep *takt.Report, due span) bool {
	switch {
	case c.sc.Cancel > 0:
		return true
	case c.users == 0:
		return c.fixed
	case c.sc.Requests > 0:
		return rep.Counts.Scheduled == c.sc.Requests
	}
	return due.to >= c.sc.Duration
}

// judge checks the result of a request against what the target said; done: the answer is what the step polls for.
func (c *rounds) judge(t *try, p *place) (ok, done bool) {
	one := &c.s[t.step]
	q := c.w.net.srv.requests[t.seq]
	if q == nil || q.answered < 0 || t.class == engine.ClassTimeout {
		if t.class == "" {
			c.fault("answer", "round %d, step %d is ok without an answer", t.round, t.step)
		}
		return t.class == "", true
	}
	if q.round != t.round || q.step != t.step {
		c.fault("answer", "operation %d is step %d of round %d, but the target got step %d of round %d", t.seq, t.step, t.round, q.step, q.round)
	}
	want := ""
	done = one.most == 0 || q.said.done
	switch {
	case q.status == 503:
		want = "5xx"
	case !done && p.polls+1 == one.most, done && one.checks && !q.said.right:
		want = "check"
	case done && one.captures && q.said.value == "":
		want = "capture"
	}
	if t.class != want {
		c.fault("class", "round %d, step %d has class %q, want %q for %d and %+v", t.round, t.step, t.class, want, q.status, q.said)
	}
	return t.class == "", done
}

// next goes to the step that follows; wait is before it: after the answer if it is for a poll or a retry, which the sign of its
// bounds says, else after the due instant of t.
func (c *rounds) next(t *try, p *place, ok, done, measured bool) (over, broken bool, wait span) {
	one := &c.s[p.step]
	delete(p.value, p.step)
	delete(p.items, p.step)
	q := c.w.net.srv.requests[t.seq]
	if ok && done && one.captures {
		p.value[p.step], p.items[p.step] = q.said.value, q.said.items
	}
	switch {
	case !ok && p.failed < one.tries && (t.status == 503 || t.status == 0):
		wait = span{one.pause.from << p.failed, one.pause.to << p.failed}
		p.failed++
		return false, false, span{-1 - wait.from, -1 - wait.to}
	case !ok && !one.optional:
		p.step++
		return !c.fixed, true, one.thinkOf(c.s, p)
	case ok && !done && p.polls+1 < one.most:
		p.polls, p.failed = p.polls+1, 0
		return false, false, span{-1 - one.poll.from, -1 - one.poll.to}
	}
	p.polls, p.failed = 0, 0
	if p.times++; p.times < c.repeats(p, p.step) {
		return false, false, one.think
	}
	p.times = 0
	for p.step++; p.step < p.end; p.step++ {
		if s := &c.s[p.step]; c.holds(p, s) && c.repeats(p, p.step) > 0 {
			return false, false, s.think
		}
		count(measured, &c.passed[p.step])
	}
	return true, false, span{}
}

// thinkOf is the think time before the step at p; none behind the last one.
func (scripted) thinkOf(s script, p *place) span {
	if p.step < len(s) {
		return s[p.step].think
	}
	return span{}
}

// holds reports whether the condition of a step holds.
func (c *rounds) holds(p *place, s *scripted) bool {
	if s.asks < 0 {
		return true
	}
	return (p.value[s.asks] == truth) != s.not
}

// repeats is how often a step is performed.
func (c *rounds) repeats(p *place, step int) int {
	switch s := &c.s[step]; {
	case s.list >= 0:
		return p.items[s.list]
	default:
		return max(1, s.times)
	}
}

// after is when the operation after t is due: see next.
func (c *rounds) after(t *try, due, wait span) span {
	if wait.from >= 0 && c.users == 0 {
		if t.dropped || !t.ended {
			wait = c.s[min(t.step+1, len(c.s)-1)].think
		}
		return span{t.due + wait.from, t.due + wait.to}
	}
	if wait.from < 0 {
		wait = span{-1 - wait.from, -1 - wait.to}
	}
	// The answer came between its arrival, or the beginning of the operation, and the word to the engine.
	q, answer := c.w.net.srv.requests[t.seq], span{t.due, t.done - c.w.origin}
	if q != nil && q.answered >= 0 && t.class != engine.ClassTimeout {
		answer.from = q.answered - c.w.origin - c.exact()
	} else if c.calm() {
		answer.from = answer.to - soon
	}
	next := span{answer.from + wait.from, answer.to + wait.to + c.exact()}
	if c.users > 0 { // due when it is taken
		if next.to += soon; !c.calm() {
			next.to = never
		}
	}
	return next
}

// calm reports whether the client's threads run when they can.
func (c *rounds) calm() bool { return c.sc.Stalls == 0 && c.sc.LateWakes == 0 }

// turns checks that a user without a schedule begins a round when its last one is over, neither before nor long after.
func (c *rounds) turns() {
	if c.users == 0 {
		return
	}
	begun := make([]time.Duration, 0, len(c.w.users.tries))
	seen := map[uint64]bool{}
	for _, t := range c.w.users.tries {
		if !seen[t.round] {
			seen[t.round] = true
			begun = append(begun, t.due)
		}
	}
	slices.Sort(begun)
	slices.Sort(c.over)
	for i, at := range begun {
		k := i - c.users
		switch {
		case k < 0:
		case k >= len(c.over) || c.calm() && at < c.over[k]-told:
			c.fault("turn", "%d users: round %d began at %v, and only %d were over", c.users, i, at, len(c.over))
			return
		case at > c.over[k]+soon && c.calm():
			c.fault("turn", "%d users: round %d began at %v, a user was free from %v on", c.users, i, at, c.over[k])
			return
		}
	}
}

// counts checks the figures of steps and rounds.
func (c *rounds) counts(rep *takt.Report) {
	list, _ := rep.Extra[steps.Key].([]any)
	if len(list) != len(c.s) {
		c.fault("steps", "the report has %d steps, not %d", len(list), len(c.s))
		return
	}
	atBound := uint64(0)
	for i, one := range list {
		row, _ := one.(map[string]any)
		figure := func(name string) uint64 { n, _ := row[name].(float64); return uint64(n) }
		if figure("ok") != c.ok[i] || figure("failed") != c.failed[i] || figure("passed_over") != c.passed[i] {
			c.fault("steps", "step %d has %v ok, %v failed, %v passed over; want %d, %d, %d", i, row["ok"], row["failed"], row["passed_over"], c.ok[i], c.failed[i], c.passed[i])
		}
		if n := figure("skipped"); n < c.skipped[i] || n > c.skipped[i] && !c.sc.Drop {
			c.fault("steps", "step %d has %v skipped, want %d", i, row["skipped"], c.skipped[i])
		} else {
			atBound += n - c.skipped[i]
		}
	}
	sum := func(list []uint64) (n uint64) {
		for _, k := range list {
			n += k
		}
		return n
	}
	if n := rep.Counts; n.Unfinished == 0 && (n.OK != sum(c.ok) || n.Failed != sum(c.failed) || n.Dropped != sum(c.skipped)+atBound) {
		c.fault("steps", "the steps have %d ok, %d failed, %d dropped; the report has %+v", sum(c.ok), sum(c.failed), sum(c.skipped)+atBound, n)
	}
	got, has := rep.Extra[steps.Rounds].(map[string]any)
	if wants := !c.s.fixed() || c.sc.PerRound && c.users == 0; has != wants {
		c.fault("rounds", "the report counts rounds: %v, want %v", has, wants)
	}
	if has && (got["begun"] != float64(c.begun) || got["completed"] != float64(c.completed) || got["failed"] != float64(c.broken)) {
		c.fault("rounds", "the report has %v, want %d begun, %d completed, %d failed", got, c.begun, c.completed, c.broken)
	}
}

// latencies checks the response times of each step against the rows: since the step was due.
func (c *rounds) latencies(rep *takt.Report) {
	list, _ := rep.Extra[steps.Key].([]any)
	for i, one := range list {
		row, _ := one.(map[string]any)
		text, _ := row["response_hdr"].(string)
		if text == "" || rep.Counts.Unfinished > 0 {
			continue
		}
		h, err := hist.Decode(text)
		if err != nil {
			c.fault("steps", "step %d: %v", i, err)
			return
		}
		want := hist.New()
		for _, r := range c.rows {
			if r.Step == i+1 && r.Class != takt.ClassDropped {
				want.Record(r.Done - r.Due)
			}
		}
		for _, q := range []float64{0.5, 0.99, 1} {
			got, want := h.Quantile(q), want.Quantile(q)
			if off := (got - want).Abs(); off > want/50+soon/10 && c.calm() || h.Count() != c.ok[i]+c.failed[i] {
				c.fault("steps", "step %d has %d values, its quantile %v is %v; the rows have %d, %v", i, h.Count(), q, got, c.ok[i]+c.failed[i], want)
			}
		}
	}
}
