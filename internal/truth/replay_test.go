package truth_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// TestTruthOfReplay replays a recorded Poisson log, at its speed and ten times as fast. The
// count is exact, the order is unchanged, and every request is due at its ideal instant, to the
// nanosecond. The p95 of the deviation is at most 1/4 of that of a replay with Go's timers and
// net/http, or at most twice the lateness of plain sleeps during the run. Of 300 requests the p99 is
// the third worst, so a single pause of a millisecond decided it.
func TestTruthOfReplay(t *testing.T) {
	clocktest.Asked(t)
	for _, c := range []struct {
		speed, n int
		rate     float64 // recorded; both replays last about 0.7 s
	}{{1, 300, 400}, {10, 1400, 200}} {
		speed := c.speed
		t.Run(fmt.Sprint(speed, "x"), func(t *testing.T) {
			ideal := arrivals(c.n, c.rate)
			log := filepath.Join(t.TempDir(), "load.csv")
			if err := os.WriteFile(log, []byte(recording(ideal)), 0o600); err != nil {
				t.Fatal(err)
			}
			clocktest.Wants(t, func(s *clocktest.Sleepers) []string {
				ours, faults := replayed(t, log, ideal, speed)
				floor := hist.Micros(s.Late())
				timers := goReplay(t, ideal, speed)
				t.Logf("at %dx: deviation p95 %.0f µs, with Go's timers %.0f µs, of plain sleeps %.0f µs", speed, ours, timers, floor)
				if ours > max(timers/4, 2*floor) {
					faults = append(faults, "the p95 of the deviation is above 1/4 of a Go-timer replay's and above twice the lateness of plain sleeps")
				}
				return faults
			})
		})
	}
}

// arrivals are n instants of a Poisson process; the first is 0.
func arrivals(n int, rate float64) (list []time.Duration) {
	random := rand.New(rand.NewPCG(1, 2))
	at := 0.0
	for range n {
		list = append(list, time.Duration(at*float64(time.Second)))
		at += random.ExpFloat64() / rate
	}
	return list
}

// recording is a load file of these instants.
func recording(ideal []time.Duration) string {
	var b strings.Builder
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i, d := range ideal {
		fmt.Fprintf(&b, "%s 0 0 0 0 %d 200 GET\n", start.Add(d).Format("2006-01-02 15:04:05.000000000"), i)
	}
	return b.String()
}

// replayed runs takt replay. p95 is that of the time from ideal instant to sending, µs.
func replayed(t *testing.T, log string, ideal []time.Duration, speed int) (p95 float64, faults []string) {
	t.Helper()
	dir := t.TempDir()
	url, stop := startTarget(t, "--truth", filepath.Join(dir, "truth.json"))
	cmd := exec.Command(binary(t), "replay", "--no-store", "--progress", "none", "--zone", "UTC", "--speed", fmt.Sprint(speed, "x"),
		"-o", "json", "-o", "samples="+filepath.Join(dir, "rows.csv"), "-o", "load="+filepath.Join(dir, "load.csv"), log, url)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	stop()
	var r takt.Report
	var truth target.Truth
	for file, v := range map[string]any{"truth.json": &truth, "": &r} {
		b := out
		if file != "" {
			if b, err = os.ReadFile(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	n := uint64(len(ideal))
	if r.Counts.OK != n || r.Counts.Scheduled != n || truth.Counts.Requests != n {
		t.Errorf("%d requests: %+v, at the target %d", n, r.Counts, truth.Counts.Requests)
	}
	sent := sends(t, filepath.Join(dir, "rows.csv"))
	h := hist.New()
	for i, s := range sent {
		due := time.Duration(float64(ideal[i]) / float64(speed))
		if d := s.due - due; d < -1 || d > 1 { // ns, by rounding
			t.Fatalf("request %d is due at %v, not %v", i, s.due, due)
		}
		if i > 0 && s.at < sent[i-1].at {
			faults = append(faults, fmt.Sprintf("request %d was sent before the one that came before it", i))
		}
		h.Record(s.at - due)
	}
	return hist.Micros(h.Quantile(0.95)), faults
}

// send is when an operation was due, and when it was sent.
type send struct{ due, at time.Duration }

// sends reads a file of the format samples and returns its operations, sorted by due.
func sends(t *testing.T, path string) (list []send) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(s string) time.Duration {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(v*1e9 + 0.5)
	}
	offset, delay := slices.Index(rows[0], "offset"), slices.Index(rows[0], "send-delay")
	for _, row := range rows[1:] {
		due := seconds(row[offset])
		list = append(list, send{due, due + seconds(row[delay])})
	}
	slices.SortFunc(list, func(a, b send) int { return int(a.due - b.due) })
	return list
}

// goReplay replays the instants as a simple Go program does: it sleeps with time.Sleep and sends
// each request in a new goroutine. It returns the p95 of the lateness, µs.
func goReplay(t *testing.T, ideal []time.Duration, speed int) float64 {
	t.Helper()
	url, stop := startTarget(t)
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	defer client.CloseIdleConnections()
	late := make([]time.Duration, len(ideal))
	var all sync.WaitGroup
	began := time.Now()
	for i, d := range ideal {
		due := d / time.Duration(speed)
		time.Sleep(due - time.Since(began))
		all.Go(func() {
			late[i] = time.Since(began) - due
			resp, err := client.Get(url)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	h := hist.New()
	for _, d := range late {
		h.Record(d)
	}
	return hist.Micros(h.Quantile(0.95))
}
