// Package truth_test compares what takt reports with what really happened, in real time.
package truth_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	httpdriver "github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "takt")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "takt")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/takt").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// binary builds takt without the race detector, as users run it.
func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startTarget runs takt target in its own process; stop ends the process and waits.
func startTarget(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"target", "--addr", "127.0.0.1:0"}, args...)...)
	url = address(t, cmd)
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	return url, stop
}

// address starts a target and reads its URL.
func address(t *testing.T, cmd *exec.Cmd) (url string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "takt target: "))
}

// load runs takt http and returns its report.
func load(t *testing.T, args ...string) *takt.Report {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"http", "--progress", "none", "-o", "json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var r takt.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// TestTruthOfTheStall runs takt against a server that freezes. It compares the percentiles with a
// simulated FIFO queue that has as many servers as there are connections. The queue's service
// times, freezes and lateness are those that the server recorded: after the freeze it takes 10 to
// 20 ms to send 1000 answers on two cores. The test also compares both modes with each other.
func TestTruthOfTheStall(t *testing.T) {
	clocktest.Asked(t)
	clocktest.Wants(t, func(s *clocktest.Sleepers) (faults []string) {
		var both sync.WaitGroup
		found := make([][]string, 2)
		for i, conns := range []int{50, 2000} {
			both.Go(func() {
				time.Sleep(time.Duration(i) * 2500 * time.Millisecond) // so that the freezes never coincide
				found[i] = modes(t, conns, s)
			})
		}
		both.Wait()
		return slices.Concat(found...)
	})
}

// A way is how operations reach the target: over a protocol, in a mode of takt.
type way struct {
	name         string
	target, load []string // flags
}

// pooled is HTTP/1.1 over so many connections.
func pooled(mode string, conns int) way {
	return way{mode, nil, []string{"--engine", mode, "-c", fmt.Sprint(conns)}}
}

// streamed is HTTP/2, with so many streams on so many connections.
func streamed(conns, streams int) way {
	return way{"loop, HTTP/2", []string{"--h2", "--h2-streams", fmt.Sprint(streams)},
		[]string{"--engine", "loop", "--h2", "--h2-connections", fmt.Sprint(conns), "--h2-streams", fmt.Sprint(streams)}}
}

// secure is w over TLS.
func (w way) secure() way {
	return way{w.name + ", TLS", append(slices.Clip(w.target), "--tls"), append(slices.Clip(w.load), "--insecure")}
}

// modes compares each mode with theory, and the modes with one another. The rate is too low for
// streams to differ from connections, so HTTP/2 has one cell for each size of the pool.
func modes(t *testing.T, conns int, s *clocktest.Sleepers) (faults []string) {
	h2 := streamed(1, conns)
	if conns > 1000 {
		h2 = streamed(4, conns/4).secure()
	}
	loop, faults := stall(t, pooled("loop", conns), conns, s)
	worker, more := stall(t, pooled("worker", conns), conns, s)
	faults = append(faults, more...)
	for _, w := range []way{pooled("loop", conns).secure(), h2} {
		_, more = stall(t, w, conns, s)
		faults = append(faults, more...)
	}
	for name, l := range loop {
		w := worker[name]
		if d := l.off - w.off; math.Abs(d) > 0.01+max(l.floor, w.floor) {
			faults = append(faults, fmt.Sprintf("the modes are %.1f %% apart in %s", 100*d, name))
		}
	}
	return faults
}

// deviation is the relative error of a percentile; floor is the p99 lateness of plain sleeps during
// the run. Both are shares of the theoretical percentile.
type deviation struct{ off, floor float64 }

// stall returns the deviation of each percentile. Up to 2 % plus floor is accepted.
func stall(t *testing.T, w way, conns int, s *clocktest.Sleepers) (found map[string]deviation, faults []string) {
	const rate, seconds = 1000, 5
	file := filepath.Join(t.TempDir(), "truth.json")
	url, stop := startTarget(t, slices.Concat(w.target, []string{"--service", "1ms", "--freeze", "1s/5s", "--truth", file})...)
	r := load(t, slices.Concat(w.load, []string{"--rate", fmt.Sprint(rate), "-z", fmt.Sprint(seconds), url})...)
	late := hist.Micros(s.Late())
	stop()
	want, recorded := theory(t, file, conns, time.Second/rate)
	if recorded != rate*seconds {
		return nil, []string{fmt.Sprintf("the target recorded %d requests, want %d", recorded, rate*seconds)}
	}
	got := r.Latency["response"]
	found = map[string]deviation{}
	for _, p := range []struct {
		name string
		got  float64
		q    float64
	}{{"p95", got.P95, 0.95}, {"p99", got.P99, 0.99}, {"p99.9", got.P99_9, 0.999}, {"max", got.Max, 1}} {
		theory := hist.Micros(want.Quantile(p.q))
		d, floor := p.got/theory-1, late/theory
		found[p.name] = deviation{d, floor}
		t.Logf("%s, %d connections: response %s %.1f ms, in theory %.1f ms: %+.2f %%", w.name, conns, p.name, p.got/1e3, theory/1e3, 100*d)
		if math.Abs(d) > 0.02+floor {
			faults = append(faults, fmt.Sprintf("%s: %s is %.1f %% off", w.name, p.name, 100*d))
		}
	}
	t.Logf("service p99 %.2f ms, of plain sleeps %.2f ms late; verdict %s", r.Latency["service"].P99/1e3, late/1e3, r.Verdict)
	if r.Counts.OK != rate*seconds {
		faults = append(faults, fmt.Sprintf("%s: counts %+v", w.name, r.Counts))
	}
	if r.Verdict != takt.Valid {
		faults = append(faults, fmt.Sprint(w.name, ": verdict ", r.Verdict, r.Warnings))
	}
	return found, faults
}

// theory simulates the queue with the service times that the target recorded; each includes how
// late the target answered. n is the number of recorded requests.
func theory(t *testing.T, file string, servers int, gap time.Duration) (h *hist.Histogram, n int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var truth target.Truth
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	h = hist.New()
	for _, d := range truth.Theory(servers, gap) {
		h.Record(d)
	}
	return h, len(truth.Records)
}

// TestTruthOfOverload: a server that needs 5 ms for each request, one after the other, gets 1000/s
// for 5 s. About seven of ten operations stay unfinished, all are counted, and the run is valid
// because the target is the bottleneck.
func TestTruthOfOverload(t *testing.T) {
	clocktest.Asked(t)
	clocktest.Wants(t, func(*clocktest.Sleepers) (faults []string) {
		url, stop := startTarget(t, "--service", "5ms", "--servers", "1")
		defer stop()
		r := load(t, "--rate", "1000", "-z", "5", "--drain", "2s", url)
		c := r.Counts
		t.Logf("%+v, verdict %s, response p50 %.0f ms", c, r.Verdict, r.Latency["response"].P50/1e3)
		if c.Scheduled != 5000 || c.OK+c.Failed+c.Dropped+c.Unfinished != 5000 || c.Failed+c.Dropped != 0 {
			t.Errorf("counts %+v", c)
		}
		lasted := r.Intervals[len(r.Intervals)-1].T + 0.1 // 7 s, or a little more when the drain ended late
		if most := uint64(lasted / 0.005); c.OK > most {
			faults = append(faults, fmt.Sprintf("%d ok, but the server can answer only %d in %.3f s", c.OK, most, lasted))
		}
		if c.OK < 1300 { // fewer than 1400 when the machine stands still
			faults = append(faults, fmt.Sprintf("%d ok of 1400", c.OK))
		}
		if r.Verdict != takt.Valid {
			faults = append(faults, fmt.Sprintf("verdict %s: %v", r.Verdict, r.Warnings))
		}
		return faults
	})
}

// TestRate: both modes achieve the rate, and more exactly than Go's timers can. The worker mode
// is tested up to 10,000/s only, because it hands each operation to another goroutine: at 20,000/s
// the target and the generator fill two cores.
func TestRate(t *testing.T) {
	clocktest.Asked(t)
	url, _ := startTarget(t, "--null")
	for rate, modes := range map[int][]string{
		1000: {"loop", "worker"}, 10000: {"loop", "worker"}, 50000: {"loop"},
	} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%d/%s", rate, mode), func(t *testing.T) { exact(t, url, rate, mode) })
		}
	}
}

