package verify

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

// Of each pair one block is base's and one head's, in both orders about equally often.
func TestDealIsFairAndRandom(t *testing.T) {
	d := Deal{Block: 50 * ms, Seed: 7}
	first := 0
	for pair := range 1000 {
		a, b := d.Side(2*pair), d.Side(2*pair+1)
		if a+b != DuetBase+DuetHead {
			t.Fatalf("pair %d is of %d and %d", pair, a, b)
		}
		first += a
	}
	if first < 440 || first > 560 {
		t.Errorf("head is first in %d of 1000 pairs", first)
	}
	other, same := Deal{Block: 50 * ms, Seed: 8}, 0
	for n := range 2000 {
		if other.Side(n) == d.Side(n) {
			same++
		}
	}
	if same < 880 || same > 1120 {
		t.Errorf("two seeds agree in %d of 2000 blocks", same)
	}
	if d.Number(49*ms) != 0 || d.Number(50*ms) != 1 {
		t.Error("a block ends before its length")
	}
}

// roundOf makes operations every 10 ms of 1 ms each, and lets change alter them.
func roundOf(end time.Duration, change func(side, n int, op *DuetOp)) DuetRound {
	r := DuetRound{Deal: Deal{50 * ms, 1}, Guard: 5 * ms, End: end}
	for due := time.Duration(0); due < end; due += 10 * ms {
		n := r.Number(due)
		op := DuetOp{Due: due, Done: due + ms}
		change(r.Side(n), n, &op)
		r.Ops[r.Side(n)] = append(r.Ops[r.Side(n)], op)
	}
	return r
}

// The first operation of each block lies in the guard; what ends late counts for its own
// block; the warm-up and a half pair at the end are left out.
func TestDuetRoundCounts(t *testing.T) {
	r := roundOf(time.Second, func(_, n int, op *DuetOp) {
		if n == 5 && op.Due == 290*ms {
			op.Done = op.Due + 30*ms // into block 6, two of whose operations count
		}
	})
	r.Warmup = 120 * ms
	r.End -= 10 * ms
	kept, c := r.pairs()
	if len(kept) != 7 || c.Pairs != 7 || c.CleanPairs != 7 || c.Operations != 7*8 || c.Guarded != 7*2 {
		t.Fatalf("%d pairs, %+v", len(kept), c)
	}
	side := r.Side(5)
	if longest := kept[0][side].response[3]; longest != 30e3 {
		t.Errorf("the longest of block 5 is %v µs", longest)
	}
	want := uint64(1) // at 310 ms
	if r.Side(6) == side {
		want = 0
	}
	if c.Overlapped != want {
		t.Errorf("%d operations are due beside the other side, want %d", c.Overlapped, want)
	}
}

// A late generator costs the pair, and is counted by its side; what was never answered is
// an error, what was dropped has no response.
func TestDuetRoundLeavesOutLatePairs(t *testing.T) {
	r := roundOf(time.Second, func(side, n int, op *DuetOp) {
		switch {
		case n/2 == 2 && side == DuetHead:
			op.Lag = 2 * ms
		case n/2 == 3:
			op.Outcome = DuetDropped
		case n/2 == 4 && side == DuetBase:
			op.Outcome = DuetUnfinished
		}
	})
	kept, c := r.pairs()
	if c.LatePairs != 1 || c.LateHead != 1 || c.LateBase != 0 || c.only.Head != 1 || c.EmptyPairs != 1 || c.Pairs != 8 {
		t.Fatalf("%+v", c)
	}
	if b := kept[2][DuetBase]; b.failed != 4 || len(b.response) != 4 || b.achieved != 0 {
		t.Errorf("%+v", b)
	}
}

func TestDuetGuard(t *testing.T) {
	for _, c := range []struct{ takes, want time.Duration }{
		{300 * time.Microsecond, 5 * ms}, {12 * ms, 12 * ms}, {40 * ms, 25 * ms},
	} {
		r := roundOf(time.Second, func(side, _ int, op *DuetOp) {
			if side == DuetHead {
				op.Done = op.Due + c.takes
			}
		})
		if got := r.GuardOf(); got < c.want || got > c.want+c.want/100 {
			t.Errorf("operations of %v: a guard of %v, want %v", c.takes, got, c.want)
		}
	}
}

