package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// paused is a run of 100 operations with a pause of 50 ms of its host, from a seed.
func paused(t *testing.T, seed uint64) (sc *Scenario, rep *takt.Report) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x7061757365))
	rate := between(r, 50.0, 2000)
	sc = &Scenario{
		Mode: []string{modeLoop, modeWorker, modeLoopTLS}[r.IntN(3)], Rate: rate, Duration: time.Duration(100 / rate * float64(time.Second)),
		Loops: 1, InFlight: 10_000, Room: unbounded, Drain: 20 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: 5 * time.Second,
		Service: between(r, time.Millisecond, 20*time.Millisecond),
	}
	if !sc.loops() {
		sc.Loops = 0
	}
	sc.Pause.From = between(r, 0, sc.Duration)
	sc.Pause.To = sc.Pause.From + 50*time.Millisecond
	w := newWorld(sc, seed)
	var err error
	if w.run(func() { rep, err = w.load() }); err != nil || rep == nil || rep.Counts.OK < 99 {
		t.Fatalf("seed %d: %v, %+v", seed, err, rep)
	}
	return sc, rep
}

// One pause of the host does not make a smoke test fail that the target passes: no run goes from exit code
// 0 to 6, and none blames the target, which answers in time. A target that is too slow remains so. The
// test runs 10 seeds, or TAKT_SEEDS.
func TestPausedHost(t *testing.T) {
	met, void, missed := 0, 0, 0
	from, to := seeds(t, racetest.Some(10))
	for seed := from; seed <= to; seed++ {
		sc, rep := paused(t, seed)
		for _, text := range []string{"p99<100ms", "p99<45ms", "p50<40ms", "p99<500us"} {
			list, faults := assert.ParseAssertions(text)
			if faults != nil {
				t.Fatal(faults)
			}
			felt := list[0].Check(rep).Result
			assert.Judge(rep, list)
			got, slow := assert.Outcome(rep), text == "p99<500us"
			switch {
			case rep.Verdict == takt.Valid && felt == takt.Pass && got != takt.Pass:
				t.Errorf("seed %d: %s is met, and counts as %s: %v, %s", seed, text, got, rep.Assertions, sc)
			case !slow && got == takt.Fail, slow && got == takt.Pass:
				t.Errorf("seed %d: the target answers within 31 ms, not in 1 ms: %v, %v, %s", seed, rep.Assertions, rep.Warnings, sc)
			}
			switch got {
			case takt.Pass:
				met++
			case takt.Void:
				void++
			default:
				missed++
			}
		}
	}
	t.Logf("%d met, %d void, %d missed", met, void, missed)
	if to-from >= 99 && (met == 0 || void == 0 || missed == 0) {
		t.Error("not every outcome occurs")
	}
}