// exact compares takt with Go's timers, which run after takt, and with plain sleeps, which run
// beside takt.
func exact(t *testing.T, url string, rate int, mode string) {
	clocktest.Wants(t, func(s *clocktest.Sleepers) (faults []string) {
		r := paced(t, url, rate, mode)
		if r.Counts.OK != r.Counts.Scheduled {
			faults = append(faults, fmt.Sprintf("counts %+v, errors %+v", r.Counts, r.Errors))
		}
		floor := hist.Micros(s.Late())
		lag, achieved := r.Latency["schedule_lag"], r.Rate.Achieved / *r.Rate.Intended
		p50, p99 := goTimers(rate)
		t.Logf("%.3f %% of the rate, schedule lag p50/p99 %.0f/%.0f µs, of Go's timers %.0f/%.0f µs, of plain sleeps %.0f µs", 100*achieved, lag.P50, lag.P99, p50, p99, floor)
		if achieved < 0.999 {
			faults = append(faults, "not all of the rate was achieved")
		}
		if lag.P50 > p50/8 {
			faults = append(faults, "the median lag is above 1/8 of a Go timer's")
		}
		if lag.P99 > max(p99/2, 2*floor) {
			faults = append(faults, "the p99 of the lag is above 1/2 of a Go timer's and above twice that of plain sleeps")
		}
		return faults
	})
}

