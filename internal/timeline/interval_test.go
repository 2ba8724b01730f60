package timeline

import (
	"reflect"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// Neighbours in time and parallel shards differ in two figures only.
func TestIntervals(t *testing.T) {
	backlog := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		a, b                       *int64
		then, beside               *int64
		inFlightThen, inFlightBoth int
	}{
		"falls":   {backlog(100), backlog(0), backlog(0), backlog(100), 50, 60},
		"grows":   {backlog(0), backlog(100), backlog(100), backlog(100), 50, 60},
		"first":   {backlog(7), nil, backlog(7), backlog(7), 50, 60},
		"second":  {nil, backlog(7), backlog(7), backlog(7), 50, 60},
		"neither": {nil, nil, nil, nil, 50, 60},
	} {
		a := takt.Interval{T: 1, Warmup: true, Scheduled: 1, OK: 2, Failed: 3, Dropped: 4, Errors: map[string]uint64{"x": 1}, Bytes: takt.Bytes{Sent: 7, Received: 8}, InFlightMax: 50, ScheduleLagP99: 6, Lag: c.a}
		b := takt.Interval{T: 2, Scheduled: 10, OK: 20, Failed: 30, Dropped: 40, Errors: map[string]uint64{"x": 2, "y": 3}, Bytes: takt.Bytes{Sent: 70, Received: 80}, InFlightMax: 10, ScheduleLagP99: 5, Lag: c.b}
		want := takt.Interval{T: 2, Scheduled: 11, OK: 22, Failed: 33, Dropped: 44, Errors: map[string]uint64{"x": 3, "y": 3}, Bytes: takt.Bytes{Sent: 77, Received: 88}, InFlightMax: c.inFlightThen, ScheduleLagP99: 6, Lag: c.then}
		if got := Then(a, b); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: then %+v, want %+v", name, got, want)
		}
		want.InFlightMax, want.Lag = c.inFlightBoth, c.beside
		if got := Beside(a, b); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: beside %+v, want %+v", name, got, want)
		}
		for _, one := range []takt.Interval{a, b} {
			for nothing, got := range map[string]takt.Interval{"then": Then(takt.Interval{Warmup: true}, one), "beside": Beside(takt.Interval{Warmup: true}, one)} {
				if !reflect.DeepEqual(got, one) {
					t.Errorf("%s: nothing %s %+v is %+v", name, nothing, one, got)
				}
			}
		}
		if len(a.Errors) != 1 || a.Errors["x"] != 1 {
			t.Errorf("%s: the errors of a became %v", name, a.Errors)
		}
	}
}
