package order

import (
	"fmt"
	"testing"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/tracetest"
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
		if got := tracetest.URIs(t, Section(&tracetest.List{Records: records}, c.from, c.n)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
