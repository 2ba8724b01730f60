package trial

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/target"
)

// sample is what a simulated generator saw of one request.
type sample struct {
	due, sent, end time.Duration
	outcome        target.Outcome
}

// liar is a generator that lies in one known way. The zero value is honest: it sends each request when it is due,
// and measures from then.
type liar struct {
	fromSend bool          // measures from the instant at which it had a connection
	pool     bool          // has as many connections as it is allowed, and waits for one
	drops    bool          // does not send what finds no free connection, and says nothing
	retries  bool          // sends a broken request again, and does not count it
	bursts   time.Duration // sends all requests of such a time at once
	cuts     time.Duration // leaves out answers that are slower
	hidden   bool          // counts no broken requests
	silent   bool          // does not say that it was stopped
}

// attempt is a request that a generator is about to send.
type attempt struct {
	at  time.Duration
	due time.Duration
}

type attempts []attempt

func (a attempts) Len() int { return len(a) }
func (a attempts) Less(i, k int) bool {
	return a[i].at < a[k].at || a[i].at == a[k].at && a[i].due < a[k].due
}
func (a attempts) Swap(i, k int) { a[i], a[k] = a[k], a[i] }
func (a *attempts) Push(x any)   { *a = append(*a, x.(attempt)) }
func (a *attempts) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// pausedAt is when a generator is stopped.
const (
	pausedAt  = 2400 * time.Millisecond
	pausedFor = 500 * time.Millisecond
)

// run is a run of the generator in virtual time.
func (l liar) run(t *testing.T, p Pathology, o *Options, connections int, seed uint64) (run generators.TrialRun) {
	t.Helper()
	length := o.Duration
	if p.length != nil {
		length = p.length(o)
	}
	behaviour := p.target(o)
	var err error
	if run.Felt, err = FeltBy(behaviour, o.Rate, length); err != nil {
		t.Fatal(err)
	}
	model, err := target.NewModel(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var truth target.Truth
	samples, retried := l.load(model, &truth, plan(o, length, l.bursts), connections, p.Name == "stop", random)
	run.Served = ServedBy(&truth, o.Rate)
	run.Said = l.says(samples, retried, length)
	run.Said.Invalid = p.Name == "stop" && !l.silent
	run.Exit = "exit status 0"
	return run
}

// plan are the requests of a schedule.
func plan(o *Options, length, bursts time.Duration) (list attempts) {
	for i := range int(math.Round(o.Rate * length.Seconds())) {
		due := time.Duration(float64(i) / o.Rate * float64(time.Second))
		at := due
		if bursts > 0 {
			at = due.Truncate(bursts)
		}
		list = append(list, attempt{at, due})
	}
	return list
}

// load sends the requests. The target gets each of them up to 0.3 ms later, and so does the generator the answer.
func (l liar) load(model *target.Model, truth *target.Truth, list attempts, connections int, stopped bool, random *rand.Rand) (samples []sample, retried int) {
	wire := func() time.Duration { return time.Duration(random.Int64N(int64(300 * time.Microsecond))) }
	free := make([]time.Duration, connections)
	last := time.Duration(0)
	for heap.Init(&list); len(list) > 0; {
		a := heap.Pop(&list).(attempt)
		if stopped && a.at >= pausedAt && a.at < pausedAt+pausedFor {
			a.at = pausedAt + pausedFor
			heap.Push(&list, a)
			continue
		}
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		if (l.pool || l.drops) && free[first] > a.at {
			if !l.drops {
				a.at = free[first]
				heap.Push(&list, a)
			}
			continue
		}
		arrival := max(last, a.at+wire())
		last = arrival
		end, outcome := model.Request(arrival)
		truth.Records = append(truth.Records, target.Record{Arrival: arrival, Came: arrival, End: end, Released: end, Outcome: outcome})
		count(&truth.Counts, outcome)
		free[first] = end + wire()
		if outcome != target.OK && l.retries {
			retried++
			heap.Push(&list, attempt{free[first], a.due})
			continue
		}
		samples = append(samples, sample{a.due, a.at, free[first], outcome})
	}
	return samples, retried
}

func count(c *target.Counts, o target.Outcome) {
	c.Requests++
	switch o {
	case target.OK:
		c.OK++
	case target.Reset:
		c.Resets++
	default:
		c.Closed++
	}
}

// says are the figures that the generator prints.
func (l liar) says(samples []sample, retried int, length time.Duration) generators.Said {
	var times []float64
	good := 0
	last := time.Duration(0)
	for _, s := range samples {
		from := s.due
		if l.fromSend {
			from = s.sent
		}
		last = max(last, s.sent)
		if s.outcome == target.OK {
			good++
		}
		if l.cuts == 0 || s.end-from <= l.cuts {
			times = append(times, millis(s.end-from))
		}
	}
	slices.Sort(times)
	said := generators.Said{Generator: "simulated", Figures: map[string]float64{
		generators.Answered: float64(good), generators.Errors: float64(len(samples) - good), generators.Rate: float64(len(samples)) / max(length, last).Seconds(),
		generators.P50: generators.Quantile(times, 0.5), generators.P90: generators.Quantile(times, 0.9), generators.P99: generators.Quantile(times, 0.99), generators.Max: generators.Quantile(times, 1),
	}}
	if l.hidden {
		said.Figures[generators.Errors] = 0
	}
	return said
}

// judged are the figures of a generator that mislead, as "freeze/5: p90".
func (l liar) judged(t *testing.T, seed uint64) (lies []string, unclear int) {
	t.Helper()
	o := Defaults()
	o.Rate = 250 // half of the requests, for a faster test
	for _, connections := range o.Connections {
		for _, p := range Pathologies() {
			if p.Name == "quota" { // virtual time has no CPU
				continue
			}
			trial := generators.Trial{Pathology: p.Name, Connections: connections, Weak: p.Weak, Runs: []generators.TrialRun{l.run(t, p, &o, connections, seed)}}
			generators.Judge(&trial)
			for _, c := range trial.Cells {
				switch c.State {
				case generators.Wrong, generators.Silent:
					lies = append(lies, fmt.Sprintf("%s/%d: %s", p.Name, connections, c.Figure))
				case generators.Unclear, generators.NotPrinted:
					unclear++
				}
			}
		}
	}
	return lies, unclear
}

// The judge judged: an honest generator passes every time, with any jitter.
func TestHonestGeneratorPasses(t *testing.T) {
	for seed := range uint64(20) {
		if lies, unclear := (liar{}).judged(t, seed); lies != nil || unclear > 0 {
			t.Errorf("seed %d: %d unclear, %s", seed, unclear, strings.Join(lies, "; "))
		}
	}
}

// The judge judged: a generator that lies in one way is caught each time, where this lie shows.
func TestLiarsAreCaught(t *testing.T) {
	for name, c := range map[string]struct {
		liar liar
		want []string // figures that mislead
	}{
		"measures from send":         {liar{pool: true, fromSend: true}, []string{"freeze/50: p90", "freeze/5: p90", "freeze/5: p99", "overload/50: p50", "overload/5: p99", "slow-start/5: p90"}},
		"drops":                      {liar{drops: true}, []string{"freeze/50: sent", "freeze/50: p90", "freeze/5: p99", "overload/50: sent", "slow-start/5: sent"}},
		"retries":                    {liar{retries: true}, []string{"resets/50: errors", "closes/50: errors", "resets/5: errors"}},
		"bursts":                     {liar{bursts: 100 * time.Millisecond, fromSend: true}, []string{"steady/50: spacing", "steady/5: spacing", "slow/5: spacing"}},
		"cuts":                       {liar{cuts: 50 * time.Millisecond}, []string{"freeze/50: p90", "slow/50: p99", "slow/5: max", "overload/50: p50", "slow-start/50: p99"}},
		"cuts only the very slowest": {liar{cuts: 900 * time.Millisecond}, []string{"freeze/50: max", "overload/50: p99"}},
		"hides broken requests":      {liar{hidden: true}, []string{"resets/50: errors", "closes/5: errors"}},
		"hides that it was stopped":  {liar{silent: true, fromSend: true}, []string{"stop/50: words", "stop/5: words"}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				lies, _ := c.liar.judged(t, seed)
				for _, want := range c.want {
					if !slices.Contains(lies, want) {
						t.Errorf("seed %d: %s is not among %s", seed, want, strings.Join(lies, "; "))
					}
				}
			}
		})
	}
}

