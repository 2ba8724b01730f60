package verify

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/racetest"
)

// stage makes rounds of a duet on a machine whose speed drifts for both sides, with what
// each block has of its own, in part from the block of the side before.
type stage struct {
	r      *rand.Rand
	rate   int     // operations of a block
	change float64 // of head
	drift  float64 // standard deviation of what both sides share, which changes within seconds
	block  float64 // of what a block has of its own
	serial float64 // correlation of that with the block of the same side before
	tails  bool    // it is Student's t with 3 degrees of freedom, not normal
	op     float64 // spread of the operations of a block
	spikes float64 // a second: 20 ms in which everything takes up to 50 ms more
	pauses bool    // they are those of head alone
	start  float64 // standard deviation of what a server got at its start, which is for one round

	shared float64
	own    [2]float64
}

func (w *stage) noise() float64 {
	v := w.r.NormFloat64()
	if w.tails {
		var chi float64
		for range 3 {
			x := w.r.NormFloat64()
			chi += x * x
		}
		v /= math.Sqrt(chi / 3)
	}
	return v
}

const stageBlock = 50 * time.Millisecond

// round lasts so long, with a guard of a fifth of the block.
func (w *stage) round(length time.Duration, seed uint64) DuetRound {
	r := DuetRound{Deal: Deal{stageBlock, seed}, Guard: stageBlock / 5, End: length}
	const hold = 0.99 // of 50 ms: a memory of 5 s
	luck := [2]float64{w.start * w.r.NormFloat64(), w.start * w.r.NormFloat64()}
	for side := range r.Ops {
		r.Ops[side] = make([]DuetOp, 0, r.Number(length)*w.rate*2/3)
	}
	gap := stageBlock / time.Duration(w.rate)
	for n := range r.Number(length) {
		side := r.Side(n)
		w.shared = hold*w.shared + math.Sqrt(1-hold*hold)*w.drift*w.r.NormFloat64()
		w.own[side] = w.serial*w.own[side] + math.Sqrt(1-w.serial*w.serial)*w.block*w.noise()
		spike := w.r.Float64() < w.spikes*stageBlock.Seconds()
		from := w.r.IntN(w.rate)
		for k := range w.rate {
			us := 400 * math.Exp(w.shared+luck[side]+w.own[side]+w.op*w.r.NormFloat64())
			if side == DuetHead {
				us *= 1 + w.change
			}
			if spike && (side == DuetHead || !w.pauses) && k >= from && k < from+w.rate*2/5 {
				us += 50e3 * w.r.Float64()
			}
			due := time.Duration(n)*stageBlock + time.Duration(k)*gap
			r.Ops[side] = append(r.Ops[side], DuetOp{Due: due, Done: due + time.Duration(us*1e3)})
		}
	}
	return r
}

// play makes rounds of 15 s until the duet ends, and gives its judgement.
func (w *stage) play(t *testing.T, budget time.Duration, o Options) *Judgement {
	t.Helper()
	return w.playIn(t, DuetParts{Block: stageBlock}, 15*time.Second, budget, o)
}

func (w *stage) playIn(t *testing.T, parts DuetParts, round, budget time.Duration, o Options) *Judgement {
	t.Helper()
	d, err := NewDuet(parts, budget, "http", o)
	if err != nil {
		t.Fatal(err)
	}
	d.Guard = stageBlock / 5
	for i := uint64(0); ; i++ {
		d.Add(w.round(round, i))
		if s := d.Next(false); s.Done {
			return s.Judgement
		}
	}
}

var duetSeries = flag.Int("duet-series", simulated(60), "simulate so many duets of each kind; docs/verify-statistics.md has the shares of 600")

