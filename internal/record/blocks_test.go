package record

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/takt"
)

// blocksRun records 4 s of operations, one a millisecond, after a warm-up of 1 s, and passes each second on.
func blocksRun(cfg Config, second func(*Recorder)) *takt.Report {
	cfg.Warmup, cfg.Shards = time.Second, 2
	r := New(cfg)
	for i := range 5000 {
		due := time.Duration(i) * time.Millisecond
		e, res := ended(due, due, due, due+time.Duration(i%7+1)*time.Millisecond), &takt.Result{}
		switch i % 50 {
		case 1:
			e.Outcome, res = Dropped, nil
		case 2:
			e.Outcome, res = UnfinishedQueued, nil
		case 3:
			e.Outcome = UnfinishedSent
		case 4:
			res.Class = "5xx"
		}
		r.Sample(i, e, res)
		if i%1000 == 999 {
			r.Swap(Tick{At: due + time.Millisecond, Scheduled: uint64(i) + 1})
			if second != nil {
				second(r)
			}
		}
	}
	return r.Report(End{Scheduled: 4000, WarmupScheduled: 1000, Stop: 5 * time.Second})
}

// The blocks have each operation that has a response time, of the measured window alone, and the report has
// intervals. A run whose end is unknown has them, too.
func TestReportHasIntervals(t *testing.T) {
	for _, window := range []time.Duration{5 * time.Second, -1} {
		rep := blocksRun(Config{Window: window}, nil)
		l := rep.Latency[takt.LatencyResponse]
		c, err := proof.Read(l.Blocks)
		if err != nil || c.Count() != l.Count || l.Count != 3920 {
			t.Fatalf("window %v: %d of %d, %v", window, c.Count(), l.Count, err)
		}
		if l.CI == nil || l.CI.P99 == nil || l.CI.P99.Low > l.P99 || l.CI.P99.High < l.P99 || l.CI.P99_99 != nil {
			t.Errorf("window %v: %+v", window, l.CI)
		}
		if s := rep.Latency[takt.LatencyService]; s.CI != nil || s.Blocks != nil {
			t.Errorf("service has intervals of its own: %+v", s)
		}
	}
	if l := blocksRun(Config{Window: 5 * time.Second, OneWay: true}, nil).Latency[takt.LatencySend]; l.CI == nil || l.CI.P99 == nil {
		t.Errorf("send time: %+v", l.CI)
	}
}

// A run that was killed has the intervals of its journal. A journal of an older takt has none.
func TestReplayHasIntervals(t *testing.T) {
	cfg := Config{Window: 5 * time.Second, Journal: true}
	for name, older := range map[string]bool{"now": false, "of an older takt": true} {
		p, err := NewReplay(Config{Window: cfg.Window, Warmup: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		want := blocksRun(cfg, func(r *Recorder) {
			var s Second
			text, err := json.Marshal(r.Second())
			if err == nil {
				err = json.Unmarshal(text, &s)
			}
			if older {
				s.Counted.Blocks = nil
			}
			if err == nil {
				err = p.Second(s)
			}
			if err != nil {
				t.Fatal(err)
			}
		}).Latency[takt.LatencyResponse]
		copied, err := p.Copy()
		if err != nil {
			t.Fatal(err)
		}
		for _, replay := range []*Replay{copied, p} {
			got := replay.Report(false, false).Latency[takt.LatencyResponse]
			switch {
			case older && (got.CI != nil || got.Blocks != nil):
				t.Errorf("%s: %+v", name, got.CI)
			case !older && (got.Blocks == nil || *got.Blocks != *want.Blocks || *got.CI.P99 != *want.CI.P99):
				t.Errorf("%s: %+v, want %+v", name, got.CI, want.CI)
			}
		}
	}
}
