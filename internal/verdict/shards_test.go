package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// ends is a run of 100 s whose shards ended after these times.
func ends(intended bool, seconds ...float64) (*takt.Report, *Shards) {
	whole, s := &takt.Report{DurationS: 100}, &Shards{}
	if rate := 10.0; intended {
		whole.Rate.Intended = &rate
	}
	for i, after := range seconds {
		s.Ends = append(s.Ends, ShardEnd{Shard: string(rune('1'+i)) + "/9", After: after})
	}
	return whole, s
}

// A shard that ends 0.1 s before the others is told, and 1 % makes the run invalid.
func TestEndsBounds(t *testing.T) {
	for _, c := range []struct {
		seconds  float64
		intended bool
		warned   bool
		verdict  takt.Verdict
	}{
		{100, true, false, takt.Valid}, {99.95, true, false, takt.Valid}, {99.875, true, true, takt.Valid}, {99, true, true, takt.Valid}, {98.875, true, true, takt.Invalid},
		{50, false, false, takt.Valid}, // a closed loop ends when it ends
	} {
		whole, s := ends(c.intended, 100, c.seconds)
		if s.Judge(whole); whole.Warned("shards_cut") != c.warned || whole.Verdict != c.verdict {
			t.Errorf("%v s of 100: %s, %+v", c.seconds, whole.Verdict, whole.Warnings)
		}
	}
	whole, s := ends(true, 0.2, 0.1, 0.05) // 0.1 s earlier is not too early
	whole.DurationS = 0.2
	if s.Judge(whole); len(whole.Warnings) != 1 || !strings.HasPrefix(whole.Warnings[0].Message, "shard 3/9 was cut short, after 50ms of 200ms:") {
		t.Errorf("%+v", whole.Warnings)
	}
	if s := inSeconds(1.0005); s != 1001*time.Millisecond {
		t.Errorf("1.0005 s are told as %v", s)
	}
	whole, s = ends(false, 100, 99.99)
	s.Ends[1].Early = true
	if s.Judge(whole); whole.Verdict != takt.Invalid {
		t.Errorf("one of two ended early: %s", whole.Verdict)
	}
	s.Ends[0].Early = true
	if s.Judge(whole); whole.Verdict != takt.Valid {
		t.Errorf("both ended early: %s", whole.Verdict)
	}
	// More than 0.1 s apart at the start is told, and more than 1 % is invalid.
	for apart, want := range map[time.Duration]takt.Verdict{100 * time.Millisecond: "", 101 * time.Millisecond: takt.Valid, time.Second: takt.Valid, 1001 * time.Millisecond: takt.Invalid} {
		whole, s := ends(true)
		s.Apart = apart
		if s.Judge(whole); whole.Warned("shards_apart") != (want != "") || (whole.Verdict == takt.Invalid) != (want == takt.Invalid) {
			t.Errorf("%v apart: %s, %+v", apart, whole.Verdict, whole.Warnings)
		}
	}
}

// The failures at a limit of all hosts together are judged unless a shard was, and said it.
func TestLimitsOfAll(t *testing.T) {
	said := []takt.Warning{{Code: "host_limit"}}
	for _, c := range []struct {
		failed  uint64
		verdict takt.Verdict
		said    []takt.Warning
		warned  bool
		want    takt.Verdict
	}{
		{9, takt.Valid, nil, false, takt.Valid}, {10, takt.Valid, nil, true, takt.Invalid}, {10, takt.Valid, said, true, takt.Invalid},
		{10, takt.Invalid, said, false, takt.Invalid}, {10, takt.Invalid, nil, true, takt.Invalid},
	} {
		s := Shards{Invalid: c.verdict == takt.Invalid, Warnings: c.said}
		whole := &takt.Report{Errors: []takt.ErrorClass{{Class: "no_ports", Count: c.failed}}, Counts: takt.Counts{Scheduled: 100}}
		if s.Judge(whole); (len(whole.Warnings) > len(c.said)) != c.warned || whole.Verdict != c.want {
			t.Errorf("%+v: %s, %+v", c, whole.Verdict, whole.Warnings)
		}
	}
	whole := &takt.Report{Errors: []takt.ErrorClass{{Class: "no_ports", Count: 99, Sample: "none left"}}, Counts: takt.Counts{Scheduled: 100}}
	const want = "99 operations (99 %) failed at limits of the generators' hosts, not at the target: none left"
	if new(Shards).Judge(whole); whole.Warnings[0].Message != want {
		t.Errorf("%s, want %s", whole.Warnings[0].Message, want)
	}
}

