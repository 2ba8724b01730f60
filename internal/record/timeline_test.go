package record

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A run whose end becomes known only when it comes has the figures of one whose end was
// known all the time, to the Grace.
func TestTimeline(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const end = 10*time.Second - 1
	known, open := New(Config{Shards: 2, Window: end}), New(Config{Shards: 2, Window: -1})
	instant := func(below int) time.Duration { return time.Duration(random.IntN(below))*grace + grace/2 }
	for i := range 3000 {
		e := Event{Seq: uint64(i), Due: instant(100)}
		e.Free = instant(150)
		e.Sent = max(e.Due, e.Free) + instant(60)
		e.Done = e.Sent + ms
		e.Outcome = Outcome(random.IntN(4))
		for _, r := range []*Recorder{known, open} {
			r.Sample(i%2, e, nil)
			if i%500 == 499 {
				r.Swap(Tick{At: time.Duration(i) * ms})
			}
		}
	}
	open.CloseWindow(end)
	a, b := known.Report(End{Scheduled: 3000, Stop: end}), open.Report(End{Scheduled: 3000, Stop: end})
	if a.Rate.Achieved != b.Rate.Achieved || known.total.Unsent != open.total.Unsent || known.total.Unsent == 0 || a.Verdict != b.Verdict {
		t.Errorf("%v/s and %d not sent, want %v/s and %d", b.Rate.Achieved, open.total.Unsent, a.Rate.Achieved, known.total.Unsent)
	}
	if a.Rate.Achieved < 10 || a.Rate.Achieved > 200 {
		t.Errorf("%v/s achieved of 300 scheduled", a.Rate.Achieved)
	}
}
