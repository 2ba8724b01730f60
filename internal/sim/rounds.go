package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/warn"
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
	over                        []span           // of rounds: when their user is free again
	lasting                     map[string]*user // by their names, if users last over their rounds
	made                        map[string]bool  // values of @set that the target has seen
	late, maybeLate             uint64           // rounds that lasted longer than their pace: certainly, and perhaps
	latest                      time.Duration    // when the drain ends rounds; 0: it does not
	cut, missed                 int              // rounds that were not over; operations whose end came as the run was cut, and their round's perhaps, too
}

// user is what a user remembers who lasts over rounds.
type user struct {
	rounds int
	free   span         // after the last round
	done   map[int]bool // steps with @once, which have succeeded
	value  map[int]string
	items  map[int]int
}

// place is where a round is by the oracle.
type place struct {
	step                 int
	from, end            int // of the journey
	times, polls, failed int
	hops                 int    // redirects that were followed
	made                 string // value of @set in the repetition, as the target had it; "": it had none yet
	value                map[int]string
	items                map[int]int
	done                 map[int]bool
}

// users checks what users did.
func (k *checker) users(w *world, rep *takt.Report) {
	n := len(k.sc.Script)
	c := &rounds{
		checker: k, w: w, s: k.sc.Script, users: k.sc.usersOf(), ok: make([]uint64, n), failed: make([]uint64, n),
		skipped: make([]uint64, n), passed: make([]uint64, n), made: map[string]bool{},
	}
	if c.users > 0 && c.s.lasts() {
		c.lasting = map[string]*user{}
	}
	c.fixed = c.s.fixed() && c.users == 0
	for _, r := range c.rows {
		// The word of its end came when the run was cut already.
		if t := w.users.bySeq[r.Seq]; r.Class == takt.ClassUnfinished && t != nil && t.ended && w.origin+r.Done-t.done < told {
			t.ended, t.dropped = false, false
			c.missed++
		}
	}
	byRound := map[uint64][]*try{}
	for _, t := range w.users.tries {
		byRound[t.round] = append(byRound[t.round], t)
	}
	c.schedule(byRound, rep)
	for i, n := range slices.Sorted(maps.Keys(byRound)) {
		waiting := 0 // users that last may have a round whose first step does not become due
		if c.lasting != nil {
			waiting = c.users
		}
		if n > uint64(i+waiting) && !k.sc.Drop {
			k.fault("round", "of %d rounds none has the number %d", len(byRound), i)
		}
		c.round(rep, byRound[n])
	}
	c.turns()
	c.paces(rep)
	c.cuts(rep)
	if k.sc.H2 {
		k.repeats(w, rep, func(q *request) int { return q.given })
	}
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
	if !c.fixed {
		c.latest = src.End() + c.s.longest() + c.sc.Drain
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
	p, u := c.begin(first)
	passed := c.forward(&p)
	if measured := first.due >= c.sc.Warmup; measured && first.ended {
		c.begun++
		c.pass(passed)
	}
	if u != nil {
		c.again(u, first, p.step)
		defer func() { u.keep(&p, c.s) }()
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
			c.rest(first, t, &p, u, over && broken)
			count(measured && broken, &c.broken)
			count(measured && !broken, &c.completed)
		}
		if due = c.after(t, due, wait); c.fixed && broken {
			over = p.step == p.end
		}
	}
	last := list[len(list)-1]
	if !over && !broken {
		c.cut++
	}
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
		return c.fixed || due.to >= c.latest || rep.Counts.Unfinished+rep.WarmupCounts.Unfinished > 0 // it waited for room
	case c.sc.Requests > 0:
		return rep.Counts.Scheduled == c.sc.Requests
	}
	return due.to >= c.sc.Duration
}

