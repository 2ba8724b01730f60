package audit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// The seconds of every mode are true by themselves, and no longer true with another figure.
func TestInterval(t *testing.T) {
	texts, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[bool]int{}
	for id := range texts {
		r := report(t, id)
		answered := r.Latency[takt.LatencyResponse].Count > 0
		before := 0.0
		for _, iv := range r.Intervals {
			seen[answered]++
			if lie := audit.Interval(iv, nil, before, answered); lie != nil {
				t.Errorf("%s: the interval that ends at %v: %v", id, iv.T, lie)
			}
			for want, change := range map[string]func(iv *takt.Interval){
				"but the interval before ends at":   func(iv *takt.Interval) { iv.T = before - 1 },
				"above 2^53":                        func(iv *takt.Interval) { iv.Dropped = 1 << 60 },
				"response_p99_us is":                func(iv *takt.Interval) { iv.ResponseP99 += 1e6 },
				"interval.hdr: ":                    func(iv *takt.Interval) { iv.HDR = "x" },
				"classes have":                      func(iv *takt.Interval) { iv.Errors = map[string]uint64{"x": iv.Failed + 1} },
				"together, but its histogram holds": func(iv *takt.Interval) { iv.Failed += 1e6 },
			} {
				if strings.HasPrefix(want, "together") && !answered || strings.HasPrefix(want, "but the interval") && before == 0 {
					continue
				}
				other := iv
				change(&other)
				if lie := audit.Interval(other, nil, before, answered); lie == nil || !strings.Contains(lie.List(), want) {
					t.Errorf("%s: the interval that ends at %v: %v, want %q", id, iv.T, lie, want)
				}
			}
			before = iv.T
		}
	}
	if seen[true] < 30 || seen[false] == 0 {
		t.Errorf("saw %v intervals", seen)
	}
}

// So do the failures so far.
func TestFailuresSoFar(t *testing.T) {
	many := make([]takt.ErrorClass, 1001)
	for i := range many {
		many[i].Class = fmt.Sprint(i)
	}
	for want, list := range map[string][]takt.ErrorClass{
		"":                               {{Class: "a", Count: 1}, {Class: "b", Count: 1 << 53}},
		`errors has the class "a" twice`: {{Class: "a"}, {Class: "a"}},
		"errors.a is 9223372036854775808, above 2^53": {{Class: "a", Count: 1 << 63}},
		"errors has 1001 classes, more than 1000":     many,
	} {
		lie := audit.Interval(takt.Interval{T: 1}, list, 0, true)
		if (lie == nil) != (want == "") || lie != nil && lie.List() != want {
			t.Errorf("%v, want %q", lie, want)
		}
	}
}

// Seconds of streams are true by themselves, too, and so is their report. A lie about parts of answers is named.
func TestStreams(t *testing.T) {
	read := func() *takt.Report {
		text, err := os.ReadFile("../format/testdata/streams/report.json")
		r := new(takt.Report)
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := 0.0
	for _, iv := range read().Intervals {
		if lie := audit.Interval(iv, nil, before, true); lie != nil {
			t.Errorf("the interval that ends at %v: %v", iv.T, lie)
		}
		before = iv.T
	}
	lie := func(r *takt.Report, name string, v any) { r.Extra[tokens.Key].(map[string]any)[name] = v }
	course := func(r *takt.Report, change func(c *takt.Course)) {
		c := r.Intervals[2].Latency["ttft"]
		change(&c)
		r.Intervals[2].Latency["ttft"] = c
	}
	for want, change := range map[string]func(r *takt.Report){
		"intervals.2.latency.ttft.p99_us is 1, but":                        func(r *takt.Report) { course(r, func(c *takt.Course) { c.P99 = 1 }) },
		"intervals.2.latency.ttft.hdr: cannot":                             func(r *takt.Report) { course(r, func(c *takt.Course) { c.HDR = "x" }) },
		"intervals.2.latency.ttft.hdr holds 1000 values":                   func(r *takt.Report) { course(r, func(c *takt.Course) { c.HDR = r.Intervals[2].Latency["gap"].HDR }) },
		"intervals.1.good is 51, more than":                                func(r *takt.Report) { *r.Intervals[1].Good = 51 },
		"goodput has 251 good and 1 undecided operations":                  func(r *takt.Report) { r.Goodput.Good = 251 },
		"goodput.undecided is 18446744073709551615, above 2^53":            func(r *takt.Report) { r.Goodput.Undecided = 1<<64 - 1 },
		"goodput.missed has 251 operations of a condition":                 func(r *takt.Report) { r.Goodput.Missed["ttft<150ms"] = 251 },
		"extra.llm has a number or a word that takt does not write":        func(r *takt.Report) { lie(r, "tokens_from", "hearsay") },
		"extra.llm has a number or a word that takt does not write: \"map": func(r *takt.Report) { lie(r, "input_tokens", 0.5) },
		"extra.llm.length is 251, but counts.ok is 250":                    func(r *takt.Report) { lie(r, "length", 251.0) },
		"extra.llm.output_tokens_per_s is 1100, 5500 tokens":               func(r *takt.Report) { lie(r, "output_tokens_per_s", 1100.0) },
		"goodput is 90 %": func(r *takt.Report) { r.Goodput.Percent = 90 },
		"intervals.1.latency has 17 latencies, more than 16": func(r *takt.Report) {
			for i := range 14 {
				r.Intervals[1].Latency[fmt.Sprint(i)] = takt.Course{}
			}
		},
	} {
		r := read()
		change(r)
		if err := audit.Check(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