// goTimers measures how late a pacer with Go's timers is when it does nothing else: median and
// p99, µs. Most load generators in Go use such a pacer.
func goTimers(rate int) (p50, p99 float64) {
	h := hist.New()
	begun := time.Now()
	for n := range rate {
		due := time.Duration(n) * time.Second / time.Duration(rate)
		if wait := due - time.Since(begun); wait > 0 {
			time.Sleep(wait)
		}
		h.Record(time.Since(begun) - due)
	}
	return hist.Micros(h.Quantile(0.5)), hist.Micros(h.Quantile(0.99))
}

// paced runs takt http inside the test process, for 1.5 s after a warm-up of 0.5 s that establishes
// the connections.
func paced(t *testing.T, url string, rate int, mode string) *takt.Report {
	t.Helper()
	o, h := engine.Defaults(), httpdriver.New()
	o.Rate, o.Duration, o.Warmup, o.Engine = engine.PerSecond(float64(rate)), 1500*time.Millisecond, 500*time.Millisecond, mode
	if faults := h.Validate([]string{url}); len(faults) > 0 {
		t.Fatal(faults)
	}
	h.Shape(&o)
	d, err := h.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.Run(context.Background(), engine.Plan{Options: o, Kind: "http", Source: src, Driver: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMemory: at 10k/s takt uses at most 10 % more memory after 60 s than after 20 s. The pool is
// fixed, because a growing pool adds 20 KiB for each connection that a stall of the machine
// requires. Both clients run in parallel, to save a minute.
func TestMemory(t *testing.T) {
	clocktest.Asked(t)
	for _, client := range []string{"own", "net"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			url, _ := startTarget(t)
			cmd := exec.Command(binary(t), "http", "--client", client, "--rate", "10k/s", "-c", "100", "-z", "61", "--progress", "none", "-o", "json=/dev/null", url)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
			early := resident(t, cmd.Process.Pid)
			time.Sleep(40 * time.Second)
			late := resident(t, cmd.Process.Pid)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			t.Logf("client %s: %.1f MiB after 20 s, %.1f MiB after 60 s", client, early, late)
			if late > 1.1*early {
				t.Errorf("the memory grew by %.0f %%", 100*(late/early-1))
			}
		})
	}
}

// resident is the memory of a process in MiB.
func resident(t *testing.T, pid int) (mib float64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if kb := 0.0; strings.HasPrefix(line, "VmRSS:") {
			if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kb); err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