// cuts checks that rounds end at the drain's end, and what the report says of it.
func (c *rounds) cuts(rep *takt.Report) {
	if c.latest == 0 || c.sc.Cancel > 0 {
		return
	}
	for _, t := range c.w.users.tries {
		if t.due > c.latest+soon && c.calm() {
			c.fault("cut", "round %d, step %d is due at %v, and rounds are cut at %v", t.round, t.step, t.due, c.latest)
		}
	}
	if c.cut > 0 {
		c.w.report.injected["cut round"] += c.cut
	}
	queued := rep.Counts.Unfinished+rep.WarmupCounts.Unfinished > 0 // rounds of which no step was started
	if said := rep.Warned(warn.RoundsCut); said && c.cut == 0 && !queued || !said && c.cut > c.missed {
		c.fault("cut", "%d rounds were not over; the report warns of them: %v", c.cut, said)
	}
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
	c.isMade(t, q, p)
	if q.round != t.round || q.step != t.step {
		c.fault("answer", "operation %d is step %d of round %d, but the target got step %d of round %d", t.seq, t.step, t.round, q.step, q.round)
	}
	want := ""
	done = one.most == 0 || q.said.done
	switch {
	case q.status == 302 && p.hops < one.follow:
	case q.status == 302:
		want = "check"
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
	if ok && q != nil && q.status == 302 && q.answered >= 0 {
		p.hops++
		return false, false, span{-1, -1} // at once after the answer
	}
	p.hops = 0
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
	p.polls, p.failed, p.made = 0, 0, ""
	was := p.step
	c.behind(p)
	passed := c.forward(p)
	if measured {
		c.pass(passed)
	}
	if ok && one.once && p.step != was {
		p.done[was] = true
	}
	if p.step == p.end {
		return true, false, span{}
	}
	return false, false, c.s[p.step].think
}

// begin is where a round begins, and its user if that lasts.
func (c *rounds) begin(first *try) (p place, u *user) {
	p = place{value: map[int]string{}, items: map[int]int{}, done: map[int]bool{}}
	p.from, p.end = c.s.journey(first.step)
	p.step = p.from
	if c.lasting == nil {
		return p, nil
	}
	if u = c.lasting[first.user]; u == nil {
		u = &user{done: map[int]bool{}, value: map[int]string{}, items: map[int]int{}}
		if c.lasting[first.user] = u; len(c.lasting) > c.users {
			c.fault("turn", "%d users perform the scenario, %d were asked for", len(c.lasting), c.users)
		}
	}
	p.done, p.value, p.items = u.done, maps.Clone(u.value), maps.Clone(u.items)
	return p, u
}

// keep remembers what a round leaves for the next one of its user: the values of steps with @once.
func (u *user) keep(p *place, s script) {
	u.rounds++
	for i := range s {
		delete(u.value, i)
		delete(u.items, i)
		if v, has := p.value[i]; has && s[i].once {
			u.value[i], u.items[i] = v, p.items[i]
		}
	}
}

// again checks when a user that lasts begins a round, whose first step this is.
func (c *rounds) again(u *user, first *try, step int) {
	var wait span
	if from, _ := c.s.journey(step); step > from {
		wait = c.s[step].think
	}
	switch {
	case u.rounds == 0 || !c.calm():
	case first.due < u.free.from+wait.from || first.due > u.free.to+wait.to+soon:
		c.fault("turn", "round %d of user %s began at %v, which was free from %v on and then waits %v", first.round, first.user, first.due, u.free, wait)
	}
}

// rest notes when the user of a round is free again, whose last operation was t.
func (c *rounds) rest(first, t *try, p *place, u *user, failed bool) {
	rest, pace := c.s.rest(p.from), c.s[p.from].pace
	if failed && t.silent {
		rest = span{max(rest.from, failRest), max(rest.to, failRest)}
	}
	done := span{t.done - c.w.origin - told, t.done - c.w.origin}
	free := span{done.from + rest.from, done.to + rest.to}
	if pace.to > 0 {
		sent := first.sent - c.w.origin
		next := span{sent - told + pace.from, sent + pace.to}
		free = span{max(free.from, next.from), max(free.to, next.to)}
		count(done.from > next.to, &c.late)
		count(done.to > next.from, &c.maybeLate)
	}
	if c.over = append(c.over, free); u != nil {
		u.free = free
	}
}

// paces checks the warning about rounds that lasted longer than their pace.
func (c *rounds) paces(rep *takt.Report) {
	if c.users == 0 || !c.calm() {
		return
	}
	if said := rep.Warned(warn.PaceMissed); said && c.maybeLate == 0 || !said && c.late > 0 {
		c.fault("pace", "%d to %d rounds lasted longer than their pace; the report warns of them: %v", c.late, c.maybeLate, said)
	}
}

// isMade checks the value of @set: one for each repetition of a step, the same in all its requests.
func (c *rounds) isMade(t *try, q *request, p *place) {
	switch {
	case !c.s[t.step].sets:
	case q.set == "" || p.made != "" && q.set != p.made:
		c.fault("set", "round %d, step %d was sent with the value %q, before with %q", t.round, t.step, q.set, p.made)
	case p.made == "" && c.made[q.set]:
		c.fault("set", "round %d, step %d was sent with the value %q of another one", t.round, t.step, q.set)
	}
	p.made = q.set
	c.made[q.set] = true
}

// pass counts steps that were passed over.
func (c *rounds) pass(list []int) {
	for _, i := range list {
		c.passed[i]++
	}
}

// behind goes to the step behind the one at p, in its group or in the next repetition of it.
func (c *rounds) behind(p *place) {
	from, to := c.s.together(p.step)
	if p.step++; p.step == to {
		p.step, p.times = from, p.times+1
	}
}

// forward goes on to the first step that is performed.
func (c *rounds) forward(p *place) (passed []int) {
	for p.step < p.end {
		from, to := c.s.together(p.step)
		one := &c.s[p.step]
		performs := c.holds(p, one) && !(c.users > 0 && one.once && p.done[p.step])
		switch {
		case performs && (p.step > from || p.times < c.repeats(p, p.step)):
			return passed
		case p.step > from:
			passed = append(passed, p.step)
			if p.times > 0 { // the value of an earlier repetition
				delete(p.value, p.step)
				delete(p.items, p.step)
			}
			c.behind(p)
			continue
		}
		for p.step = from; p.step < to; p.step++ {
			if p.times == 0 {
				passed = append(passed, p.step)
			}
		}
		p.times = 0
	}
	return passed
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
	if c.users == 0 || c.lasting != nil { // again checks those who last
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
	var from, to []time.Duration // users are free again at the earliest, and at the latest
	for _, s := range c.over {
		from, to = append(from, s.from), append(to, s.to)
	}
	slices.Sort(from)
	slices.Sort(to)
	for i, at := range begun {
		k := i - c.users
		switch {
		case k < 0:
		case k >= len(from) || c.calm() && at < from[k]:
			c.fault("turn", "%d users: round %d began at %v, and only %d were over", c.users, i, at, len(c.over))
			return
		case at > to[k]+soon && c.calm():
			c.fault("turn", "%d users: round %d began at %v, a user was free from %v on", c.users, i, at, to[k])
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
	if wants := !c.s.fixed() || c.lasting != nil || c.sc.PerRound && c.users == 0; has != wants {
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
