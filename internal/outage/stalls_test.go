package outage_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// frozen is a run of 100 operations a second, of 1 ms each, whose target freezes for the whole third
// second: its operations end in the fourth.
func frozen() *takt.Report {
	const perSecond = 100
	r := &takt.Report{Latency: map[string]takt.Latency{}}
	rate, all := 100.0, hist.New()
	r.Rate.Intended = &rate
	for i := range 5 {
		iv, h := takt.Interval{T: float64(i + 1), Scheduled: perSecond}, hist.New()
		if i != 2 {
			h.RecordN(time.Millisecond, perSecond)
		}
		if i == 3 {
			for k := range time.Duration(perSecond) {
				h.Record(time.Second - k*10*time.Millisecond)
			}
		}
		iv.OK, iv.HDR = h.Count(), h.Encode()
		iv.ResponseMax = hist.Micros(h.Max())
		all.Merge(h)
		r.Intervals = append(r.Intervals, iv)
	}
	r.Latency[takt.LatencyResponseOK] = all.Summary()
	r.Counts = takt.Counts{Scheduled: 5 * perSecond, OK: 5 * perSecond}
	return r
}

// A freeze is a stall with its length and what it held up, in the report and in a sentence.
func TestFind(t *testing.T) {
	r := frozen()
	list, err := outage.FindStalls(r)
	if err != nil || len(list) != 1 || list[0].FromS != 2 || list[0].ToS < 2.99 || list[0].ToS > 3.01 || list[0].LongestUS < 999e3 || list[0].LongestUS > 1001e3 || list[0].Held < 98 || list[0].Held > 100 {
		t.Errorf("%+v, %v", list, err)
	}
	if got, want := outage.StallSentence(r), "The target stalled once, for up to 1s; 99 operations had to wait for it."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Intervals[1].HDR = "AAAA"
	if _, err := outage.FindStalls(r); err == nil || outage.StallSentence(r) != "" {
		t.Errorf("%v, %q of intervals that cannot be read", err, outage.StallSentence(r))
	}
}

// The operations that are open at the end count once, also where the last histogram has them.
func TestFindUnfinished(t *testing.T) {
	for _, listed := range []bool{false, true} {
		r := frozen()
		last, h := &r.Intervals[4], hist.New()
		last.OK, last.InFlightMax = 0, 100
		if listed {
			h.RecordN(time.Second, 100)
		}
		last.HDR, last.ResponseMax = h.Encode(), 1e6
		r.Counts = takt.Counts{Scheduled: 500, OK: 400, Unfinished: 100}
		if list, err := outage.FindStalls(r); err != nil || len(list) != 2 || list[1].Held != 100 {
			t.Errorf("%+v, %v", list, err)
		}
	}
}

// A report of an older takt has no list, and its stalls are found anew; an empty list says that there
// were none. Both survive JSON.
func TestOf(t *testing.T) {
	r := frozen()
	old := len(outage.StallsOf(r))
	r.Stalls = []takt.Stall{}
	none := len(outage.StallsOf(r))
	if old != 1 || none != 0 {
		t.Errorf("%d stalls of an old report, %d of one without", old, none)
	}
	for want, list := range map[string][]takt.Stall{"": nil, "[]": {}, `[{"from_s":2,"to_s":3,"longest_us":1e+06,"held":98}]`: {{FromS: 2, ToS: 3, LongestUS: 1e6, Held: 98}}} {
		text, err := json.Marshal(&takt.Report{Stalls: list})
		var raw struct{ Stalls json.RawMessage }
		var back takt.Report
		if err == nil {
			err = json.Unmarshal(text, &raw)
		}
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || string(raw.Stalls) != want && want != `[{"from_s":2,"to_s":3,"longest_us":1e+06,"held":98}]` || !slices.Equal(back.Stalls, list) || (back.Stalls == nil) != (list == nil) {
			t.Errorf("%+v became %s and %+v: %v", list, raw.Stalls, back.Stalls, err)
		}
	}
}
