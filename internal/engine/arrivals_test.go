package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

func TestArrivalsFlag(t *testing.T) {
	for text, want := range map[string]string{ // the text as a variable of the run
		"uniform":        "uniform",
		"poisson":        "poisson",
		"gamma:1":        "gamma:1",
		"gamma:3.0":      "gamma:3",
		"gamma:1e-2":     "gamma:0.01",
		"gamma:100":      "gamma:100",
		"like:a.log":     "like:a.log",
		"like:/x/a:b.gz": "like:/x/a:b.gz",
	} {
		o := Defaults()
		if err := o.Arrivals.Set(text); err != nil || o.Arrivals.String() != want || o.Variables()["arrivals"] != "closed" {
			t.Errorf("%s: %q, %v", text, o.Arrivals, err)
		}
		if o.Rate = PerSecond(5); o.Variables()["arrivals"] != want {
			t.Errorf("%s: %v", text, o.Variables())
		}
	}
	for text, want := range map[string]string{
		"":                                "is unknown; use uniform, poisson, gamma:CV or like:LOG",
		"Poisson":                         "is unknown",
		"gamma":                           "is unknown",
		"gamma:":                          `"" is not a coefficient of variation; give a number from 0.01 to 100`,
		"gamma:0":                         "gamma:0 is even spacing; use uniform",
		"gamma:-0":                        "use uniform",
		"gamma:NaN":                       `"NaN" is not a coefficient`,
		"gamma:Inf":                       `"Inf" is not a coefficient`,
		"gamma:-1":                        `"-1" is not a coefficient`,
		"gamma:0.009":                     `"0.009" is not a coefficient`,
		"gamma:100.1":                     `"100.1" is not a coefficient`,
		"gamma:3 ":                        "is not a coefficient",
		"gamma:" + fmt.Sprintf("%99d", 1): "is not a coefficient",
		"like:":                           "like: needs a log",
		"like:-":                          "like:- is not possible",
		"like":                            "is unknown",
	} {
		o := Defaults()
		if err := o.Arrivals.Set(text); err == nil || !strings.Contains(err.Error(), want) || o.Arrivals != (Arrivals{}) {
			t.Errorf("%q: %q, %v, want %q", text, o.Arrivals, err, want)
		}
	}
	f := new(Arrivals)
	if got := f.Names("like:../a.log"); !slices.Equal(got, []value.Name{{Kind: value.Reads, Text: "../a.log"}}) {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"", "poisson", "gamma:3", "like:"} {
		if got := f.Names(text); got != nil {
			t.Errorf("%q names %v", text, got)
		}
	}
}

