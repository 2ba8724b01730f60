package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// documents are reports of every mode and protocol, as takt wrote them in November 2026:
// with a warm-up, failures, drops, a backlog, cut off by two signals, aborted, merged,
// received.
var documents = sync.OnceValues(func() (all map[string][]byte, err error) {
	f, err := os.Open("testdata/reports.ndjson")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all = map[string][]byte{}
	for d := audit.NewDocuments(f); ; {
		text, err := d.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		var r takt.Report
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return nil, err
		}
		all[r.ID] = text
	}
})

func report(t *testing.T, name string) *takt.Report {
	t.Helper()
	all, err := documents()
	r := new(takt.Report)
	if err == nil {
		err = json.Unmarshal(all[name], r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReportsOfTaktAreTrue(t *testing.T) {
	texts, err := documents()
	files, bad := filepath.Glob("../format/testdata/*/report.json")
	if err != nil || bad != nil || len(files) < 7 || len(texts) < 19 {
		t.Fatalf("%d files, %d reports, %v, %v", len(files), len(texts), err, bad)
	}
	all := map[string]*takt.Report{}
	for name := range texts {
		all[name] = report(t, name)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			all[name] = new(takt.Report)
			err = json.Unmarshal(text, all[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, r := range all {
		before := *r
		before.Warnings = slices.Clone(r.Warnings)
		if err := audit.Check(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(*r, before) {
			t.Errorf("%s was changed: %s %v", name, r.Verdict, r.Warnings)
		}
	}
}

// Each lie is named by its field.
func TestLies(t *testing.T) {
	const most = 1<<64 - 1
	latency := func(name string, change func(*takt.Latency)) func(*takt.Report) {
		return func(r *takt.Report) {
			l := r.Latency[name]
			change(&l)
			r.Latency[name] = l
		}
	}
	bare := func(change func(*takt.Latency)) func(*takt.Report) {
		return latency("connect", func(l *takt.Latency) {
			l.HDR = ""
			change(l)
		})
	}
	for _, c := range []struct {
		change func(r *takt.Report)
		want   string
	}{
		{func(r *takt.Report) { r.Counts.Scheduled = most }, "counts.scheduled is 18446744073709551615, above 2^53"},
		{func(r *takt.Report) { r.Counts.Dropped, r.Counts.Scheduled = 1<<53+1, 1<<53+601 }, "counts.scheduled is 9007199254741593, above 2^53; counts.dropped is 9007199254740993, above 2^53"},
		{func(r *takt.Report) { r.Counts.Scheduled = 199 }, "counts.scheduled is 199, but ok + failed + dropped + unfinished are 600"},
		{func(r *takt.Report) { r.WarmupCounts.Failed++ }, "warmup_counts.scheduled is 200, but ok + failed + dropped + unfinished are 201"},
		{func(r *takt.Report) { r.Counts.Sent++ }, "counts.sent is 601, but ok + failed + unfinished are 600"},
		{func(r *takt.Report) { r.Counts.Failed++; r.Counts.OK-- }, "latency.response_ok.count is 582, but the ok of counts are 581"},
		{func(r *takt.Report) { r.Counts.Dropped++; r.Counts.Scheduled++; *r.Rate.Intended += 1 }, "the scheduled of intervals are 800 together, but those of counts and warmup_counts are 801"},
		{func(r *takt.Report) { r.DurationS = -3 }, "duration_s is -3, below 0"},
		{func(r *takt.Report) { r.DurationS = 1e10 }, "duration_s is 1e+10, above 9.2e+09"},
		{func(r *takt.Report) { r.WarmupS = -1 }, "warmup_s is -1, below 0"},
		{func(r *takt.Report) { r.IntervalS = -1 }, "interval_s is -1, below 0"},
		{func(r *takt.Report) { r.Schedule.RatePerS = -1 }, "schedule.rate_per_s is -1, below 0"},
		{func(r *takt.Report) { r.Schedule.Stages = []takt.Stage{{From: -1}} }, "schedule.stages.0.from_per_s is -1, below 0"},
		{func(r *takt.Report) { r.Bytes.Sent = -1 }, "bytes.sent is -1, below 0"},
		{func(r *takt.Report) { r.Bytes.Received = 1 << 62 }, "bytes.received is 4.611686018427388e+18, above"},
		{func(r *takt.Report) { r.Generator.CPUS = -1 }, "generator.cpu_s is -1, below 0"},
		{func(r *takt.Report) { r.Generator.WaitedS = 1e10 }, "generator.waited_s is 1e+10, above 9.2e+09"},
		{func(r *takt.Report) { r.Generator.NoiseFloorUS = 1e16 }, "generator.noise_floor_us is 1e+16, above 9.2e+15"},
		{func(r *takt.Report) { r.Generator.Stolen = math.Inf(1) }, "generator.stolen_percent is +Inf, above "},
		{func(r *takt.Report) { r.Exports = []takt.Export{{}, {Lost: most}} }, "exports.1.lost is 18446744073709551615, above 2^53"},
		{func(r *takt.Report) { n := uint64(most); r.Ledger.Delivered = &n }, "ledger.delivered is 18446744073709551615, above 2^53"},
		{func(r *takt.Report) { r.Rate.Achieved = 300 }, "rate_per_s.achieved is 300, 900 operations in duration_s, but counts.ok + counts.failed are 600"},
		{func(r *takt.Report) { *r.Rate.Intended = 100 }, "rate_per_s.intended is 100, 300 operations in duration_s, but counts.scheduled is 600"},
		{func(r *takt.Report) { *r.Rate.Intended = 1e300 }, "rate_per_s.intended is 1e+300, above 1e+12"},
		{func(r *takt.Report) { r.DurationS = 0 }, "rate_per_s.achieved is 200, +Inf operations in duration_s, but counts.ok + counts.failed are 600"},
		{func(r *takt.Report) { r.WarmupS = 0 }, "warmup_s is 0, but warmup_counts.scheduled is 200"},
		{func(r *takt.Report) { r.IntervalS = 1.5 }, "interval_s is 1.5, not a whole number of seconds"},
		{func(r *takt.Report) { r.IntervalS = 1e-300 }, "interval_s is 1e-300, not a whole number of seconds"},
		{func(r *takt.Report) { r.Schedule.Profile, r.Rate.Achieved = "closed", 100 }, "rate_per_s.achieved is 100, 300 operations in duration_s, but counts.ok + counts.failed are 600"},
		{func(r *takt.Report) { r.Rate.Intended = nil }, `rate_per_s.intended is missing, but schedule.profile is "constant"`},
		{func(r *takt.Report) { r.Status["200"] = 999 }, "status counts 1014 answers, but counts.ok + counts.failed are 600"},
		{func(r *takt.Report) { r.Status["200"] = most }, "status.200 is 18446744073709551615, above 2^53"},
		{func(r *takt.Report) { r.Errors[0].Count += 9 }, "errors counts 27 operations, but counts.failed is 18"},
		{func(r *takt.Report) { r.Errors = append(r.Errors, takt.ErrorClass{Class: "5xx"}) }, `errors has the class "5xx" twice`},
		{latency("response", func(l *takt.Latency) { l.P50 = l.P99 + 1 }), "latency.response.p50_us is "},
		{latency("response", func(l *takt.Latency) { l.P99 = 1 }), "latency.response.p99_us is 1, but its histogram says "},
		{latency("response", func(l *takt.Latency) { l.Mean = -l.Mean }), "latency.response.mean_us is -"},
		{latency("response", func(l *takt.Latency) { l.Count++ }), "latency.response.count is 601, but its histogram holds 600 values"},
		{latency("service", func(l *takt.Latency) { *l = hist.New().Summary() }), "latency.service.count is 0, but the sent of counts are 600"},
		{latency("response", func(l *takt.Latency) { l.Blocks = &takt.Blocks{LengthS: 1, Counts: "nonsense"} }), "latency.response.blocks: the counts of the blocks are not those that takt writes"},
		{latency("response", func(l *takt.Latency) { l.Blocks = &takt.Blocks{LengthS: 1, Counts: "AQI="} }), "latency.response.count is 600, but its blocks hold 1 values"},
		{latency("response", func(l *takt.Latency) { l.CI = &takt.Confidence{Level: 2} }), "latency.response.ci.level is 2, not between 0 and 1"},
		{latency("response", func(l *takt.Latency) { l.CI = &takt.Confidence{Level: 0.95, Independent: 1e9} }), "latency.response.ci.independent is 1e+09, above"},
		{latency("response", func(l *takt.Latency) {
			l.CI = &takt.Confidence{Level: 0.95, P99: &takt.Range{Low: l.P99 + 1, High: l.Max}}
		}), "latency.response.ci.p99_us.p99_us is "},
		{latency("response", func(l *takt.Latency) {
			l.CI = &takt.Confidence{Level: 0.95, P99: &takt.Range{Low: l.P99, High: 2 * l.Max}}
		}), "latency.response.ci.p99_us.max_us is "},
		{latency("response", func(l *takt.Latency) { l.HDR = "nonsense" }), "latency.response.hdr: cannot decode the histogram: "},
		{bare(func(l *takt.Latency) { l.P50 = l.P99 + 1 }), "latency.connect.p75_us is "},
		{bare(func(l *takt.Latency) { l.Max = -1 }), "latency.connect.max_us is -1, below 0"},
		{bare(func(l *takt.Latency) { l.Mean = l.Max + 1 }), "latency.connect.max_us is "},
		{bare(func(l *takt.Latency) { l.Count = 0 }), "latency.connect.max_us is 225.919, but its count is 0"},
		{func(r *takt.Report) { r.Intervals[2].T = 1 }, "intervals.2.t_s is 1, but the interval before ends at 2"},
		{func(r *takt.Report) { r.ServerSeconds = make([]takt.ServerSecond, takt.MaxIntervals+1) }, "server_seconds are 1201, more than 1200"},
		{func(r *takt.Report) { r.ServerSeconds = []takt.ServerSecond{{From: -0.5, T: -0.25}} }, "server_seconds.0.t_s is -0.25, below 0"},
		{func(r *takt.Report) { r.ServerSeconds = []takt.ServerSecond{{From: -0.5, T: 1}, {From: 0.5, T: 2}} }, "server_seconds.1.from_s is 0.5, not between 1 and its end, 2"},
		{func(r *takt.Report) { r.ServerSeconds = []takt.ServerSecond{{From: 2, T: 1}} }, "server_seconds.0.from_s is 2, not between -Inf and its end, 1"},
		{func(r *takt.Report) {
			r.ServerSeconds = []takt.ServerSecond{{T: 1, Figures: map[string]float64{"acked": -3}}}
		}, "server_seconds.0.acked is -3, below 0"},
		{func(r *takt.Report) { r.Outages = make([]takt.Outage, takt.MaxOutages+1) }, "outages are 101, more than 100"},
		{func(r *takt.Report) { r.Outages = []takt.Outage{{From: -1, Parts: 1}} }, "outages.0.from_s is -1, below 0"},
		{func(r *takt.Report) { r.Outages = []takt.Outage{{From: 2, To: new(float64), Parts: 1}} }, "outages.0.to_s is 0, before its begin, 2"},
		{func(r *takt.Report) { r.Outages = []takt.Outage{{From: 2, Parts: 1}, {From: 1, Parts: 1}} }, "outages.1.from_s is 1, before that of the outage before it, 2"},
		{func(r *takt.Report) { r.Outages = []takt.Outage{{From: 2}} }, "outages.0.parts is 0; an outage affects one at least"},
		{func(r *takt.Report) { r.Faults = []takt.Fault{{From: 2, To: new(float64)}} }, "faults.0.to_s is 0, before its begin, 2"},
		{func(r *takt.Report) { r.Intervals[0].T = -1 }, "intervals.0.t_s is -1, below 0"},
		{func(r *takt.Report) { r.Intervals[1].OK = most }, "intervals.1.ok is 18446744073709551615, above 2^53"},
		{func(r *takt.Report) { r.Intervals[1].OK++ }, "the ok of intervals are "},
		{func(r *takt.Report) { r.Intervals[1].ResponseP99 = 1 }, "intervals.1.response_p99_us is 1, but its histogram says "},
		{func(r *takt.Report) { r.Intervals[1].ServiceHDR = "nonsense" }, "intervals.1.service_hdr: cannot decode the histogram: "},
		{func(r *takt.Report) { r.Intervals[1].ServiceHDR = "" }, "the histograms of intervals hold "},
		{func(r *takt.Report) { r.Intervals = make([]takt.Interval, 1201) }, "intervals are 1201, more than 1200"},
		{func(r *takt.Report) { r.Verdict = "splendid" }, `verdict is "splendid", neither "valid" nor "invalid"`},
		{func(r *takt.Report) { r.Warnings = []takt.Warning{{Code: "generator_behind"}} }, `verdict is "valid", but a run with the warning generator_behind is invalid`},
	} {
		r := report(t, "warm")
		for _, name := range []string{"send_delay", "schedule_lag", "first_byte"} {
			delete(r.Latency, name) // the race detector makes histograms slow
		}
		c.change(r)
		err := audit.Check(r)
		var lie *audit.ContradictionError
		if !errors.As(err, &lie) || !strings.HasPrefix(err.Error(), "the report contradicts itself: "+c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A sum of counts beyond 2^63 is refused as such.
func TestHistogramBeyond(t *testing.T) {
	h := hist.New()
	h.RecordN(1, 1<<62)
	h.RecordN(2, 1<<62-1)
	r := report(t, "warm")
	r.Latency["connect"] = h.Summary()
	if err := audit.Check(r); err == nil || !strings.Contains(err.Error(), "latency.connect.count is 9223372036854775807, above 2^53") {
		t.Error(err)
	}
}

// Faults are bounded like everything else.
func TestManyLies(t *testing.T) {
	r := report(t, "warm")
	r.Errors = nil
	for i := range 900 {
		r.Status[strings.Repeat("x", i)] = 1 << 60
	}
	err := audit.Check(r)
	if lie := (*audit.ContradictionError)(nil); !errors.As(err, &lie) || len(lie.Faults) != 8 || lie.More < 890 || len(err.Error()) > 1000 {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}

// A fault of takt that the report tells of itself can be looked at.
func TestConfession(t *testing.T) {
	r := report(t, "warm")
	r.Counts.Scheduled--
	r.Verdict, r.Warnings = takt.Invalid, []takt.Warning{{Code: "accounting"}}
	if err := audit.Check(r); err != nil {
		t.Error(err)
	}
}

// The histograms show that the generator was the bottleneck, whatever the verdict says.
func TestRejudged(t *testing.T) {
	r := report(t, "warm")
	late := hist.New()
	late.RecordN(1, 580)
	late.RecordN(3e9, 20)
	r.Latency[takt.LatencyScheduleLag] = late.Summary()
	if err := audit.Check(r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != takt.Invalid || !r.Warned("rejudged") {
		t.Errorf("%s %v", r.Verdict, r.Warnings)
	}
	again := len(r.Warnings)
	if err := audit.Check(r); err != nil || len(r.Warnings) != again {
		t.Errorf("%v %v", err, r.Warnings)
	}
}

// A seed is any number.
func TestSeed(t *testing.T) {
	r := report(t, "warm")
	r.Schedule.Seed = math.MaxUint64
	if err := audit.Check(r); err != nil {
		t.Error(err)
	}
}

// No number of a report may be negative, wherever it stands, but in what the driver and the
// user say.
func TestNothingIsNegative(t *testing.T) {
	all, err := documents()
	var doc map[string]any
	if err == nil {
		err = json.Unmarshal(all["consume"], &doc) // with one histogram: the race detector is slow
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(doc, "variables")
	delete(doc, "extra")
	delete(doc, "schema_version") // document.Parse looks at it
	fine := func() bool {
		text, err := json.Marshal(doc)
		var r takt.Report
		return err == nil && json.Unmarshal(text, &r) == nil && audit.Check(&r) == nil
	}
	if !fine() {
		t.Fatal("the report is refused as it is")
	}
	numbers := 0
	eachNumber("", doc, func(path string, set func(float64)) {
		numbers++
		if set(-1); fine() {
			t.Errorf("%s is -1, and nobody minds", path)
		}
	})
	if numbers < 40 {
		t.Errorf("only %d numbers", numbers)
	}
}

// eachNumber calls f for each number below v, and puts it back afterwards.
func eachNumber(path string, v any, f func(path string, set func(float64))) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if n, ok := inner.(float64); ok {
				f(path+"."+name, func(n float64) { v[name] = n })
				v[name] = n
			}
			eachNumber(path+"."+name, inner, f)
		}
	case []any:
		for i, inner := range v {
			eachNumber(fmt.Sprintf("%s.%d", path, i), inner, f)
		}
	}
}
