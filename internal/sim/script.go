package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// script is the scenario that the users of a world perform, as a model for the oracle.
type script []scripted

// scripted is a step of a script. Values are those of steps before, by their index.
type scripted struct {
	weight   int  // of the journey that begins with the step; 0: none does
	think    span // before it
	optional bool
	asks     int  // the step whose value is asked, -1: there is no condition
	not      bool // the condition is @unless
	times    int  // repetitions; 0: once
	list     int  // the step whose list decides how often, -1: none
	most     int  // polls; 0: the step does not poll
	poll     span
	tries    int // retries
	pause    span
	checks   bool // a check that wrong answers fail
	captures bool // a value and a list
	group    int  // number of its group; 0: none
	once     bool // users without a schedule perform it until it has succeeded
	rests    bool // the first step has its think time, too: users without a schedule rest
	pace     span // of rounds without a schedule; zero: none
	follow   int  // redirects
	sets     bool // a value that takt makes
}

// truth is what the value of a step is, for its condition to hold.
const truth = "a"

// String is the script as a scenario file.
func (s script) String() string {
	var b strings.Builder
	for i, one := range s {
		fmt.Fprintf(&b, "GET /{{.Seq}}/%d", i)
		if one.sets {
			fmt.Fprintf(&b, "?{{u%d}}", i)
		}
		fmt.Fprintf(&b, "\n@name s%d\n", i)
		line := func(given bool, format string, args ...any) {
			if given {
				fmt.Fprintf(&b, format+"\n", args...)
			}
		}
		line(one.weight > 0, "@journey j%d %d", i, one.weight)
		line(s.thinks(i), "@think %v", one.think)
		line(one.optional, "@optional")
		line(one.asks >= 0 && !one.not, "@when v%d == %s", one.asks, truth)
		line(one.asks >= 0 && one.not, "@unless v%d == %s", one.asks, truth)
		line(one.times > 0, "@repeat %d", one.times)
		line(one.list >= 0, "@repeat id%d in ids%d", i, one.list)
		line(one.most > 0, "@until json state == done\n@poll %v %d", one.poll, one.most)
		line(one.tries > 0, "@retry %d 503,error %v", one.tries, one.pause)
		line(one.checks, "@check json right == true")
		line(one.group > 0, "@group g%d", one.group)
		line(one.once, "@once")
		line(one.pace.to > 0, "@pace %v", one.pace)
		line(one.follow > 0, "@follow %d", one.follow)
		line(one.sets, "@set u%d {{uuid}}", i)
		line(one.captures, "@capture v%d json v\n@capture ids%d all json items.#.id", i, i)
		b.WriteString("\n")
	}
	return b.String()
}

// String is the span as a time of a scenario file.
func (s span) String() string {
	if s.from == s.to {
		return s.from.String()
	}
	return s.from.String() + ".." + s.to.String()
}

// thinks reports whether step i has a think time in the file.
func (s script) thinks(i int) bool {
	return (i > 0 || s[i].times > 0 || s[i].rests) && s[i].think.to > 0
}

// rest is how long a user without a schedule rests after a round of the journey that begins with step i.
func (s script) rest(i int) span {
	if !s.thinks(i) {
		return span{}
	}
	return s[i].think
}

// together are the steps of the group of step i; without a group it is alone.
func (s script) together(i int) (from, to int) {
	from, to = i, i+1
	if s[i].group == 0 {
		return from, to
	}
	for from > 0 && s[from-1].group == s[i].group {
		from--
	}
	for to < len(s) && s[to].group == s[i].group {
		to++
	}
	return from, to
}

// lasts reports whether a step is performed once.
func (s script) lasts() bool {
	return slices.ContainsFunc(s, func(one scripted) bool { return one.once })
}

// fixed reports whether each round has all steps, each once.
func (s script) fixed() bool {
	return !slices.ContainsFunc(s, func(one scripted) bool {
		return one.weight > 0 || one.optional || one.asks >= 0 || one.times > 0 || one.list >= 0 || one.most > 0 || one.tries > 0 || one.follow > 0
	})
}

// journey is the steps of the journey in which step i is.
func (s script) journey(i int) (from, to int) {
	for from = i; from > 0 && s[from].weight == 0; from-- {
	}
	for to = from + 1; to < len(s) && s[to].weight == 0; to++ {
	}
	return from, to
}

