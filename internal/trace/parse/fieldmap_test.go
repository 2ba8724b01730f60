package parse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// Of a field with several names the first in the map is used, wherever it stands in
// the line, and one that means something else does no harm.
func TestFieldMapRanks(t *testing.T) {
	m, err := parse.NewFieldMap("uri=a|b.c|d,start=t|u,latency=l:ms,status=s|r")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`{"d":"/3","b":{"c":"/2"},"a":"/1","t":1}`:                  "1: GET /1 0\n\tstart (second) 1970-01-01T00:00:01Z\n",
		`{"a":"/1","b":{"c":"/2"},"u":2,"t":1.5}`:                   "1: GET /1 0\n\tstart 1970-01-01T00:00:01.5Z\n",
		`{"b.c":"/2","d":"/3","t":"x","u":1}`:                       "the time is not understood",
		`{"b.c":["/2","/4"],"d":null,"t":null,"u":1,"l":"2.5"}`:     "1: GET /2 0\n\tstart (second) 1970-01-01T00:00:01Z\n\tlatency ns 2500000\n",
		`{"d":"none","b":{"c":"/2"},"t":1,"r":"good","s":201}`:      "1: GET /2 201\n\tstart (second) 1970-01-01T00:00:01Z\n",
		`{"d":"\ud83d\ude00\ud800x/","t":1}`:                        "the line has no URI",
		`{"d":"/\ud83d\ude00\ud800x","t":1}`:                        "1: GET /%F0%9F%98%80%EF%BF%BDx 0\n\tstart (second) 1970-01-01T00:00:01Z\n",
		`{"a":{"a":"/1"},"d":[[],{}, true , -1e5],"t":1}`:           "the line has no URI",
		strings.Repeat(`{"x":`, 70) + "1" + strings.Repeat("}", 70): "more than 64 objects and arrays within each other",
		`{"a":"/1","t":1`:   "not a JSON object",
		`{"a":"/1",,"t":1}`: "not a JSON object",
		`{"a" "/1"}`:        "not a JSON object",
		`{"a":"/1"]`:        "not a JSON object",
		`{"a":{"b":{}`:      "not a JSON object",
		`{"a":nil}`:         "not a JSON object",
	} {
		rec := trace.Record{}
		rec.Reset()
		rec.Line = 1
		f := parse.NewLine(time.UTC, false, &trace.Left{})
		f.Begin(&rec)
		got := ""
		if err := m.Parse([]byte(line), &f); err != nil {
			got = err.Error()
		} else {
			got = tracetest.Dump(&rec)
		}
		if got != want {
			t.Errorf("%s\ngot  %q\nwant %q", line, got, want)
		}
	}
}
