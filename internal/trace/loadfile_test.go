package trace_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/trace/reader"
)

// rows reads a load file and writes its records as rows of results.
func rows(t *testing.T, text string) string {
	t.Helper()
	r, err := reader.New("load", strings.NewReader(text), reader.Options{Format: "load", Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	out := []byte(convert.LoadHead)
	var rec trace.Record
	for {
		err := r.Next(&rec)
		if err == io.EOF {
			return string(out)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = convert.AppendLoadRow(out, &rec)
	}
}

// The predecessor's own output, read and written: rows get the rate that they lack.
func TestRoundTripOfResults(t *testing.T) {
	text, err := os.ReadFile("testdata/load-results.csv")
	if err != nil {
		t.Fatal(err)
	}
	const want = convert.LoadHead + `2026-11-20 10:16:09.912 0.004424 0.000042 0 2704 f2.txt 200 GET 0
2026-11-20 10:16:09.934 0.000196 0.000053 0 4053 f3.txt 200 GET 0
2026-11-20 10:18:19.552 0.000847 0.000013 0 153 missing.txt 404 GET 20  expectedRC=200
2026-11-20 10:18:20.623 0.109410 0.000002 0 1000 put1.txt 201 PUT 20
2026-11-20 10:18:21.286 0.002027 0.000011 0 4 echo 200 POST 20
2026-11-20 10:18:21.300 0.002027 0.000011 0 0 gone 444 GET 20.5
2026-11-20 10:18:21.301 0.002027 0.000011 0 4 echo 200 POST 20
`
	got := rows(t, string(text))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again := rows(t, got); again != want {
		t.Errorf("the second time\n%s", again)
	}
}

// The seed's example of an input: all three forms of its date mean one instant.
func TestSeedLine(t *testing.T) {
	const want = convert.LoadHead + "2017-11-09 13:12:44 0 0 0 122944 zaphod-beebelbrox.jpg 200 GET 0\n"
	for _, date := range []string{"09/Nov/2017", "2017-Nov-09", "2017-11-09"} {
		if got := rows(t, date+" 13:12:44 0 0 0 122944 zaphod-beebelbrox.jpg 200 GET\n"); got != want {
			t.Errorf("%s: %s", date, got)
		}
	}
}

// Paths, bodies and unknown figures come back as they were.
func TestRoundTripOfInput(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 123e6, time.UTC)
	for _, want := range []trace.Record{
		{At: at, Latency: 5 * time.Millisecond, Transfer: time.Millisecond, Status: 200, Expected: 200, Bytes: 7, RequestBytes: trace.Unknown, Method: []byte("GET"), URI: []byte("/a")},
		{At: at, Latency: 0, Transfer: 0, Bytes: 0, RequestBytes: trace.Unknown, Method: []byte("HEAD"), URI: []byte("/")},
		{At: at, Latency: trace.Unknown, Transfer: trace.Unknown, Bytes: 3, RequestBytes: 3, Method: []byte("POST"), URI: []byte("//a//b"), Body: []byte("a b")},
		{At: at.Truncate(time.Second), Second: true, Latency: trace.Unknown, Transfer: trace.Unknown, Bytes: 5, RequestBytes: 5, Method: []byte("POST"), URI: []byte(`/"q"`), Body: []byte(`"quo"`)},
		{Latency: trace.Unknown, Transfer: trace.Unknown, Bytes: 9, RequestBytes: 9, Method: []byte("PUT"), URI: []byte("/go?to=http://x/")},
		{At: at, Latency: trace.Unknown, Transfer: trace.Unknown, RequestBytes: trace.Unknown, Method: []byte("GET"), URI: []byte(`/"#`[:2])},
		{At: at, Latency: trace.Unknown, Transfer: trace.Unknown, RequestBytes: 0, Method: []byte("OPTIONS"), URI: []byte("/x%20y")},
	} {
		row, err := convert.AppendLoadInput([]byte(convert.LoadInputHead), &want)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reader.New("load", strings.NewReader(string(row)), reader.Options{Format: "load", Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		var got trace.Record
		if err := r.Next(&got); err != nil {
			t.Fatalf("%s: %v %+v", row, err, r.Counts())
		}
		want.Line = 2
		if tracetest.Dump(&got) != tracetest.Dump(&want) {
			t.Errorf("%s\ngot  %s\nwant %s", row, tracetest.Dump(&got), tracetest.Dump(&want))
		}
	}
	for _, body := range []string{"two\nlines", strings.Repeat("x", trace.MaxLine/2+1)} {
		if _, err := convert.AppendLoadInput(nil, &trace.Record{Method: []byte("POST"), URI: []byte("/"), Body: []byte(body)}); err == nil || !strings.HasPrefix(err.Error(), "the body has line ends or more than 128 KiB") {
			t.Errorf("%.10q: %v", body, err)
		}
	}
}

func TestAppendStep(t *testing.T) {
	if got := string(convert.AppendLoadStep(convert.AppendLoadStep(nil, 40), 2.5)); got != "#request/second = 40\n#request/second = 2.5\n" {
		t.Error(got)
	}
	if got := rows(t, "#TPS=7\n2024-01-01 00:00:00 0 0 0 1 a 200 GET\n#request/second = 8\n2024-01-01 00:00:00 0 0 0 1 a 200 GET\n"); strings.Count(got, " GET 7\n") != 1 || strings.Count(got, " GET 8\n") != 1 {
		t.Error(got)
	}
}