// The promise of a duet, on machines as they were measured and on worse ones: see
// docs/verify-statistics.md.
func TestDuetFalseAlarmsAndPower(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	quiet := stage{rate: 12, drift: 0.2, block: 0.05, op: 0.1, tails: true, spikes: 0.3}
	dependent, busy := quiet, quiet
	dependent.serial, dependent.tails = 0.9, false // over 10 blocks, half a second to a second
	busy.block, busy.spikes, busy.serial, busy.op = 0.3, 3, 0.5, 0.3
	for _, m := range []struct {
		name   string
		stage  stage
		found  float64 // of +13 %, at least
		ok     float64 // of the same by p50, at least
		within float64 // seconds of load, on average
	}{
		{"quiet", quiet, 0.95, 0.95, 30},
		{"dependent", dependent, 0.95, 0.6, 50},
		{"busy", busy, 0, 0, 60},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				metrics []string
				change  float64
				right   Word
				wrong   []Word
				least   float64
			}{
				{nil, 0, OK, []Word{Regressed}, 0}, // p99 stays open
				{nil, 0.05, Inconclusive, []Word{Regressed, OK}, 0},
				{nil, 0.13, Regressed, []Word{OK}, m.found},
				{[]string{"p50"}, 0, OK, []Word{Regressed}, m.ok},
				{[]string{"p50"}, 0.13, Regressed, []Word{OK}, m.found},
			} {
				o := DefaultOptions()
				o.Metrics = c.metrics
				got, load := m.stage.words(t, c.change, *duetSeries, o)
				t.Logf(m.name+" %v %+.0f %%: %.1f %% ok, %.1f %% regressed, after %.0f s", c.metrics, 100*c.change, 100*got[OK], 100*got[Regressed], load)
				for _, word := range c.wrong {
					if got[word] > 0.05 {
						t.Errorf("%v %+.0f %%: %v are %s", c.metrics, 100*c.change, got[word], word)
					}
				}
				if got[c.right] < c.least || c.least > 0 && load > m.within {
					t.Errorf("%v %+.0f %%: %v are %s, want %v, after %v s, want %v", c.metrics, 100*c.change, got[c.right], c.right, c.least, load, m.within)
				}
			}
		})
	}
}

// A p99 that is worse in most seconds is found beside pauses that hit both sides, in which the
// p99 of all operations together says nothing: that alone finds 4 and 9 % of these. Pauses of
// head alone, which most seconds do not have, are never called ok.
func TestDuetFindsTails(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	o := DefaultOptions()
	o.Metrics = []string{"p99"}
	quiet := stage{rate: 12, drift: 0.2, block: 0.05, op: 0.1, tails: true, spikes: 0.3}
	steady, paused := quiet, quiet
	steady.spikes = 0
	paused.spikes, paused.pauses = 1, true
	for _, c := range []struct {
		name   string
		stage  stage
		change float64
		wrong  Word
		found  float64 // regressed, at least
	}{
		{"the same", quiet, 0, Regressed, 0},
		{"the tolerance", quiet, 0.05, Regressed, 0},
		{"the tolerance, without pauses", steady, 0.05, Regressed, 0},
		{"the tolerance, called ok", steady, 0.05, OK, 0},
		{"+13 %", quiet, 0.13, OK, 0.3},
		{"+25 %", quiet, 0.25, OK, 0.7},
		{"+13 %, without pauses", steady, 0.13, OK, 0.85},
		{"pauses of head", paused, 0, OK, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, load := c.stage.words(t, c.change, *duetSeries/2, o)
			t.Logf("%s: %.1f %% ok, %.1f %% regressed, after %.0f s", c.name, 100*got[OK], 100*got[Regressed], load)
			if got[c.wrong] > 0.05 || got[Regressed] < c.found {
				t.Errorf("%v, of %s at most 5 %%, regressed at least %v", got, c.wrong, c.found)
			}
		})
	}
}

// words are the shares of the words of so many duets, and the load that one took.
func (w stage) words(t *testing.T, change float64, series int, o Options) (share map[Word]float64, load float64) {
	count := map[Word]int{}
	for i := range uint64(series) {
		w.r, w.change, w.own, w.shared = rand.New(rand.NewPCG(i, math.Float64bits(change))), change, [2]float64{}, 0
		j := w.play(t, time.Minute, o)
		count[j.Verdict]++
		load += j.Duet.Seconds / float64(series)
	}
	share = map[Word]float64{}
	for word, n := range count {
		share[word] = float64(n) / float64(series)
	}
	return share, load
}

