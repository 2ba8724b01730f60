package truth_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// queue is a driver that behaves like a FIFO queue with several servers: each sent operation gets
// the server that is free first.
type queue struct {
	mu    sync.Mutex
	start time.Time
	free  []time.Duration
	draw  func() time.Duration // a service time
}

func (q *queue) Do(ctx context.Context, _ *takt.Op, r *takt.Result) {
	q.mu.Lock()
	now, first := time.Since(q.start), 0
	for i := range q.free {
		if q.free[i] < q.free[first] {
			first = i
		}
	}
	end := max(now, q.free[first]) + q.draw()
	q.free[first] = end
	q.mu.Unlock()
	select {
	case <-time.After(end - now):
	case <-ctx.Done():
		r.Class, r.Err = "canceled", ctx.Err()
	}
}

func (q *queue) Close() error { return nil }

// offer runs the engine against a new queue with that many servers.
func offer(t *testing.T, rate float64, seed uint64, operations float64, servers int, draw func(*rand.Rand) float64) *takt.Report {
	t.Helper()
	o := engine.Defaults()
	o.Rate, o.Arrivals, o.Seed = engine.PerSecond(rate), engine.MustArrivals("poisson"), seed
	o.Duration = time.Duration(operations / rate * float64(time.Second))
	o.Warmup, o.Drain = o.Duration/10, engine.DrainOf(time.Hour)
	source, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 7))
	q := &queue{start: time.Now(), free: make([]time.Duration, servers), draw: func() time.Duration {
		return time.Duration(draw(random) * float64(time.Second))
	}}
	r, err := engine.Run(t.Context(), engine.Plan{
		Options: o, Kind: "test", Source: source, NewWaiter: pace.Timer,
		Driver: &takt.Driver{Worker: func(int) (takt.Worker, error) { return q, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tailMMc is the probability that a response time of the queue M/M/c is above t. Source: Gross,
// Shortle, Thompson & Harris, Fundamentals of Queueing Theory, 4th ed., 2.3; Erlang's C is the
// probability to wait.
func tailMMc(c int, lambda, mu, t float64) float64 {
	a, servers := lambda/mu, float64(c)
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	wait := term / (1 - a/servers)
	wait /= sum + wait
	longer, d := mu*t, servers-1-a // for d = 0: the limit of the other form
	if d != 0 {
		longer = -math.Expm1(-mu*t*d) / d
	}
	return math.Exp(-mu*t) * (1 + wait*longer)
}

// limitMMc is the rate at which the p95 of M/M/c reaches the bound, in seconds.
func limitMMc(c int, mu, bound float64) float64 {
	low, high := 0.0, float64(c)*mu
	for range 60 {
		if middle := (low + high) / 2; tailMMc(c, middle, mu, bound) < 0.05 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// simulated is the rate at which the p95 in testdata/lognormal.csv reaches the bound, in seconds.
// testdata/queue simulated 10⁷ arrivals at each rate.
func simulated(t *testing.T, bound float64) float64 {
	t.Helper()
	f, err := os.Open("testdata/lognormal.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i := 2; i < len(rows); i++ {
		x0, y0, x1, y1 := number(rows[i-1][0]), number(rows[i-1][1]), number(rows[i][0]), number(rows[i][1])
		if y0 < bound && bound <= y1 {
			return x0 + (x1-x0)*(bound-y0)/(y1-y0)
		}
	}
	t.Fatalf("the simulation has no p95 of %v s", bound)
	return 0
}

// TestTruthOfQueues compares the limits that takt finds with theory: engine, reports and search,
// under fake time.
func TestTruthOfQueues(t *testing.T) {
	racetest.Skip(t, "700 000 operations take a minute with the race detector")
	exponential := func(r *rand.Rand) float64 { return r.ExpFloat64() / 1000 }
	lognormal := func(r *rand.Rand) float64 { return 0.0005 * math.Exp(r.NormFloat64()) }
	for _, c := range []struct {
		name    string
		servers int
		draw    func(*rand.Rand) float64
		slo     string
		want    float64
	}{
		{"M/M/1", 1, exponential, "p95<20ms", limitMMc(1, 1000, 0.02)},
		{"M/M/4", 4, exponential, "p95<6ms", limitMMc(4, 1000, 0.006)},
		{"lognormal, 4 servers", 4, lognormal, "p95<8ms", simulated(t, 0.008)},
	} {
		t.Run(c.name, func(t *testing.T) {
			slo, err := capacity.ParseSLO(c.slo)
			if err != nil {
				t.Fatal(err)
			}
			search := capacity.DefaultSearch()
			search.Start = 200
			var steps []capacity.Step
			synctest.Test(t, func(t *testing.T) { steps = climb(t, search, slo, c.servers, c.draw) })
			a := capacity.Conclude(steps, slo, capacity.EndFound, 0)
			off := a.Sustainable/c.want - 1
			t.Logf("%s: %.1f/s found in %d steps, %.1f/s in theory: %+.1f %%", c.name, a.Sustainable, len(steps), c.want, 100*off)
			if math.Abs(off) > 0.05 {
				t.Errorf("%.1f/s, want %.1f/s within 5 %%: off by %.1f %%", a.Sustainable, c.want, 100*off)
			}
			if i := a.Interval; i.Low == nil || *i.Low > c.want*1.02 || *i.High < c.want*0.98 {
				t.Errorf("the interval %v–%v is far from %.1f/s", *i.Low, *i.High, c.want)
			}
		})
	}
}

// climb searches in steps of 15 000 operations.
func climb(t *testing.T, search capacity.Search, slo capacity.SLO, servers int, draw func(*rand.Rand) float64) (steps []capacity.Step) {
	for {
		rate, ended := search.Next(steps)
		if ended != "" {
			if ended != capacity.EndFound {
				t.Errorf("the search ended with %q", ended)
			}
			return steps
		}
		r := offer(t, rate, uint64(len(steps)+1), 15_000, servers, draw)
		r.Verdict = takt.Valid // under fake time the CPU of the real machine does not matter
		step, err := capacity.StepOf(r, rate, slo)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
}

// TestTruthOfCapacity runs the real takt capacity against takt target, in real time: about 15
// steps of 2.5 s.
func TestTruthOfCapacity(t *testing.T) {
	clocktest.Asked(t)
	url, _ := startTarget(t, "--service", "exp(2ms)", "--servers", "4")
	want := limitMMc(4, 500, 0.012)
	clocktest.Wants(t, func(*clocktest.Sleepers) []string {
		cmd := exec.Command(binary(t), "capacity", "--slo", "p95<12ms", "--start", "500/s", "-z", "2s", "--warmup", "300ms", "--pause", "200ms",
			"--no-store", "-o", "json", "--", "http", url)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return []string{err.Error()} // exit code 6: the machine was too busy
		}
		var r takt.Report
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		c, err := capacity.In(&r)
		if err != nil {
			t.Fatal(err)
		}
		off := c.Sustainable/want - 1
		t.Logf("%.0f/s found in %d steps, %.0f/s in theory: %+.1f %%", c.Sustainable, len(c.Steps), want, 100*off)
		if math.Abs(off) > 0.1 {
			return []string{fmt.Sprintf("off by %.1f %%", 100*off)}
		}
		return nil
	})
}
