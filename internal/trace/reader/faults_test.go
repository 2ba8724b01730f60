package reader

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

// at0 is the time of the first record.
var at0 = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// series returns n records, 100 ms apart from at.
func series(at time.Time, n int) (list []trace.Record) {
	for i := range n {
		list = append(list, trace.Record{At: at.Add(time.Duration(i) * 100 * time.Millisecond), Method: []byte("GET"), URI: fmt.Appendf(nil, "/%d", i), Latency: trace.Unknown, File: "log"})
	}
	return list
}

func watched(t *testing.T, records []trace.Record, most time.Duration) *watch {
	t.Helper()
	for i := range records {
		records[i].Line = i + 1
	}
	w := newWatch(&tracetest.List{Records: records}, most)
	var rec trace.Record
	for {
		if err := w.Next(&rec); err == io.EOF {
			return w
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFaults(t *testing.T) {
	stray := series(at0, 3000)
	stray[500].At = at0.Add(400 * 24 * time.Hour)
	stray[900].At = at0.Add(-72 * time.Hour)
	swapped := series(at0, 1000)
	swapped[10], swapped[15] = swapped[15], swapped[10]
	var twice []trace.Record
	for _, r := range series(at0, 1000) {
		twice = append(twice, r, r)
	}
	zones := series(at0, 100)
	for i := range zones {
		zones[i].Zoned, zones[i].Offset = true, int32(i/50*-19800)
	}
	for _, c := range []struct {
		name    string
		records []trace.Record
		most    time.Duration
		want    []string
		longest string
	}{
		{"sound", series(at0, 5000), 0, nil, ""},
		{"gap", append(series(at0, 1000), series(at0.Add(3*time.Hour), 2000)...), 0, []string{"gaps: 1 without requests for more than 1m, up to 2h58m20s; a clock that was set forward looks the same: log:1000 (2026-11-20 09:01:39) to log:1001 (2026-11-20 12:00:00)"}, "--window 2026-11-20T12:00:00..2026-11-20T12:03:20"},
		{"short gap", append(series(at0, 1000), series(at0.Add(110*time.Second), 2000)...), 0, nil, ""},
		{"short gap, strict", append(series(at0, 1000), series(at0.Add(110*time.Second), 2000)...), 5 * time.Second, []string{"gaps: 1 without requests for more than 5s, up to 10s"}, "--window 2026-11-20T09:01:50"},
		{"step", append(series(at0, 1000), series(at0.Add(-time.Hour), 2000)...), 0, []string{"steps: 1 back in time, by up to 1h1m40s"}, "--window 2026-11-20T08:00:00..2026-11-20T08:03:20"},
		{"twice", append(series(at0, 4000), series(at0, 4000)...), 0, []string{"steps: 1 back in time", "repeated: about 50 % of the lines"}, "--from 0 --for 4000"},
		{"stray", stray, 0, []string{"stray times: 2 far from the lines around them, by up to 399 days: log:501 (2027-12-25 09:00:00); log:901"}, ""},
		{"swapped", swapped, 0, []string{"out of order: 2 before the line above them, by up to 400ms"}, ""},
		{"doubled", twice, 0, []string{"duplicates: 1000 lines equal the line before them: log:2"}, ""},
		{"zones", zones, 0, []string{"time zones: +0000, -0530, the number of changes is 1: log:51"}, ""},
		{"sparse", func() (list []trace.Record) {
			for i := range 100 {
				list = append(list, trace.Record{At: at0.Add(time.Duration(i) * 5 * time.Minute), File: "log", Line: i + 1})
			}
			return list
		}(), 0, nil, ""},
		{"no times", make([]trace.Record, 100), 0, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := watched(t, c.records, c.most)
			found := w.found()
			if len(found) != len(c.want) {
				t.Fatalf("%v, want %v", found, c.want)
			}
			for i, f := range found {
				if !strings.HasPrefix(f.String(), c.want[i]) {
					t.Errorf("%v, want %s", f, c.want[i])
				}
			}
			part, ok := w.longest()
			if ok != (c.longest != "") || ok && !strings.HasPrefix(part.flags(), c.longest) {
				t.Errorf("%v %s, want %s", ok, part.flags(), c.longest)
			}
		})
	}
}

// Memory does not grow with the number of gaps.
func TestManyGaps(t *testing.T) {
	var p parts
	p.distances = watched(t, nil, 0).parts.distances
	for i := range 50_000 {
		p.note(trace.Place{File: "log", Line: i + 1, At: at0.Add(time.Duration(i*i) * time.Millisecond * 2)})
	}
	if len(p.list) >= maxParts || p.n != 50_000 {
		t.Errorf("%d parts of %d", len(p.list), p.n)
	}
	back := parts{distances: p.distances}
	for i := range 100_000 {
		back.note(trace.Place{File: "log", Line: i + 1, At: at0.Add(-time.Duration(i/10) * time.Hour)})
	}
	if len(back.list) >= maxParts {
		t.Errorf("%d parts", len(back.list))
	}
}

// A sound log may look odd: summer time ends, long requests are logged at their end with their start, and
// equal requests come within a second.
func TestSound(t *testing.T) {
	summer := series(at0, 7200)
	for i := range summer {
		summer[i].Zoned, summer[i].Offset = true, 7200
		if i > 3600 && i != 3603 {
			summer[i].Offset = 3600
		}
	}
	long := series(at0, 12_000)
	for _, i := range []int{8000, 11_000, 11_001, 11_002, 11_003, 11_004, 11_005} {
		long[i].Latency = 10 * time.Minute
		long[i].At = long[i].At.Add(-long[i].Latency)
	}
	var hot []trace.Record
	for i := range 20_000 {
		hot = append(hot, trace.Record{At: at0.Add(time.Duration(i/1000) * time.Second), Second: true, URI: []byte{'/', 'A' + byte(i%50)}, Latency: trace.Unknown, File: "log"})
	}
	for name, records := range map[string][]trace.Record{"summer": summer, "long": long, "hot": hot} {
		w := watched(t, records, 0)
		if found := w.found(); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		if part, ok := w.longest(); ok {
			t.Errorf("%s: the part %+v", name, part)
		}
	}
	mixed := series(at0, 7200)
	for i := range mixed {
		mixed[i].Zoned, mixed[i].Offset = true, int32(i/3500%2*3600) // a change in 6 minutes
	}
	if found := watched(t, mixed, 0).found(); len(found) != 1 || !strings.HasPrefix(found[0].Text, "time zones: +0000, +0100, the number of changes is 2") {
		t.Error(found)
	}
	all := append(series(at0, 4000), series(at0, 4000)...)
	for i := range all {
		all[i].At, all[i].Second = all[i].At.Truncate(time.Second), true
	}
	text := fmt.Sprint(watched(t, all, 0).found())
	if !strings.Contains(text, "repeated: about") || !strings.Contains(text, "steps: 1") {
		t.Error(text)
	}
}
