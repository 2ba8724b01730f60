package target

import (
	"testing"
	"time"
)

// A Model does with a sequence of arrivals what the desk does: both put it through the same queue with the
// same streams.
func TestModelIsTheServer(t *testing.T) {
	for name, o := range map[string]Options{
		"freeze":     {Service: "1ms", Freeze: "1s/5s", Seed: 1},
		"queue":      {Service: "exp(3ms)", Servers: 1, Seed: 2},
		"slow":       {Service: "1ms", Slow: "2%/80ms", Seed: 3},
		"slow start": {Service: "1ms", SlowStart: "200ms/2s", Seed: 4},
		"failures":   {Service: "1ms", ResetRate: 0.01, CloseRate: 0.01, Seed: 5},
	} {
		m, err := NewModel(o)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := o.settings()
		d := newDesk(s, o.Servers, newAlarm())
		failed := 0
		for i := range 3000 {
			at := time.Duration(i) * 2 * time.Millisecond
			end, outcome := m.Request(at)
			_, want := d.queue.serve(at, d.services.next(at))
			if fate := d.fates.draw(); end != want || outcome != fate {
				t.Fatalf("%s: request %d ends at %v as %v, want %v as %v", name, i, end, outcome, want, fate)
			}
			if outcome != OK {
				failed++
			}
		}
		if (name == "failures") != (failed > 30) {
			t.Errorf("%s: %d of 3000 requests failed", name, failed)
		}
	}
	if _, err := NewModel(Options{Service: "x", Freeze: "y"}); err == nil {
		t.Error("faults of options were accepted")
	}
}