// perform makes a world of users with a scenario. It draws from a stream of its own, so that the other seeds keep their
// worlds.
func (sc *Scenario) perform(r *rand.Rand) {
	*sc = Scenario{
		Mode: modeUsers, InFlight: 10_000, Room: unbounded, Script: drawScript(r),
		Drain: 20 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: 5 * time.Second,
		Service: between(r, 20*time.Microsecond, 5*time.Millisecond), Body: r.IntN(3000),
	}
	if r.IntN(4) == 0 {
		sc.Connections = 1 + r.IntN(20)
		sc.Requests = uint64(1 + r.IntN(600))
		if r.IntN(2) == 0 {
			sc.Requests, sc.Duration = 0, between(r, 5*time.Millisecond, 300*time.Millisecond)
		}
	} else {
		sc.Rate = math.Round(math.Exp(between(r, math.Log(20), math.Log(3000))))
		sc.Duration = min(between(r, 20*time.Millisecond, time.Second), time.Duration(300/sc.Rate*1e9))
		sc.Poisson, sc.PerRound = r.IntN(3) == 0, r.IntN(2) == 0
		if r.IntN(5) == 0 {
			sc.Warmup = sc.Duration / 4
		}
		if r.IntN(5) == 0 {
			sc.InFlight, sc.Drop = 1+r.IntN(20), r.IntN(2) == 0
		}
	}
	if r.IntN(4) == 0 {
		sc.Workers = 1 + r.IntN(20)
	}
	if r.IntN(4) > 0 {
		for range 1 + r.IntN(3) {
			sc.upset(r)
		}
	}
	if r.IntN(3) == 0 {
		sc.speakH2(r)
	}
	if r.IntN(2) == 0 {
		sc.Script.enrich(r, sc.Rate == 0)
		sc.Redirects = r.Float64() / 2
	}
	if sc.Rate > 0 && !sc.Script.fixed() && r.IntN(6) == 0 {
		sc.prolong(r)
	}
}

// prolong makes rounds that only the drain ends: a step polls for what never comes.
func (sc *Scenario) prolong(r *rand.Rand) {
	sc.Endless, sc.Drain = true, between(r, 0, 50*time.Millisecond)
	one := &sc.Script[r.IntN(len(sc.Script))]
	one.most, one.poll = 1000, span{200 * time.Microsecond, between(r, 200*time.Microsecond, 20*time.Millisecond).Round(time.Microsecond)}
}

// longest is how long after the beginning of a round its last step is due, at most, if no answer is late: a repetition over a
// list counts once.
func (s script) longest() (most time.Duration) {
	for from := 0; from < len(s); {
		start, to := s.journey(from)
		d := time.Duration(0)
		for i := start; i < to; i++ {
			first, _ := s.together(i)
			if s.thinks(i) && (i > start || s[i].times > 0) { // else nobody waits there with a rate
				d += time.Duration(max(1, s[first].times)) * s[i].think.to
			}
		}
		most, from = max(most, d), to
	}
	return most
}

// speakH2 makes the connections of users those of HTTP/2, whose target may do what is of HTTP/2 only.
func (sc *Scenario) speakH2(r *rand.Rand) {
	sc.H2, sc.Streams = true, 1
	if r.IntN(3) == 0 {
		sc.Allows = 1 + r.IntN(3)
	}
	if r.IntN(3) == 0 {
		sc.Odd = r.Float64()
	}
	for range r.IntN(3) {
		often := math.Exp(between(r, math.Log(0.005), math.Log(0.3)))
		kinds := []*float64{&sc.RefusedStreams, &sc.StreamResets, &sc.Malformed, &sc.GoAways, &sc.EarlyGoAways, &sc.NewSettings, &sc.Noise}
		*kinds[r.IntN(len(kinds))] = often
	}
}

// upset adds a fault to a world of users: those whose answers the client cannot confuse.
func (sc *Scenario) upset(r *rand.Rand) {
	often := math.Exp(between(r, math.Log(0.005), math.Log(0.5)))
	end := cmp.Or(sc.Duration, 100*time.Millisecond) + sc.Warmup
	kinds := []func(){
		func() { sc.Refuses = often },
		func() { sc.Wrong = often },
		func() { sc.Wrong, sc.Refuses = often/2, often/2 },
		func() { sc.Silence, sc.Timeout = min(often, 0.2), between(r, 2*time.Millisecond, 50*time.Millisecond) },
		func() { sc.Resets = often },
		func() { sc.Cuts = often },
		func() { sc.Garbage = often },
		func() { sc.Drips = often },
		func() { sc.Closes = often },
		func() { sc.NoFiles = often },
		func() { sc.LostSYN, sc.ConnectTimeout = often, between(r, 100*time.Millisecond, 3*time.Second) },
		func() { sc.Refused = often },
		func() { sc.Interrupts = often },
		func() { sc.LateWakes = often },
		func() { sc.Stalls, sc.StallMost = often/500, between(r, time.Millisecond, 40*time.Millisecond) },
		func() {
			from := between(r, 0, end)
			sc.Freezes = append(sc.Freezes, freeze{from, from + between(r, time.Millisecond, 100*time.Millisecond)})
		},
		func() { sc.Cancel = between(r, 1, end) },
		func() { sc.Cancel = between(r, 1, end); sc.Abort = sc.Cancel + between(r, 1, 10*time.Millisecond) },
		func() { sc.Drain = between(r, 0, 5*time.Millisecond) },
	}
	kinds[r.IntN(len(kinds))]()
}

