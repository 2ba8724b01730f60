package clocktest

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

// play feeds a sequence of runs to a score. G and B are good and bad runs on a quiet machine, g and
// b on a noisy one; each of g and b costs the time lost. Runs after the sequence repeat its last
// run.
func play(sequence string, lost time.Duration) (s score, runs int) {
	s.patience = patience
	s.decide(func() (bool, string, time.Duration) {
		one := sequence[min(runs, len(sequence)-1)]
		runs++
		switch one {
		case 'g', 'b':
			return one == 'g', "sleeps ended 1.2 ms late at p99", lost
		}
		return one == 'G', "", 0
	})
	return s, runs
}

func TestScores(t *testing.T) {
	for _, c := range []struct {
		sequence string
		want     outcome
		runs     int
		text     string
	}{
		{"G", passed, 1, "1 of 1 judged runs good"},
		{"BG", passed, 2, "1 of 2 judged runs good"},
		{"BBBG", passed, 4, "1 of 4 judged runs good"},
		{"B", failed, 4, "0 of 4 judged runs good"},
		{"gbgG", passed, 4, "1 of 1 judged runs good, 3 more discarded: sleeps ended 1.2 ms late at p99"},
		{"gbBbG", passed, 5, "1 of 2 judged runs good, 3 more discarded: sleeps ended 1.2 ms late at p99"},
		{"ggggggB", failed, 10, "0 of 4 judged runs good, 6 more discarded: sleeps ended 1.2 ms late at p99"},
		{"g", skipped, 10, "the machine is too noisy to tell: 0 of 0 judged runs good, 10 more discarded: sleeps ended 1.2 ms late at p99"},
		{"Bb", skipped, 10, "the machine is too noisy to tell: 0 of 1 judged runs good, 9 more discarded: sleeps ended 1.2 ms late at p99"},
	} {
		s, runs := play(c.sequence, 0)
		if s.outcome() != c.want || runs != c.runs || s.String() != c.text {
			t.Errorf("%s: outcome %d after %d runs: %s\nwant outcome %d after %d runs: %s", c.sequence, s.outcome(), runs, s, c.want, c.runs, c.text)
		}
	}
}

// The score tells a test that makes the noise itself, because takt wastes CPU, from a busy machine.
func TestOwnNoise(t *testing.T) {
	const own = "the load of the test is the noise"
	s, _ := play("Bb", 0)
	if s.alone = s.discarded; !strings.Contains(s.String(), own) {
		t.Error(s)
	}
	if s.alone--; strings.Contains(s.String(), own) {
		t.Error(s)
	}
}

// A test loses at most 40 s to noise, or less if other tests have used up the common patience.
func TestPatience(t *testing.T) {
	if s, runs := play("Bg", 20*time.Second); s.outcome() != skipped || runs != 3 {
		t.Errorf("outcome %d after %d runs: %s", s.outcome(), runs, s)
	}
	var s score // other tests have used up all patience
	runs := 0
	s.decide(func() (bool, string, time.Duration) { runs++; return true, "", 0 })
	if s.outcome() != passed || runs != 1 {
		t.Errorf("without noise no patience is needed: outcome %d after %d runs", s.outcome(), runs)
	}
	s, runs = score{}, 0
	s.decide(func() (bool, string, time.Duration) { runs++; return true, "noise", time.Second })
	if s.outcome() != skipped || runs != 1 {
		t.Errorf("outcome %d after %d runs: %s", s.outcome(), runs, s)
	}
}

// Of all sequences of six runs, those with a good run before the fourth bad run pass. Of the
// others, those with a fourth bad run fail and the rest is skipped. Runs on a noisy machine do not
// change the outcome.
func TestEverySequence(t *testing.T) {
	const length, kinds = 6, "GBgb"
	for n := range 1 << (2 * length) {
		sequence := make([]byte, length)
		for i := range sequence {
			sequence[i] = kinds[n>>(2*i)&3]
		}
		good, bad := 0, 0
		for _, one := range sequence {
			switch {
			case good == 1 || bad == 4:
			case one == 'G':
				good++
			case one == 'B':
				bad++
			}
		}
		want := skipped
		switch {
		case good == 1:
			want = passed
		case bad == 4:
			want = failed
		}
		if s, _ := play(string(sequence)+"g", 0); s.outcome() != want || s.good != good || s.bad != bad {
			t.Fatalf("%s: outcome %d: %s\nwant outcome %d, %d good, %d bad", sequence, s.outcome(), s, want, good, bad)
		}
	}
}

func TestQuietness(t *testing.T) {
	for _, c := range []struct {
		q    quietness
		want string
	}{
		{quietness{}, ""},
		{quietness{late: 499 * time.Microsecond, steal: 0.0099}, ""},
		{quietness{late: 500 * time.Microsecond}, "sleeps ended 0.5 ms late at p99"},
		{quietness{late: 1234 * time.Microsecond, steal: 0.5}, "sleeps ended 1.2 ms late at p99"},
		{quietness{steal: 0.01}, "the hypervisor took 1.0 % of the time"},
	} {
		if got := c.q.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
}

// A thread that got no core for a second counts every sleep that it missed.
func TestMissedSleepsCount(t *testing.T) {
	s := &sleeper{ended: hist.New()}
	s.start(0)
	for n := range time.Duration(100) {
		s.woke(s.next() + n)
	}
	punctual := hist.New()
	s.addTo(punctual, 100*time.Millisecond)
	if p99 := punctual.Quantile(0.99); punctual.Count() != 100 || p99 > time.Microsecond {
		t.Errorf("%d sleeps ended %v late", punctual.Count(), p99)
	}
	hung := hist.New()
	s.addTo(hung, 1100*time.Millisecond)
	if p99 := hung.Quantile(0.99); hung.Count() < 1099 || p99 < 900*time.Millisecond {
		t.Errorf("%d sleeps ended %v late", hung.Count(), p99)
	}
}

// The process of the sleepers answers each line, and ends when its standard input is closed.
func TestSleepers(t *testing.T) {
	s := sleep(t)
	time.Sleep(20 * time.Millisecond)
	if late := s.Late(); late <= 0 {
		t.Errorf("sleeps ended %v late", late)
	}
	if q := s.stop(); q.late <= 0 || q.steal < 0 || s.process.ProcessState == nil {
		t.Errorf("%+v, process %v", q, s.process.ProcessState)
	}
}