// Who repeats a duet with the budget that an inconclusive one names gets a word in nine
// of ten cases, and a false one in at most one: with heavy tails, and for changes near the
// tolerance and far from it.
func TestDuetForecast(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	t.Parallel()
	o := DefaultOptions()
	o.Metrics = []string{"p50"}
	concluded, wrong, all := 0, 0, 0
	for _, change := range []float64{0, 0.02, 0.08, 0.1, 0.13} {
		had, got := 0, 0
		for i := range uint64(*duetSeries / 6) {
			w := stage{rate: 12, drift: 0.2, block: 0.15, op: 0.1, tails: true, change: change, r: rand.New(rand.NewPCG(i, math.Float64bits(change)))}
			j := w.play(t, 15*time.Second, o)
			needed := neededOf(&j.Comparisons[0])
			if j.Verdict != Inconclusive || needed >= mostNeeded || unknownOf(&j.Comparisons[0]) {
				continue
			}
			had++
			switch w.play(t, time.Duration(needed)*time.Second, o).Verdict {
			case Inconclusive:
			case OK:
				got++
				if change > 0.05 {
					wrong++
				}
			case Regressed:
				got++
				if change < 0.05 {
					wrong++
				}
			}
		}
		t.Logf("%+.0f %%: %d of %d", 100*change, got, had)
		concluded, all = concluded+got, all+had
	}
	t.Logf("%d of %d, %d wrong", concluded, all, wrong)
	if all < *duetSeries/10 || float64(concluded) < 0.9*float64(all) || float64(wrong) > 0.05*float64(all) {
		t.Errorf("%d of %d duets concluded within their forecast, %d wrongly", concluded, all, wrong)
	}
}

// Servers that start for each round are a little faster or slower in it. Slices of a second resemble
// each other within a round, so a duet that draws conclusions from them concludes nothing about equal
// sides, and asks for too little load. Rounds conclude, and raise no more false alarms.
func TestDuetOfFreshServers(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	t.Parallel()
	o := DefaultOptions()
	o.Metrics = []string{"p50"}
	fresh := DuetParts{stageBlock, FreshRound}
	for _, c := range []struct {
		name     string
		parts    DuetParts
		round    time.Duration
		change   float64
		budget   time.Duration
		right    Word
		least    float64
		mistaken Word
	}{
		{"slices of rounds of 5 s, equal", DuetParts{Block: stageBlock}, 5 * time.Second, 0, time.Minute, Inconclusive, 0, Regressed},
		{"rounds, equal", fresh, FreshRound, 0, time.Minute, OK, 0.9, Regressed},
		{"rounds, the tolerance", fresh, FreshRound, 0.05, time.Minute, Inconclusive, 0.9, Regressed},
		{"rounds, the tolerance, called ok", fresh, FreshRound, 0.05, time.Minute, Inconclusive, 0.9, OK},
		{"rounds, +13 %", fresh, FreshRound, 0.13, time.Minute, Regressed, 0.95, OK},
		{"rounds, +13 %, in 20 s", fresh, FreshRound, 0.13, 20 * time.Second, Regressed, 0.5, OK},
	} {
		count, load := map[Word]float64{}, 0.0
		for i := range uint64(*duetSeries) {
			w := stage{rate: 12, drift: 0.2, block: 0.05, op: 0.1, tails: true, start: 0.03, change: c.change, r: rand.New(rand.NewPCG(i, math.Float64bits(c.change)))}
			j := w.playIn(t, c.parts, c.round, c.budget, o)
			count[j.Verdict] += 1 / float64(*duetSeries)
			load += j.Duet.Seconds / float64(*duetSeries)
		}
		t.Logf("%s: %.1f %% ok, %.1f %% regressed, after %.0f s", c.name, 100*count[OK], 100*count[Regressed], load)
		if count[c.right] < c.least || count[c.mistaken] > 0.051 {
			t.Errorf("%s: %v, want %s in %v at least, and %s in 5 %% at most", c.name, count, c.right, c.least, c.mistaken)
		}
	}
}
