//go:build real

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	nethttp "net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file run takt http --export with the receivers of scripts/servers. They compare what
// a receiver computes with the report, and stop the receiver in mid-run.

// receiver is a receiver of metrics that scripts/servers started.
type receiver struct {
	at     string // URL or HOST:PORT
	folder string // contains pid
}

func receiverOf(t *testing.T, variable string) receiver {
	t.Helper()
	at, folder, ok := strings.Cut(os.Getenv(variable), " ")
	if !ok {
		t.Fatal(variable + " is not 'ADDRESS FOLDER'; run scripts/test-real")
	}
	return receiver{at, folder}
}

func (r receiver) pid(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// exporting runs 2000 operations in 4 s, whose response times spread over three powers of ten, and demands
// that all figures arrive.
func exporting(t *testing.T, o target.Options, to ...string) *takt.Report {
	t.Helper()
	args := []string{"--rate", "500/s", "--duration", "4s"}
	for _, where := range to {
		args = append(args, "--export", where)
	}
	o.Service = "lognormal(1.8ms,1)"
	r := reportOf(t, "http", append(args, targettest.Serve(t, o).URL()))
	checkLaws(t, r)
	if r.Counts.Scheduled != 2000 || len(r.Exports) != len(to) {
		t.Fatalf("counts %+v, exports %+v", r.Counts, r.Exports)
	}
	for _, e := range r.Exports {
		if e.Lost > 0 || e.Sent < 5 || e.Error != "" {
			t.Errorf("export %+v; want 5 batches sent", e)
		}
	}
	return r
}

// percentiles calls one for the response times of r, in seconds.
func percentiles(r *takt.Report, one func(q, seconds float64)) {
	l := r.Latency[takt.LatencyResponse]
	for _, p := range []struct{ q, us float64 }{{0.5, l.P50}, {0.9, l.P90}, {0.99, l.P99}, {0.999, l.P99_9}} {
		one(p.q, p.us/1e6)
	}
}

// bucket is the ratio between the bounds of a bucket of native and exponential histograms, with the
// error of takt's own.
const bucket = 1.0219 * 1.001

// interrupted runs while the receiver is killed or frozen, and demands that nothing of the run changes, and
// that lost figures are counted.
func interrupted(t *testing.T, to receiver, export, signal string) {
	t.Helper()
	pid := to.pid(t)
	if signal == "STOP" {
		t.Cleanup(func() {
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		})
	}
	s := targettest.Serve(t, target.Options{})
	began := time.Now()
	r, code, said := runOnce(t, t.Context(), "http", []string{
		"--rate", "500/s", "--duration", "4s", "--export", export, "--fault", fmt.Sprintf("kill -%s %d@1500ms", signal, pid), s.URL(),
	})
	if all(t, r, 2000); code != 0 {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if len(r.Faults) != 1 || r.Faults[0].ExitCode == nil || *r.Faults[0].ExitCode != 0 {
		t.Fatalf("faults %+v: the receiver was not stopped", r.Faults)
	}
	if e := r.Exports[0]; e.Sent == 0 || e.Lost == 0 || e.Error == "" || e.Sent+e.Lost != uint64(len(r.Intervals))+1 {
		t.Errorf("export %+v of %d intervals and the end; want some sent, and some lost", e, len(r.Intervals))
	}
	if !slices.ContainsFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "export_lost" }) {
		t.Errorf("no warning of lost figures: %+v", r.Warnings)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the run took %v", took)
	}
}

