package bench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

func printed(t *testing.T, r *Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := PrintResult(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A run in which all went well prints the lines of wrk3 and nothing else.
func TestPrintGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Benchmark{Concurrency: 1, Throughput: 10, Duration: 2 * time.Second, Handler: takes(3 * ms)}
		want := `running benchmark for 2s...
benchmark results:
total duration:  2s (target duration: 2s )
total requests:  20
errors:  0
omitted requests:  0
throughput:  10 (target throughput: 10 )
latency distribution:
` + "Quantile    | Count     | Value \n" + `------------+-----------+-------------
0.000       | 20        | 3.000319ms
100.000     | 20        | 3.000319ms
`
		if got := announcement(b) + printed(t, fake(t, t.Context(), b)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestPrintErrorsAndOmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, t.Context(), Benchmark{Concurrency: 1, Throughput: 10, Duration: time.Second, Drain: 200 * ms, Handler: RequestFunc(func(i int) error {
			time.Sleep(330 * ms)
			if i == 1 {
				return errors.New("no room")
			}
			return nil
		})})
		want := `benchmark results:
total duration:  1.2s (target duration: 1s )
total requests:  3
errors:  1
omitted requests:  7
throughput:  2.5 (target throughput: 10 )
latency distribution:
` + table(t, r) + `errors by text:
         1  no room
omitted requests: 1 under way and 6 waiting when the run ended; the table has them at their age
`
		if got := printed(t, r); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if !strings.Contains(table(t, r), "\n100.000     | 10        | ") {
			t.Errorf("not all that was due is in the table:\n%s", table(t, r))
		}
	})
}

func table(t *testing.T, r *Result) string {
	t.Helper()
	s, err := format.Quantiles(r.Report)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What makes figures worthless comes first, what casts a doubt on them last, and
// the lines of wrk3 stand as they are in between.
func TestPrintDoubts(t *testing.T) {
	doubt := takt.Warning{Code: "steal", Message: "the hypervisor took 3.0 %"}
	lines := "benchmark results:\ntotal duration:  1s (target duration: 1s )\ntotal requests:  5\nerrors:  %d\nomitted requests:  0\nthroughput:  5 (target throughput: max )\nlatency distribution:\n" + must(format.Quantiles(&takt.Report{}))
	for _, c := range []struct {
		name          string
		verdict       takt.Verdict
		warnings      []takt.Warning
		ok            uint64
		before, after string
	}{
		{"warning", takt.Valid, []takt.Warning{doubt}, 5, "", "warnings:\n  - the hypervisor took 3.0 % [steal]\n"},
		{"invalid", takt.Invalid, []takt.Warning{doubt}, 5, "INVALID RUN: the generator, not the target, shaped these figures.\n  - the hypervisor took 3.0 % [steal]\n\n", ""},
		{"nothing succeeded", takt.Valid, nil, 0, "NOT ONE REQUEST SUCCEEDED.\n\n", ""},
		{"both", takt.Invalid, []takt.Warning{doubt}, 0, "INVALID RUN: the generator, not the target, shaped these figures.\n  - the hypervisor took 3.0 % [steal]\nNOT ONE REQUEST SUCCEEDED.\n\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Result{
				Target: Benchmark{Duration: time.Second}, TotalDuration: time.Second, TotalRequests: 5, Errors: 5 - c.ok, Throughput: 5,
				Report: &takt.Report{Verdict: c.verdict, Warnings: c.warnings, Counts: takt.Counts{Scheduled: 5, Sent: 5, OK: c.ok, Failed: 5 - c.ok}},
			}
			want := c.before + fmt.Sprintf(lines, 5-c.ok) + c.after
			if got := printed(t, r); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

func TestPrintBoundsTexts(t *testing.T) {
	r := &Result{Report: &takt.Report{Verdict: takt.Valid, Counts: takt.Counts{Scheduled: 1, OK: 1}}}
	for i := range 25 {
		r.Report.Errors = append(r.Report.Errors, takt.ErrorClass{Class: fmt.Sprint("text ", i), Count: 100 - uint64(i)})
	}
	lines := strings.Split(strings.TrimSpace(printed(t, r)), "\n")
	at := slices.Index(lines, "errors by text:")
	want := []string{"        81  text 19", "       390  with 5 more texts, which the output json has"}
	if got := lines[at+20:]; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPrintErrors(t *testing.T) {
	full := errors.New("disk full")
	good := &Result{Report: &takt.Report{}}
	if err := PrintResult(failing{full}, good); !errors.Is(err, full) {
		t.Error(err)
	}
	damaged := &Result{Report: &takt.Report{Latency: map[string]takt.Latency{"response": {Count: 1, HDR: "nonsense"}}}}
	if err := PrintResult(&bytes.Buffer{}, damaged); err == nil {
		t.Error("a damaged histogram was swallowed")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