// A generator with a fixed pool that measures from due tells the truth about what its users feel: its requests come
// late, and its latencies say so.
func TestPoolFromDueIsNoLie(t *testing.T) {
	for seed := range uint64(5) {
		lies, _ := liar{pool: true}.judged(t, seed)
		// the slow start needs 100 connections: a pool serves its users later, when the target is faster
		lies = slices.DeleteFunc(lies, func(s string) bool { return strings.HasPrefix(s, "slow-start/") })
		if len(lies) > 0 {
			t.Errorf("seed %d: %s", seed, strings.Join(lies, "; "))
		}
	}
}

// A retry that is counted is not hidden.
func TestCountedRetriesAreNoLie(t *testing.T) {
	o, p := Defaults(), Pathologies()[5]
	run := liar{retries: true}.run(t, p, &o, 50, 1)
	trial := generators.Trial{Pathology: p.Name, Connections: 50, Runs: []generators.TrialRun{run}}
	if generators.Judge(&trial); trial.Cell(generators.Errors).State != generators.Silent {
		t.Errorf("hidden retries: %+v", trial.Cell(generators.Errors))
	}
	trial.Cells = nil
	run.Said.Figures[generators.Retried] = run.Served.Broken
	trial.Runs = []generators.TrialRun{run}
	if generators.Judge(&trial); trial.Cell(generators.Errors).State != generators.Right || trial.Cell(generators.Sent).State != generators.Right {
		t.Errorf("counted retries: %+v", trial.Cells)
	}
}

// How late requests come, by their instants alone.
func TestSpacing(t *testing.T) {
	even := func(n int, gap time.Duration) (came []time.Duration) {
		for i := range n {
			came = append(came, time.Second+time.Duration(i)*gap)
		}
		return came
	}
	stopped := even(1000, 2*time.Millisecond)
	for i := range 250 {
		stopped[400+i] = max(stopped[400+i], stopped[649])
	}
	late := even(1000, 2*time.Millisecond)
	for i := range 20 {
		late[i] += 40 * time.Millisecond // a slow start of the generator
	}
	slices.Sort(late)
	for name, c := range map[string]struct {
		came      []time.Duration
		low, high float64 // of p99, ms
	}{
		"on time":          {even(1000, 2*time.Millisecond), 0, 0.001},
		"half the rate":    {even(500, 4*time.Millisecond), 900, 1000},
		"a stop of 500 ms": {stopped, 450, 500},
		"first ones late":  {late, 20, 41},
		"fifteen times":    {even(15000, 133*time.Microsecond), 0, 0.001},
		"a little faster":  {even(1000, 1990*time.Microsecond), 0, 2},
		"one request":      {even(1, 1), 0, 0},
	} {
		if _, p99 := spacing(c.came, 500); p99 < c.low || p99 > c.high {
			t.Errorf("%s: p99 %g ms, want %g to %g", name, p99, c.low, c.high)
		}
	}
}