func TestDuetOpOfARow(t *testing.T) {
	for _, c := range []struct {
		row  takt.Sample
		want DuetOp
	}{
		{takt.Sample{Due: 1, Free: 2, Sent: 5, Done: 9}, DuetOp{Due: 1, Done: 9, Lag: 3}},
		{takt.Sample{Due: 1, Free: 4, Behind: 2, Sent: 5, Done: 9}, DuetOp{Due: 1, Done: 9, Lag: 3}},
		{takt.Sample{Due: 1, Free: 1, Sent: 1, Done: 9, Class: "5xx"}, DuetOp{Due: 1, Done: 9, Outcome: DuetFailed}},
		{takt.Sample{Due: 1, Free: 4, Sent: takt.NotSent, Done: 9, Class: takt.ClassUnfinished}, DuetOp{Due: 1, Done: 9, Outcome: DuetUnfinished}},
		{takt.Sample{Due: 1, Free: 4, Sent: takt.NotSent, Done: 1, Class: takt.ClassDropped}, DuetOp{Due: 1, Done: 1, Outcome: DuetDropped}},
	} {
		if got := DuetOpOf(&c.row); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// played are rounds of 5 s of a machine without noise.
func playedDuet(t *testing.T, budget time.Duration, change func(side, n int, op *DuetOp)) *Judgement {
	t.Helper()
	return playedDuetOf(t, nil, budget, change)
}

// playedDuetOf is playedDuet that gates these metrics; nil: the usual ones.
func playedDuetOf(t *testing.T, metrics []string, budget time.Duration, change func(side, n int, op *DuetOp)) *Judgement {
	t.Helper()
	o := DefaultOptions()
	o.Metrics = metrics
	d, err := NewDuet(DuetParts{Block: 50 * ms}, budget, "http", o)
	if err != nil {
		t.Fatal(err)
	}
	d.Guard = 5 * ms
	for range 100 {
		d.Add(roundOf(5*time.Second, change))
		if s := d.Next(false); s.Done {
			return s.Judgement
		}
	}
	t.Fatal("it does not end")
	return nil
}

func TestDuetWords(t *testing.T) {
	slower := func(share float64, every int) func(side, n int, op *DuetOp) {
		return func(side, n int, op *DuetOp) {
			if side == DuetHead && n%every < 2 {
				op.Done = op.Due + time.Duration(float64(ms)*(1+share))
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(side, n int, op *DuetOp)
		want   Word
		metric string
		word   Word
	}{
		{"the same", func(int, int, *DuetOp) {}, OK, "p50", OK},
		{"all slower", slower(0.1, 1), Regressed, "p50", Regressed},
		{"all faster", slower(-0.1, 1), OK, "p50", Improved},
		// a median of the p99 of blocks would not see it
		{"a pause in every tenth pair", slower(20, 20), Regressed, "p99", Regressed},
		{"which the median does not move", slower(20, 20), Regressed, "p50", OK},
		{"errors", func(side, n int, op *DuetOp) {
			if side == DuetHead && n%4 < 2 {
				op.Outcome = DuetFailed
			}
		}, Regressed, "errors", Regressed},
		{"errors, which may be fast", func(side, n int, op *DuetOp) {
			if side == DuetHead && n%4 < 2 {
				op.Outcome = DuetFailed
			}
		}, Regressed, "p50", Inconclusive},
		{"dropped", func(side, n int, op *DuetOp) {
			if side == DuetHead && op.Due%(50*ms) == 20*ms {
				op.Outcome = DuetDropped
			}
		}, Regressed, "rate", Regressed},
		{"dropped, perhaps the slowest", func(side, n int, op *DuetOp) {
			if side == DuetHead && op.Due%(50*ms) == 20*ms {
				op.Outcome = DuetDropped
			}
		}, Regressed, "p50", Inconclusive},
	} {
		j := playedDuet(t, time.Minute, c.change)
		if j.Verdict != c.want || finding(t, j.Comparisons[0], c.metric).Verdict != c.word {
			t.Errorf("%s: %s, %+v", c.name, j.Verdict, j.Comparisons[0].Findings)
		}
		if f := finding(t, j.Comparisons[0], c.metric); f.Low == nil || *f.Low > f.Difference || *f.High < f.Difference {
			t.Errorf("%s: %+v", c.name, f)
		}
		if d := j.Duet; j.Looks != 3 || d.Slices != 15 || d.PerEach != 10 || d.Seconds != 15 || d.GuardMS != 5 || d.BlockMS != 50 {
			t.Errorf("%s: %d looks, %+v", c.name, j.Looks, d)
		}
	}
}

// Errors and drops make latencies inconclusive, also where neither errors nor rate is gated.
func TestDuetOfLatenciesAlone(t *testing.T) {
	for outcome, want := range map[DuetOutcome]string{
		DuetOK:         "",
		DuetFailed:     "p99: 0 % of the operations of base and 25 % of those of head are errors, which may be fast answers",
		DuetUnfinished: "p99: 0 % of the operations of base and 25 % of those of head are errors, which may be fast answers",
		DuetDropped:    "p99: 0 % of the operations of base and 25 % of those of head were dropped, so the slowest are missing: latencies prove nothing; lower the rate",
	} {
		j := playedDuetOf(t, []string{"p99"}, time.Minute, func(side, n int, op *DuetOp) {
			if side == DuetHead && op.Due%(50*ms) == 20*ms {
				op.Outcome = outcome
			}
		})
		word, said := OK, want == ""
		for _, line := range j.Advice {
			said = said || want != "" && strings.HasPrefix(line, want)
		}
		if want != "" {
			word = Inconclusive
		}
		if got := j.Comparisons[0].Findings[0].Verdict; got != word || !said {
			t.Errorf("outcome %d: %s, %q; want %s, %q", outcome, got, j.Advice, word, want)
		}
	}
}

// What so little load cannot prove is refused before it is sent.
func TestCheckDuet(t *testing.T) {
	for _, c := range []struct {
		block, budget time.Duration
		metrics       []string
		want          string
	}{
		{50 * ms, time.Minute, nil, ""},
		{50 * ms, 7 * time.Second, nil, "give 8s or more"},
		{50 * ms, 7 * time.Second, []string{"p50"}, ""},
		{200 * ms, time.Minute, nil, ""},
		{10 * ms, time.Minute, nil, "the block 10ms is not from 20ms to 200ms"},
		{50 * ms, time.Minute, []string{"max_rss"}, "a duet cannot gate max_rss"},
		{50 * ms, time.Minute, []string{"max"}, "a duet cannot gate max"},
	} {
		o := DefaultOptions()
		o.Metrics = c.metrics
		err := o.CheckDuet(DuetParts{Block: c.block}, c.budget, "http")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %v: %v", c.block, c.budget, c.metrics, err)
		}
	}
}

// Values that resemble their neighbours stretch the interval; independent ones hardly do,
// and those that alternate never make it narrower.
func TestStretch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	mean := func(rho float64) (sum float64) {
		for range 200 {
			d, last := make([]float64, 30), 0.0
			for i := range d {
				last = rho*last + math.Sqrt(1-rho*rho)*r.NormFloat64()
				d[i] = last
			}
			sum += stats.StretchOf(d) / 200
		}
		return sum
	}
	for _, c := range []struct{ rho, least, most float64 }{{-0.5, 1, 1.05}, {0, 1, 1.3}, {0.5, 2, 4}} {
		if got := mean(c.rho); got < c.least || got > c.most {
			t.Errorf("ρ %v: %v, want %v to %v", c.rho, got, c.least, c.most)
		}
	}
	if got := stats.StretchOf(make([]float64, 20)); got != 1 {
		t.Errorf("of equal values: %v", got)
	}
}

// The words go by p, and the interval stands beside them: they agree.
func TestDuetIntervalsInvertTheTests(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	for range 200 {
		n := 6 + r.IntN(20)
		d := make([]float64, n)
		for i := range d {
			d[i] = r.NormFloat64()
		}
		mean := func(w []int) (sum float64) {
			for i, k := range w {
				sum += float64(k) * d[i]
			}
			return sum / float64(stats.Total(asFloats(w)))
		}
		alpha, theta := []float64{0.05, 0.01}[r.IntN(2)], r.NormFloat64()/2
		for _, s := range []stats.Shift{stats.Serial{Paired: d, Stretch: 2.5}, stats.NewResampled(n, 1.5, mean)} {
			low, high := s.Interval(alpha)
			if inside, rejected := low <= theta && theta <= high, s.P(theta) <= alpha; inside == rejected {
				t.Fatalf("%T of %d: p of %v is %v, the interval of alpha %v goes from %v to %v", s, n, theta, s.P(theta), alpha, low, high)
			}
		}
	}
}

func asFloats(w []int) []float64 {
	list := make([]float64, len(w))
	for i, k := range w {
		list[i] = float64(k)
	}
	return list
}

// A duet judges latencies that each operation has once, where its response time shows nothing. Operations without one
// count for the others.
func TestDuetOfParts(t *testing.T) {
	o := DefaultOptions()
	o.Rows, o.Metrics = []string{"ttft", "maxgap", "tpot"}, []string{"ttft.p50", "maxgap.p50", "ttft.p99"}
	d, err := NewDuet(DuetParts{Block: 50 * ms}, 30*time.Second, "llm", o)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for seed := uint64(1); ; seed++ {
		r := DuetRound{Deal: Deal{50 * ms, seed}, Guard: 5 * ms, End: 15 * time.Second}
		for due := time.Duration(0); due < r.End; due += 4 * ms {
			side := r.Side(r.Number(due))
			op := DuetOp{Due: due, Done: due + 40*ms, Timed: [takt.MaxTimed]time.Duration{time.Duration(float64(10*ms) * math.Exp(0.05*rnd.NormFloat64())), 2 * ms}}
			if side == DuetHead {
				op.Timed[0] += 3 * ms
			}
			if rnd.IntN(20) == 0 {
				op.Timed = [takt.MaxTimed]time.Duration{}
			}
			r.Ops[side] = append(r.Ops[side], op)
		}
		d.Add(r)
		s := d.Next(seed == 4)
		if !s.Done {
			continue
		}
		words := map[string]Word{}
		for _, f := range s.Judgement.Comparisons[0].Findings {
			words[f.Metric] = f.Verdict
		}
		if words["ttft.p50"] != Regressed || words["maxgap.p50"] != OK || words["ttft.p99"] != Regressed {
			t.Errorf("%+v", s.Judgement.Comparisons[0].Findings)
		}
		break
	}
	if f := d.gate("tpot.p50", d.slices()); f.s.P(0) < 1 {
		t.Errorf("a latency that no operation has is proven: %+v", f)
	}
	o.Metrics = []string{"ttfo.p50"}
	if _, err := NewDuet(DuetParts{Block: 50 * ms}, 30*time.Second, "llm", o); err == nil || !strings.Contains(err.Error(), "cannot gate ttfo.p50: it knows percentiles of the response time, ttft, maxgap, tpot such") {
		t.Error(err)
	}
	o.Rows = nil // before the first round
	if err := o.CheckDuet(DuetParts{Block: 50 * ms}, 30*time.Second, ""); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"service.p50", "ttft.max", "goodput"} {
		o.Metrics = []string{name}
		if err := o.CheckDuet(DuetParts{Block: 50 * ms}, 30*time.Second, ""); err == nil {
			t.Errorf("a duet gates %s", name)
		}
	}
}