// logOf writes a log with a request at each instant, as fine as the layout.
func logOf(t *testing.T, layout string, at ...time.Duration) string {
	t.Helper()
	var b bytes.Buffer
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i, d := range at {
		fmt.Fprintf(&b, `{"time":%q,"method":"GET","uri":"/%d","status":200}`+"\n", start.Add(d).Format(layout), i)
	}
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const (
	micros  = "2006-01-02T15:04:05.000000Z"
	millis  = "2006-01-02T15:04:05.000Z"
	seconds = "2006-01-02T15:04:05Z"
)

func likeOf(log string, change func(o *Options)) *Options {
	o := Defaults()
	o.Arrivals, o.Rate, o.ReadLog = Arrivals{kind: like, log: log}, PerSecond(10), play.Spacing
	change(&o)
	return &o
}

func duesOf(t *testing.T, o *Options) (dues []time.Duration) {
	t.Helper()
	if faults := o.Validate(); len(faults) > 0 {
		t.Fatal(faults)
	}
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	for op := (takt.Op{}); src.Next(&op); {
		dues = append(dues, op.Due)
	}
	return dues
}

// The arrivals are those of the log at the rate, in order, in every shard.
func TestLikeLog(t *testing.T) {
	const ms = time.Millisecond
	log := logOf(t, micros, 1, 1*ms, 3*time.Second, 5*time.Second) // swapped below
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines[1], lines[2] = lines[2], lines[1]
	if err := os.WriteFile(log, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	// Gaps of 0.001, 2.999 and 2 s: 0.0006, 1.7994 and 1.2 units of a tenth of a second.
	o := likeOf(log, func(o *Options) { o.Duration = 400 * ms })
	want := []time.Duration{0, 60 * time.Microsecond, 180 * ms, 300 * ms}
	if got := duesOf(t, o); !slices.EqualFunc(got, want, near) {
		t.Errorf("due at %v, want %v", got, want)
	}
	if d := o.Described(); d.Arrivals != like+log || math.Abs(d.GapCV-0.92) > 0.01 || d.Seed != 1 {
		t.Errorf("%+v", d)
	}
	if o.Most(1) != 4+2 || o.Span() != 400*ms {
		t.Errorf("at most %d in %v", o.Most(1), o.Span())
	}
	for k := range 2 {
		o.Shard = Shard{k: uint64(k + 1), n: 2}
		if got := duesOf(t, o); !slices.EqualFunc(got, []time.Duration{want[k], want[k+2]}, near) {
			t.Errorf("shard %d: due at %v", k+1, got)
		}
	}
	// Another rate or length is another schedule, and needs another part of the log.
	o.Shard, o.Duration = Shard{}, 300*ms
	if got := duesOf(t, o); len(got) != 3 || !near(got[1], 67*time.Microsecond) {
		t.Errorf("due at %v", got)
	}
}

func near(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond }

// What is not known before the log was read is not claimed; a gatherer of shards does not read it.
func TestLikeBeforeTheLogIsRead(t *testing.T) {
	o := likeOf("missing.log", func(o *Options) { o.Requests = 100 })
	if faults := o.Validate(); len(faults) > 0 {
		t.Error(faults)
	}
	if o.Span() >= 0 || o.Most(1) != 0 || o.Described().Arrivals != "like:missing.log" || o.Described().GapCV != 0 {
		t.Errorf("%v, %v, %+v", o.Span(), o.Most(1), o.Described())
	}
	if o.Duration = time.Second; o.Most(1) != 0 {
		t.Errorf("%d at most", o.Most(1))
	}
	if _, err := o.Source(); err == nil || !strings.HasPrefix(err.Error(), "--arrivals like:missing.log: ") {
		t.Error(err)
	}
	o.Rate = MustRate("max") // a closed loop ignores its arrivals, as it does poisson
	if _, err := o.Source(); err != nil {
		t.Error(err)
	}
}

func TestLikeRefuses(t *testing.T) {
	var backwards []time.Duration
	for i := range 1000 {
		backwards = append(backwards, time.Duration(5000-i)*time.Second)
	}
	write := func(text string) string {
		name := filepath.Join(t.TempDir(), "odd.log")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, c := range map[string]struct{ log, want string }{
		"empty":     {write(""), "has no lines"},
		"one":       {logOf(t, micros, 0), "fewer than two"},
		"one stamp": {logOf(t, micros, 1001, 1001, 1001), "all at one instant"},
		"backwards": {logOf(t, micros, backwards...), "more than 1 % of the requests are out of order by more than takt sorts, by up to 16m9s; sort the log by time"},
		"no times":  {write("/a\n/b\n/c\n"), "requests without times"},
		"no log":    {write("once upon a time\nthere was\n"), "; takt trace convert has that flag, and writes a log without need of it"},
		"binary":    {write(strings.Repeat("\x00\xff\x1f", 10_000)), ""},
		"a folder":  {t.TempDir(), "directory"},
	} {
		o := likeOf(c.log, func(o *Options) { o.Requests = 5000 })
		if _, err := o.Source(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	o := likeOf(logOf(t, micros, 1, 2, 3), func(o *Options) { o.ReadLog = nil })
	if _, err := o.Source(); err == nil || !strings.Contains(err.Error(), "cannot read logs") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrDeadlineExceeded)
	if err := likeOf(logOf(t, micros, 1, 2, 3), func(*Options) {}).ReadArrivals(ctx); err == nil {
		t.Error("read after the end of its context")
	}
}

// A burst of one instant at the beginning is no reason to refuse a log.
func TestLikeBeginsWithABurst(t *testing.T) {
	o := likeOf(logOf(t, micros, 1001, 1001, 1001, 5001, 9001), func(o *Options) { o.Requests = 2 })
	if got := duesOf(t, o); !slices.Equal(got, []time.Duration{0, 0}) {
		t.Errorf("due at %v", got)
	}
}

// Stamps in seconds are spread by the seed, like Poisson arrivals, and a report says so if the gaps are shorter.
func TestLikeCoarseStamps(t *testing.T) {
	var at []time.Duration
	for i := range 2000 {
		at = append(at, time.Duration(i)*10_003*time.Microsecond)
	}
	for _, c := range []struct {
		layout string
		warns  bool
		low    float64 // CV
		high   float64
	}{{millis, false, 0, 0.05}, {seconds, true, 0.9, 1.1}} {
		o := likeOf(logOf(t, c.layout, at...), func(o *Options) { o.Requests = 2000 })
		first := duesOf(t, o)
		r := &takt.Report{Schedule: o.Described(), Counts: takt.Counts{Scheduled: 2000}}
		o.recording.warn(r, 1)
		if cv := r.Schedule.GapCV; r.Warned(warn.ArrivalsDrawn) != c.warns || cv < c.low || cv > c.high || r.Warned(warn.ArrivalsRepeated) {
			t.Errorf("%s: CV %v, %v", c.layout, cv, r.Warnings)
		}
		o.Seed = 2
		if again := duesOf(t, o); slices.Equal(first, again) == c.warns {
			t.Errorf("%s: another seed, and the same instants: %v", c.layout, !c.warns)
		}
	}
}

// A log that is shorter than the run is repeated, also where only all shards together need more than it has.
func TestLikeRepeats(t *testing.T) {
	log := logOf(t, micros, 1001, 2001, 9001)
	for _, c := range []struct {
		scheduled, shards uint64
		warns             bool
	}{{3, 1, false}, {1, 3, false}, {4, 1, true}, {2, 3, true}} {
		o := likeOf(log, func(o *Options) { o.Requests = c.scheduled * c.shards })
		if n := len(duesOf(t, o)); uint64(n) != o.Requests {
			t.Errorf("%d operations, want %d", n, o.Requests)
		}
		r := &takt.Report{Counts: takt.Counts{Scheduled: c.scheduled}}
		if o.recording.warn(r, c.shards); r.Warned(warn.ArrivalsRepeated) != c.warns {
			t.Errorf("%+v: %v", c, r.Warnings)
		}
	}
}

// A program's schedule keeps its arrivals.
func TestFollowArrivals(t *testing.T) {
	p := schedule.NewPattern("")
	for _, at := range []time.Duration{0, 1, 9} {
		p.Add(at)
	}
	for want, change := range map[string]func(s *schedule.Spec){
		"uniform": func(*schedule.Spec) {},
		"poisson": func(s *schedule.Spec) { s.Poisson = true },
		"gamma:3": func(s *schedule.Spec) { s.Gamma = 3 },
		"like:":   func(s *schedule.Spec) { s.Like = p },
	} {
		s := schedule.Constant(100, time.Second)
		change(&s)
		o := Defaults()
		o.Follow(s)
		got, err := o.Spec()
		if err != nil || got.Arrivals() != want || got.Like != s.Like || o.Described().Arrivals != want || len(o.Validate()) > 0 {
			t.Errorf("%+v, %v, want %s", got, err, want)
		}
		if n := len(duesOf(t, &o)); n == 0 || o.Most(1) < uint64(n) {
			t.Errorf("%s: %d operations, %d at most", want, n, o.Most(1))
		}
	}
}