// The lag of all is judged if there are both histograms, and told once.
func TestLagOfAll(t *testing.T) {
	fast, late := hist.New(), hist.New()
	fast.RecordN(time.Millisecond, 1000)
	late.RecordN(0, 980)
	late.RecordN(300*time.Microsecond, 20)
	for name, c := range map[string]struct {
		response, lag *hist.Histogram
		said          takt.WarningCode
		want          bool
	}{
		"late":        {fast, late, "gc", true},
		"said":        {fast, late, "generator_late", false},
		"no lag":      {fast, nil, "", false},
		"no response": {nil, late, "", false},
		"neither":     {nil, nil, "", false},
	} {
		whole, s := ends(true)
		s.Warnings = []takt.Warning{{Code: c.said}}
		s.OnTime, s.Lag = c.response, c.lag
		if s.Judge(whole); (len(whole.Warnings) == 2 && whole.Warned("generator_late")) != c.want || len(whole.Warnings) > 2 {
			t.Errorf("%s: %+v", name, whole.Warnings)
		}
	}
}

// slow is a lag of which half is 50 ms, beside responses of 1 ms.
func slow() (response, lag *hist.Histogram) {
	response, lag = hist.New(), hist.New()
	response.RecordN(time.Millisecond, 1000)
	lag.RecordN(0, 500)
	lag.RecordN(50*time.Millisecond, 500)
	return response, lag
}

// What the shards show makes the whole invalid, and is told with its figures, once.
func TestShardsSay(t *testing.T) {
	response, lag := slow()
	for name, c := range map[string]struct {
		change  func(s *Shards, r *takt.Report)
		code    takt.WarningCode // "": no warning
		words   string
		invalid bool
	}{
		"nothing":                  {func(*Shards, *takt.Report) {}, "", "", false},
		"missing":                  {func(s *Shards, _ *takt.Report) { s.Missing, s.There, s.All = "shard 2/3 is", 2, 3 }, "shards_missing", "shard 2/3 is missing: these are the figures of 2 of 3 parts of the load", true},
		"invalid":                  {func(s *Shards, _ *takt.Report) { s.Invalid = true }, "", "", true},
		"dropped":                  {func(_ *Shards, r *takt.Report) { r.Counts.Dropped = 1 }, "dropped", "1 operations were dropped", false},
		"late":                     {func(s *Shards, _ *takt.Report) { s.OnTime, s.Lag = response, lag }, "generator_bottleneck", "the generators together were the bottleneck: 500 operations (50.0 %) were sent more than 1ms", true},
		"two ended":                {func(s *Shards, _ *takt.Report) { s.Ends[0].After, s.Ends[1].After = 99, 99.5 }, "shards_cut", "shards 1/9, 2/9 were cut short, after 1m39s of 1m40s", false},
		"one of three ended early": {func(s *Shards, _ *takt.Report) { s.Ends[1].Early = true }, "shards_cut", "shard 2/9 was cut short, after 1m40s of 1m40s", true},
	} {
		whole, s := ends(true, 100, 100, 100)
		c.change(s, whole)
		s.Judge(whole)
		if (whole.Verdict == takt.Invalid) != c.invalid || c.code != "" && !says(whole, c.code, c.words) || c.code == "" && len(whole.Warnings) > 0 {
			t.Errorf("%s: %s, %+v", name, whole.Verdict, whole.Warnings)
		}
	}
	whole, s := ends(true, 0.2, 0.1) // both ended early, 0.1 s apart
	whole.DurationS, s.Ends[0].Early, s.Ends[1].Early = 0.2, true, true
	if s.Judge(whole); len(whole.Warnings) > 0 {
		t.Errorf("both ended early: %+v", whole.Warnings)
	}
	whole, s = ends(true, 100)
	s.OnTime, s.Lag, s.Invalid = response, lag, true
	if s.Judge(whole); whole.Warned("generator_bottleneck") {
		t.Errorf("an invalid shard said why, and the whole says it again: %+v", whole.Warnings)
	}
}

// A report that says valid is judged by its histograms.
func TestRejudge(t *testing.T) {
	response, lag := slow()
	r := &takt.Report{Verdict: takt.Valid}
	if Rejudge(r, Delays{OnTime: response, Lag: hist.New()}); r.Verdict != takt.Valid || len(r.Warnings) > 0 {
		t.Errorf("none is late: %s, %+v", r.Verdict, r.Warnings)
	}
	if Rejudge(r, Delays{OnTime: response, Lag: lag}); r.Verdict != takt.Invalid || !says(r, "rejudged", "the generator was the bottleneck: 500 operations (50.0 %) were sent more than 1ms after") {
		t.Errorf("500 are late: %s, %+v", r.Verdict, r.Warnings)
	}
}

// Only what is never acceptable refutes a report that says valid.
func TestRefutes(t *testing.T) {
	got := Refutes([]takt.Warning{{Code: "host_limit"}, {Code: "generator_behind"}, {Code: "gc"}, {Code: "accounting"}})
	if !slices.Equal(got, []takt.WarningCode{"accounting", "generator_behind"}) {
		t.Errorf("%q", got)
	}
}

// The part of the CPU time that the hypervisor took is told in per cent.
func TestStolen(t *testing.T) {
	var r takt.Report
	if (Host{Stolen: 0.5}).disturbed(&r); !says(&r, "steal", "the hypervisor took 50.0 % of the CPU time away") {
		t.Errorf("%+v", r.Warnings)
	}
}