// drawScript draws a scenario: one in three has no rules about answers.
func drawScript(r *rand.Rand) script {
	s := make(script, 1+r.IntN(6))
	plain, journeys := r.IntN(3) == 0, r.IntN(4) == 0
	start := 0 // of the journey
	for i := range s {
		one := &s[i]
		*one = scripted{asks: -1, list: -1, captures: r.IntN(2) == 0, checks: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			one.think = drawSpan(r, 20*time.Millisecond)
		}
		if plain {
			continue
		}
		if journeys && (i == 0 || r.IntN(3) == 0) {
			one.weight, start = 1+r.IntN(9), i
		}
		one.optional = r.IntN(3) == 0
		if r.IntN(4) == 0 {
			one.times = 1 + r.IntN(3)
		}
		if r.IntN(4) == 0 {
			one.most, one.poll = 1+r.IntN(5), drawSpan(r, 5*time.Millisecond)
		}
		if r.IntN(3) == 0 {
			one.tries, one.pause = 1+r.IntN(3), drawSpan(r, 5*time.Millisecond)
		}
		if known := s.valuesBefore(start, i); len(known) > 0 {
			if r.IntN(3) == 0 {
				one.asks, one.not = known[r.IntN(len(known))], r.IntN(2) == 0
			}
			if r.IntN(3) == 0 {
				one.times, one.list = 0, known[r.IntN(len(known))]
			}
		}
	}
	return s
}

// enrich adds to a script what does not change its other lines; closed: users begin rounds without a schedule.
func (s script) enrich(r *rand.Rand, closed bool) {
	reacts := !s.fixed()
	s[0].rests = r.IntN(2) == 0
	pace := closed && r.IntN(3) == 0
	for i := range s {
		one := &s[i]
		one.sets = r.IntN(4) == 0
		if reacts && r.IntN(4) == 0 {
			one.follow = 1 + r.IntN(3)
		}
		if pace && (i == 0 || one.weight > 0) {
			one.pace = drawSpan(r, 30*time.Millisecond)
		}
		if r.IntN(4) == 0 && (one.times > 0 || one.list >= 0 || one.asks >= 0) && one.group == 0 {
			s.gather(i, 1+r.IntN(3))
		}
	}
	if r.IntN(2) == 0 {
		for i := range s {
			if s.mayBeOnce(i) && r.IntN(2) == 0 {
				s[i].once = true
			}
		}
	}
}

// gather makes a group of step i and some behind it, which then are not repeated alone.
func (s script) gather(i, behind int) {
	_, end := s.journey(i)
	s[i].group = i + 1
	for k := i + 1; k < min(end, i+1+behind); k++ {
		s[k].group, s[k].times, s[k].list = i+1, 0, -1
	}
}

// mayBeOnce reports whether another step of the journey of step i is one that each round performs.
func (s script) mayBeOnce(i int) bool {
	from, to := s.journey(i)
	for k := from; k < to; k++ {
		first, _ := s.together(k)
		if k != i && !s[k].once && s[k].asks < 0 && s[first].asks < 0 && s[first].list < 0 {
			return s[i].group == 0
		}
	}
	return false
}

// valuesBefore are the steps of a journey before step i that capture values.
func (s script) valuesBefore(start, i int) (list []int) {
	for k := start; k < i; k++ {
		if s[k].captures {
			list = append(list, k)
		}
	}
	return list
}

// drawSpan draws a time, which is the same for all or drawn each time.
func drawSpan(r *rand.Rand, most time.Duration) span {
	from := between(r, 0, most).Round(time.Microsecond)
	if r.IntN(2) == 0 {
		return span{from, from}
	}
	return span{from, from + between(r, 0, most).Round(time.Microsecond)}
}
