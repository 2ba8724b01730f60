package reader

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/trace/parse"
)

// readFuzz reads data to its end, and holds every record to what a sender relies on.
func readFuzz(t *testing.T, data []byte, o Options, each func(r *trace.Record)) {
	t.Helper()
	o.Zone = time.UTC
	r, err := New("log", bytes.NewReader(data), o)
	if err != nil {
		return
	}
	defer r.Close()
	var rec trace.Record
	for n := 0; ; n++ {
		err := r.Next(&rec)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err) // memory does not fail
		}
		tracetest.Check(t, &rec)
		if each != nil {
			each(&rec)
		}
		if n > len(data) {
			t.Fatal("more records than bytes")
		}
	}
	if c := r.Counts(); c.Lines != c.Records+c.NoRequest()+c.Bad() || slices.ContainsFunc(c.Left.Reasons(), func(r trace.Reason) bool { return r.Count == 0 }) {
		t.Fatalf("%+v", c)
	}
	if err := r.Next(&rec); err != io.EOF {
		t.Fatalf("after the end comes %v", err)
	}
}

// addSamples gives a fuzz target the sample files that it is for.
func addSamples(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("..", "testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(bytes.SplitAfterN(text, []byte("\n"), 2)[0])
	}
}

func fuzzFormat(f *testing.F, format string, files ...string) {
	addSamples(f, files...)
	f.Fuzz(func(t *testing.T, data []byte) { readFuzz(t, data, Options{Format: format}, nil) })
}

func FuzzVhost(f *testing.F) { fuzzFormat(f, "vhost", "vhost.log") }
func FuzzCombined(f *testing.F) {
	fuzzFormat(f, "combined", "nginx-timed.log", "apache-combined.log", "apache-real.log")
}
func FuzzCommon(f *testing.F)    { fuzzFormat(f, "common", "common.log") }
func FuzzTraefik(f *testing.F)   { fuzzFormat(f, "traefik", "traefik.log") }
func FuzzHAR(f *testing.F)       { fuzzFormat(f, "har", "browser.har") }
func FuzzJTLXML(f *testing.F)    { fuzzFormat(f, "jtl-xml", "results.jtl", "jmeter.jtl") }
func FuzzJTLCSV(f *testing.F)    { fuzzFormat(f, "jtl-csv", "results.csv", "jmeter.csv") }
func FuzzK6(f *testing.F)        { fuzzFormat(f, "k6-csv", "k6.csv") }
func FuzzGor(f *testing.F)       { fuzzFormat(f, "gor", "requests.gor") }
func FuzzForwarded(f *testing.F) { fuzzFormat(f, "forwarded", "forwarded.log") }
func FuzzPaths(f *testing.F)     { fuzzFormat(f, "paths", "paths.txt") }
func FuzzW3C(f *testing.F)       { fuzzFormat(f, "w3c", "iis.log", "cloudfront.log") }
func FuzzProxies(f *testing.F) {
	formats := []string{"haproxy", "envoy", "istio", "alb"}
	for i, format := range formats {
		text, err := os.ReadFile(filepath.Join("..", "testdata", format+".log"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), text)
	}
	f.Fuzz(func(t *testing.T, format byte, data []byte) {
		readFuzz(t, data, Options{Format: formats[int(format)%len(formats)]}, nil)
	})
}
func FuzzAuto(f *testing.F) {
	fuzzFormat(f, autoFormat, "nginx-combined.log", "load-input.csv", "app.json.log", "browser.har", "results.jtl", "results.csv", "urls.txt", "syslog.log", "iis.log")
}

// Valid JSON is never called invalid, but for its depth.
func FuzzJSON(f *testing.F) {
	addSamples(f, "caddy.log", "app.json.log")
	f.Fuzz(func(t *testing.T, data []byte) {
		readFuzz(t, data, Options{Format: "json"}, nil)
		format, err := formats.Find("json")
		if err != nil {
			t.Fatal(err)
		}
		p, err := format.Line(formats.Hints{})
		if err != nil {
			t.Fatal(err)
		}
		var rec trace.Record
		rec.Reset()
		line := bytes.ReplaceAll(data, []byte("\n"), nil)
		fl := parse.NewLine(time.UTC, false, &trace.Left{})
		fl.Begin(&rec)
		err = p.Parse(line, &fl)
		var object map[string]any
		if json.Unmarshal(line, &object) == nil && object != nil && err == parse.ErrNotJSON {
			t.Fatalf("%q is JSON", line)
		}
	})
}

// What is read of a load file and written as results is read as the same again.
func FuzzLoad(f *testing.F) {
	addSamples(f, "seed-load.csv", "load-results.csv", "load-input.csv")
	f.Fuzz(func(t *testing.T, data []byte) {
		readFuzz(t, data, Options{Format: "load"}, func(r *trace.Record) {
			row := convert.AppendLoadRow(nil, r)
			if bytes.Count(row, []byte("\n")) != 1 || len(row) > trace.MaxLine-len(convert.LoadHead) {
				return // a path of 200 KB may have become longer than a line can be
			}
			again := 0
			readFuzz(t, append([]byte(convert.LoadHead), row...), Options{Format: "load"}, func(back *trace.Record) {
				again++
				if second := convert.AppendLoadRow(nil, back); !bytes.Equal(second, row) {
					t.Fatalf("%q became %q", row, second)
				}
			})
			if again != 1 {
				t.Fatalf("%q is not one row", row)
			}
		})
	})
}

// Whatever the format string and the line are, nothing breaks.
func FuzzPattern(f *testing.F) {
	f.Add(`$remote_addr [$time_local] "$request" $status`, []byte(`::1 [02/Jan/2020:03:04:05 +0000] "GET / HTTP/1.1" 200`))
	f.Add(`log_format x '$host$request_uri' "$msec";`, []byte("h/x 1.5"))
	f.Add(`LogFormat "%v:%p %{%F %T}t.%{msec_frac}t \"%r\" %>s %D" x`, []byte(`[::1]:80 2020-01-02 03:04:05.1 "GET /" 200 1`))
	f.Add(`log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %{+Q}r"`, []byte(`10.0.1.2:3 [06/Feb/2026:12:14:14.655] f b/s 1/0/3/6/9 200 5 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`))
	f.Add(`%START_TIME(%Y/%m/%dT%H:%M:%S%z)% %REQ(:PATH):80% %DURATION%`, []byte("2026/11/24T10:00:00+0000 / 5"))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		if strings.ContainsAny(format, "$%") {
			readFuzz(t, data, Options{Format: format}, nil)
		}
	})
}

// Damage to compressed files is a counted fault.
func FuzzCompressed(f *testing.F) {
	f.Add(zipped(f, tracetest.AccessLog(3)))
	f.Add(zstandard(f, tracetest.AccessLog(3)))
	f.Fuzz(func(t *testing.T, data []byte) { readFuzz(t, data, Options{Format: "combined"}, nil) })
}
