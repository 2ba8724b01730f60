package trace_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

func TestSection(t *testing.T) {
	var records []trace.Record
	for i := range 5 {
		records = append(records, trace.Record{URI: fmt.Appendf(nil, "/%d", i)})
	}
	for _, c := range []struct {
		from, n uint64
		want    string
	}{{0, 0, "/0 /1 /2 /3 /4"}, {2, 0, "/2 /3 /4"}, {1, 2, "/1 /2"}, {4, 9, "/4"}, {9, 1, ""}} {
		if got := tracetest.URIs(t, trace.Section(&tracetest.List{Records: records}, c.from, c.n)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestWithin(t *testing.T) {
	var records []trace.Record
	for i := range 10 {
		records = append(records, trace.Record{At: time.Unix(1e9+int64(i), 0), Line: i, Ended: true, Latency: time.Second})
	}
	var w trace.Window
	if err := w.Set("2s..5s"); err != nil {
		t.Fatal(err)
	}
	var got []int
	if err := trace.Each(trace.Within(&tracetest.List{Records: records}, w), func(r *trace.Record) error {
		got = append(got, r.Line)
		return nil
	}); err != nil || len(got) != 3 || got[0] != 2 || got[2] != 4 {
		t.Errorf("%v %v", got, err)
	}
}
