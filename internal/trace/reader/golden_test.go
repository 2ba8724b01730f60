package reader

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

var update = flag.Bool("update", false, "write the goldens")

func dumpAll(t *testing.T, r *Reader) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "format %s\n", r.Format())
	var rec trace.Record
	for {
		err := r.Next(&rec)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(tracetest.Dump(&rec))
	}
	c := r.Counts()
	fmt.Fprintf(&b, "lines %d, records %d, no request %d, bad %d\n", c.Lines, c.Records, c.NoRequest(), c.Bad())
	b.Write(c.Left.AppendText(nil))
	return b.String()
}

// Each sample is read with its format found by itself or given, and compared with
// what stands beside it.
func TestSamples(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin") // which has summer time
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, format string }{
		{"nginx-combined.log", "auto"},
		{"nginx-timed.log", "auto"},
		{"nginx-parts.log", "$msec $request_time $request_method $scheme://$host$request_uri $status $bytes_sent $request_length"},
		{"nginx-json.log", "auto"},
		{"apache-combined.log", "auto"},
		{"common.log", "auto"},
		{"vhost.log", "auto"},
		{"seed.log", "auto"},
		{"traefik-common.log", "auto"},
		{"seed-load.csv", "auto"},
		{"load-results.csv", "auto"},
		{"load-input.csv", "auto"},
		{"caddy.log", "auto"},
		{"traefik.log", "auto"},
		{"app.json.log", "auto"},
		{"browser.har", "auto"},
		{"results.jtl", "auto"},
		{"results.csv", "auto"},
		{"paths.txt", "paths"},
		{"urls.txt", "auto"},
		{"vhost-bare.log", "vhost"},
		{"vhost-common.log", "auto"},
		{"syslog.log", "auto"},
		{"haproxy.log", "auto"},
		{"envoy.log", "auto"},
		{"istio.log", "auto"},
		{"envoy.json.log", "auto"},
		{"alb.log", "auto"},
		{"iis.log", "auto"},
		{"cloudfront.log", "auto"},
		{"gcp.json.log", "auto"},
		{"seed-put.csv", "auto"},
		{"s3.log", "auto"},
		{"elb.log", "auto"},
		{"squid.log", "auto"},
		{"ltsv.log", "auto"},
		{"uwsgi.log", "auto"},
		{"cloudflare.json.log", "auto"},
		{"azure.json.log", "auto"},
		{"akamai.json.log", "auto"},
		{"waf.json.log", "auto"},
		{"pino.json.log", "auto"},
		{"logfmt.log", "auto"},
		{"compose.log", "auto"},
		{"k6.csv", "auto"},
		{"requests.gor", "auto"},
		{"forwarded.log", "auto"},
		{"docker.json.log", "auto"},
		{"journald.json.log", "auto"},
		// Written by the programs themselves, with the scripts beside them.
		{"apache-real.log", "auto"},
		{"apache-common.log", "auto"},
		{"apache-vhost.log", "auto"},
		{"apache-full.log", `LogFormat "%{%Y-%m-%dT%T}t.%{usec_frac}t%{%z}t %D %a %m %U%q %>s %B %I %V \"%{User-Agent}i\"" full`},
		{"caddy-real.log", "auto"},
		{"jmeter.jtl", "auto"},
		{"jmeter.csv", "auto"},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join("..", "testdata", c.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := New(c.file, bytes.NewReader(text), Options{Format: c.format, Zone: berlin})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := dumpAll(t, r)
			if counts := r.Counts(); counts.Lines != counts.Records+counts.NoRequest()+counts.Bad() {
				t.Errorf("the counts do not add up: %+v", counts)
			}
			if *update {
				if err := os.WriteFile(path+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
