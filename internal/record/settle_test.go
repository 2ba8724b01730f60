package record

import (
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Operations that turn out to have failed leave the accounting as it was; those of the
// warm-up come last.
func TestFail(t *testing.T) {
	rep := &takt.Report{
		Counts: takt.Counts{Scheduled: 10, OK: 7, Failed: 2, Unfinished: 1}, WarmupCounts: takt.Counts{Scheduled: 4, OK: 4},
		Errors: []takt.ErrorClass{{Class: "timeout", Count: 2}},
	}
	fail(rep, takt.ErrorClass{Class: "not_stored", Count: 9, Sample: "why"})
	if want := (takt.Counts{Scheduled: 10, Failed: 9, Unfinished: 1}); rep.Counts != want {
		t.Errorf("counts %+v, want %+v", rep.Counts, want)
	}
	if want := (takt.Counts{Scheduled: 4, OK: 2, Failed: 2}); rep.WarmupCounts != want {
		t.Errorf("warm-up %+v, want %+v", rep.WarmupCounts, want)
	}
	if want := []takt.ErrorClass{{Class: "not_stored", Count: 7, Sample: "why"}, {Class: "timeout", Count: 2}}; !slices.Equal(rep.Errors, want) {
		t.Errorf("errors %+v, want %+v", rep.Errors, want)
	}
}

// What a client wrote after the window was not achieved, and the verdict sees that rate; what never
// ended counts once. A closed loop has no rate to achieve.
func TestUnwritten(t *testing.T) {
	for _, c := range []struct {
		closed          bool
		unwritten, open uint64
		achieved        float64
	}{{false, 0, 0, 2}, {false, 1, 0, 1}, {false, 9, 0, 0}, {true, 1, 0, 2}, {false, 7, 7, 2}, {false, 8, 7, 1}, {false, 3, 7, 2}} {
		r := New(Config{Window: time.Second})
		for range 2 {
			r.Sample(0, Event{Done: time.Second}, nil)
		}
		for range c.open {
			r.Sample(0, Event{Done: time.Second, Outcome: UnfinishedSent}, nil)
		}
		rep := r.Report(End{Scheduled: 2, Closed: c.closed, Stop: time.Second, Settlement: takt.Settlement{Unwritten: c.unwritten}})
		if rep.Rate.Achieved != c.achieved {
			t.Errorf("%+v: %v/s achieved", c, rep.Rate.Achieved)
		}
	}
}