// fetched is the answer to GET as JSON.
func fetched(t *testing.T, into any, address string, query ...string) {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	answer, err := nethttp.Get(address + "?" + values.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != 200 {
		err = fmt.Errorf("%s", answer.Status)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s?%s: %v: %s", address, values.Encode(), err, text)
	}
}

// TestRealCarbon: the percentiles of each second are those of the report.
func TestRealCarbon(t *testing.T) {
	c := receiverOf(t, "TAKT_CARBON")
	export := "graphite=" + c.at + "/real.carbon"
	r := exporting(t, target.Options{}, export)
	for name, of := range map[string]func(iv *takt.Interval) float64{
		"ok":                  func(iv *takt.Interval) float64 { return float64(iv.OK) },
		"response_ms.p99":     func(iv *takt.Interval) float64 { return iv.ResponseP99 / 1000 },
		"response_ms.max":     func(iv *takt.Interval) float64 { return iv.ResponseMax / 1000 },
		"schedule_lag_ms.p99": func(iv *takt.Interval) float64 { return iv.ScheduleLagP99 / 1000 },
	} {
		eachInterval(t, r, name, of, func() []float64 { return c.whisper(t, "real/carbon/"+strings.ReplaceAll(name, ".", "/")) })
	}
	t.Run("STOP", func(t *testing.T) { interrupted(t, c, export, "STOP") })
	t.Run("KILL", func(t *testing.T) { interrupted(t, c, export, "KILL") })
}

// eachInterval demands that the receiver has the value of each interval, in their order.
func eachInterval(t *testing.T, r *takt.Report, name string, of func(*takt.Interval) float64, got func() []float64) {
	t.Helper()
	var want []float64
	for i := range r.Intervals {
		want = append(want, of(&r.Intervals[i]))
	}
	same := func(list []float64) bool {
		return slices.EqualFunc(list, want, func(a, b float64) bool { return math.Abs(a-b) <= 0.001*math.Abs(b) })
	}
	list := got()
	for range 100 { // a receiver writes later than it reads
		if same(list) {
			return
		}
		time.Sleep(100 * time.Millisecond)
		list = got()
	}
	t.Errorf("%s by the second: the receiver has %v, the report %v", name, list, want)
}

// whisper returns the values of a metric by carbon's own program.
func (r receiver) whisper(t *testing.T, path string) (list []float64) {
	t.Helper()
	out, err := exec.Command(filepath.Join(r.folder, "whisper-fetch"), "--from", strconv.FormatInt(time.Now().Add(-10*time.Minute).Unix(), 10),
		filepath.Join(r.folder, "whisper", path+".wsp")).Output()
	if err != nil {
		return nil // not yet
	}
	for line := range strings.Lines(string(out)) {
		if _, v, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && v != "None" {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, f)
		}
	}
	return list
}

// TestRealInfluxDB: the percentiles of each second, and the counts at the end, are those of the report.
func TestRealInfluxDB(t *testing.T) {
	db := receiverOf(t, "TAKT_INFLUXDB")
	answer, err := nethttp.PostForm(db.at+"/query", url.Values{"q": {"CREATE DATABASE takt"}})
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	export := "influx=" + db.at + "?db=takt"
	r := exporting(t, target.Options{}, export)
	for name, of := range map[string]func(iv *takt.Interval) float64{
		"ok":           func(iv *takt.Interval) float64 { return float64(iv.OK) },
		"response_p99": func(iv *takt.Interval) float64 { return iv.ResponseP99 / 1e6 },
		"response_max": func(iv *takt.Interval) float64 { return iv.ResponseMax / 1e6 },
	} {
		eachInterval(t, r, name, of, func() []float64 { return db.influx(t, "takt", name, r.ID) })
	}
	if n := db.influx(t, "takt_run", "ok", r.ID); !slices.Equal(n, []float64{2000}) {
		t.Errorf("operations of the run: %v", n)
	}
	t.Run("STOP", func(t *testing.T) { interrupted(t, db, export, "STOP") })
	t.Run("KILL", func(t *testing.T) { interrupted(t, db, export, "KILL") })
}

func (r receiver) influx(t *testing.T, measurement, field, run string) (list []float64) {
	t.Helper()
	var answer struct {
		Results []struct{ Series []struct{ Values [][]any } }
	}
	fetched(t, &answer, r.at+"/query", "db", "takt", "q", fmt.Sprintf("SELECT %s FROM %s WHERE run = '%s'", field, measurement, run))
	for _, result := range answer.Results {
		for _, s := range result.Series {
			for _, v := range s.Values {
				list = append(list, v[1].(float64))
			}
		}
	}
	return list
}
