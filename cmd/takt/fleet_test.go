package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// freeAddress is an address that nobody listens on.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// process is a takt that runs.
type process struct {
	*exec.Cmd
	said *bytes.Buffer
}

// start starts takt in a folder. The end of the test ends it.
func start(t *testing.T, dir string, args ...string) *process {
	p := &process{exec.Command("takt", args...), new(bytes.Buffer)}
	p.Dir, p.Env = dir, append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_STATE_HOME="+dir)
	p.Stderr = p.said
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() }) // for a test that failed
	return p
}

// code waits for the process and returns its exit code; -1: a signal ended it.
func (p *process) code() int {
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// fleetRun is a fleet of processes that load a target.
type fleetRun struct {
	server   *target.Server
	gatherer *process
	shards   []*process
	report   string
	exported string // file of --export
}

func startFleet(t *testing.T, n int, duration string, flags ...string) *fleetRun {
	dir := t.TempDir()
	f := &fleetRun{server: targettest.Serve(t, target.Options{}), report: filepath.Join(dir, "whole.json"), exported: filepath.Join(dir, "takt.prom")}
	address := freeAddress(t)
	args := append([]string{"fleet", "--shards", fmt.Sprint(n), "--listen", address}, flags...)
	f.gatherer = start(t, dir, append(args, "--", "http", "--rate", "800/s", "-z", duration, "--no-store", "-o", "json="+f.report, "--export", "openmetrics="+f.exported, f.server.URL())...)
	for range n {
		f.shards = append(f.shards, start(t, dir, "shard", "--fleet", address))
	}
	return f
}

// whole is the report.
func (f *fleetRun) whole(t *testing.T) *takt.Report {
	text, err := os.ReadFile(f.report)
	var r takt.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, f.gatherer.said)
	}
	return &r
}

// untilLoad waits until the target has had some requests.
func (f *fleetRun) untilLoad(t *testing.T) {
	for begin := time.Now(); f.server.Truth().Counts.Requests < 100; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 4*patience {
			t.Fatalf("no load\n%s", f.gatherer.said)
		}
	}
}

// Eight processes send one schedule.
func TestFleet(t *testing.T) {
	racetest.Skip(t, "the processes are not built with the race detector")
	f := startFleet(t, 8, "2s")
	if code := f.gatherer.code(); code != core.ExitOK {
		t.Fatalf("exit code %d\n%s", code, f.gatherer.said)
	}
	for _, s := range f.shards {
		if code := s.code(); code != core.ExitOK {
			t.Errorf("a shard ended with exit code %d\n%s", code, s.said)
		}
	}
	r := f.whole(t)
	if n := f.server.Truth().Counts.Requests; n != 1600 || r.Counts.OK != 1600 || r.Latency[takt.LatencyResponse].Count != 1600 || *r.Rate.Intended != 800 {
		t.Errorf("the target had %d requests, the report has %+v at %v/s", n, r.Counts, *r.Rate.Intended)
	}
	if parts, _ := r.Extra["parts"].([]any); len(parts) != 8 {
		t.Errorf("%d parts", len(parts))
	}
	if command := strings.Join(r.Command, " "); !strings.HasPrefix(command, "takt fleet --shards 8 -- http --rate 800/s ") {
		t.Errorf("the command is %s", command)
	}
	// The gatherer exports the whole, and the shards nothing.
	text, err := os.ReadFile(f.exported)
	if want := `takt_operations_total{run="` + r.ID + `",outcome="ok"} 1600` + "\n"; err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "shard=") || len(r.Exports) != 1 || r.Exports[0].Lost > 0 {
		t.Errorf("%v, %+v, exported:\n%s", err, r.Exports, text)
	}
}

// A shard whose file has another content is refused, with the name of the file.
func TestFleetOfTwoBodies(t *testing.T) {
	racetest.Skip(t, "the processes are not built with the race detector")
	address, server := freeAddress(t), targettest.Serve(t, target.Options{})
	here, there := t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{here: "a", there: "bb"} {
		if err := os.WriteFile(filepath.Join(dir, "body.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gatherer := start(t, here, "fleet", "--shards", "1", "--listen", address, "--", "http", "-D", "body.json", "-n", "10", "--rate", "100/s", "--no-store", server.URL())
	start(t, there, "shard", "--fleet", address)
	if code := gatherer.code(); code != core.ExitFailed || !strings.Contains(gatherer.said.String(), "body_bytes is 2 there, not 1; look at the TAKT_… variables and the content of body.json of its host") {
		t.Errorf("exit code %d\n%s", code, gatherer.said)
	}
}

// A shard reads what its gatherer names only in its own folder, and what its own environment names.
func TestShardReadsItsFolder(t *testing.T) {
	racetest.Skip(t, "the processes are not built with the race detector")
	server, dir, outside := targettest.Serve(t, target.Options{}), t.TempDir(), filepath.Join(t.TempDir(), "token")
	err := errors.Join(os.WriteFile(outside, []byte("tiger"), 0o600), os.Mkdir(filepath.Join(dir, "..data"), 0o700),
		os.WriteFile(filepath.Join(dir, "..data", "body"), []byte("x"), 0o600), os.Symlink("..data/body", filepath.Join(dir, "body")))
	if err != nil {
		t.Fatal(err)
	}
	run := func(flag, text string) (code int, said string) {
		address := freeAddress(t)
		gatherer := start(t, dir, "fleet", "--shards", "1", "--listen", address, "--", "http", flag, text, "-n", "5", "--rate", "100/s", "--no-store", server.URL())
		start(t, dir, "shard", "--fleet", address)
		return gatherer.code(), gatherer.said.String()
	}
	for _, c := range [][2]string{{"-D", outside}, {"-H", `X: {{file "` + outside + `"}}`}} {
		if code, said := run(c[0], c[1]); code != core.ExitUsage || !strings.Contains(said, outside+": a shard reads only files in the folder in which it was started") {
			t.Errorf("%q: exit code %d\n%s", c, code, said)
		}
	}
	if n := server.Truth().Counts.Requests; n > 0 {
		t.Errorf("%d requests with a file of the shard's user", n)
	}
	t.Setenv("TAKT_BEARER_FILE", outside) // the gatherer's name of it goes to the shard
	if code, said := run("-D", filepath.Join(dir, "body")); code != core.ExitOK || server.Truth().Counts.Requests != 5 {
		t.Errorf("exit code %d, %d requests\n%s", code, server.Truth().Counts.Requests, said)
	}
}

// Only the shards ask the target which kind of method it has: columns of the gatherer are those of what it told them.
func TestFleetLearns(t *testing.T) {
	for method, streams := range map[string]bool{"Unary": false, "ServerStream": true} {
		dir, address, server := t.TempDir(), freeAddress(t), targettest.Serve(t, target.Options{GRPC: true})
		url := strings.TrimPrefix(server.URL(), "http://") + "/takt.Target/" + method
		gatherer := start(t, dir, "fleet", "--shards", "2", "--listen", address, "--", "grpc", "--rate", "100/s", "-z", "1s", "--no-store", "-o", "csv=seconds", "-o", "hlog=times", url)
		for range 2 {
			start(t, dir, "shard", "--fleet", address)
		}
		if code := gatherer.code(); code != core.ExitOK {
			t.Fatalf("exit code %d: %s", code, gatherer.said)
		}
		for name, column := range map[string]string{"seconds": "first_part_due_p99_us", "times": "Tag=first_part_due"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || len(text) == 0 || strings.Contains(string(text), column) != streams {
				t.Errorf("%s: %v, %s:\n%.500s", method, err, name, text)
			}
		}
	}
}

// The runs of --repeat belong together, as they do without a fleet.
func TestFleetRepeats(t *testing.T) {
	racetest.Skip(t, "the processes are not built with the race detector")
	address, server, dir := freeAddress(t), targettest.Serve(t, target.Options{}), t.TempDir()
	gatherer := start(t, dir, "fleet", "--shards", "1", "--listen", address, "--", "http", "-n", "10", "--rate", "100/s", "--repeat", "2", "-o", "json="+filepath.Join(dir, "run.json"), "--no-store", server.URL())
	start(t, dir, "shard", "--fleet", address)
	if code := gatherer.code(); code != core.ExitOK {
		t.Fatalf("exit code %d\n%s", code, gatherer.said)
	}
	groups := map[string]int{}
	paths, _ := filepath.Glob(filepath.Join(dir, "run*.json")) // the pattern is well-formed
	for _, path := range paths {
		groups[(&fleetRun{report: path, gatherer: gatherer}).whole(t).Schedule.RunGroup]++
	}
	if len(groups) != 1 || groups[""] > 0 || len(paths) != 2 {
		t.Errorf("%d reports with the run groups %v", len(paths), groups)
	}
}

// A shard that is killed, or told to end, ends the run of all.
func TestFleetLosesAShard(t *testing.T) {
	racetest.Skip(t, "the processes are not built with the race detector")
	for name, c := range map[string]struct {
		signal  os.Signal
		shard   int // exit code
		warning takt.WarningCode
		said    string
	}{
		"KILL": {os.Kill, -1, "shards_missing", "was lost: its process ended"},
		"INT":  {os.Interrupt, core.ExitSignal + 2, "shards_cut", "was lost: it was stopped by SIGINT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, 3, "60s")
			f.untilLoad(t)
			if err := f.shards[1].Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if code := f.gatherer.code(); code != core.ExitFailed || !strings.Contains(f.gatherer.said.String(), c.said) {
				t.Errorf("exit code %d\n%s", code, f.gatherer.said)
			}
			for i, want := range []int{core.ExitOK, c.shard, core.ExitOK} {
				if code := f.shards[i].code(); code != want {
					t.Errorf("shard %d: exit code %d, want %d\n%s", i, code, want, f.shards[i].said)
				}
			}
			if r := f.whole(t); r.Verdict != takt.Invalid || !r.Warned(c.warning) || r.Counts.Scheduled == 0 {
				t.Errorf("the report is %s with %v", r.Verdict, r.Warnings)
			}
		})
	}
}

// A gatherer that is killed leaves a journal of the whole, from which the next command makes an invalid
// report.
func TestFleetLosesItsGatherer(t *testing.T) {
	racetest.Skip(t, "the processes are not built with the race detector")
	dir, address, server := t.TempDir(), freeAddress(t), targettest.Serve(t, target.Options{})
	live := filepath.Join(dir, "live")
	gatherer := start(t, dir, "fleet", "--shards", "2", "--listen", address, "--", "http", "--rate", "400/s", "-z", "60s", "-o", "ndjson="+live, server.URL())
	for range 2 {
		start(t, dir, "shard", "--fleet", address)
	}
	seconds := func() int {
		text, _ := os.ReadFile(live) // not there yet
		return bytes.Count(text, []byte("\n"))
	}
	for begin := time.Now(); seconds() < 3; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 4*patience {
			t.Fatalf("no seconds\n%s", gatherer.said)
		}
	}
	if err := gatherer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gatherer.code()
	journals, err := filepath.Glob(filepath.Join(dir, "takt", "spool", "*.journal"))
	if err != nil || len(journals) != 1 {
		t.Fatal(journals, err)
	}
	show := exec.Command("takt", "show", "-o", "json", strings.TrimSuffix(filepath.Base(journals[0]), ".journal"))
	show.Env = gatherer.Env
	text, err := show.Output()
	var r takt.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if r.Verdict != takt.Invalid || !r.Warned("recovered") || !r.Warned("shards_missing") || len(r.Intervals) < 2 {
		t.Errorf("%s, %d intervals, with %v", r.Verdict, len(r.Intervals), r.Warnings)
	}
	if l := r.Latency[takt.LatencyResponse]; l.Count == 0 || l.Count != r.Counts.OK {
		t.Errorf("%d response times of %+v", l.Count, r.Counts)
	}
}

// A thousand shards whose minutes are made up: the gatherer's report is that of takt merge, and its
// memory does not depend on how many shards there are. make test-real has the thousand, because shards give
// up a gatherer that gets no core for five seconds; make test has a hundred. TAKT_FLEET_SECONDS=600 makes
// ten minutes of it. They have a token: without one, each of a thousand would look for the user of its
// gatherer among the sockets of all.
func TestFleetOfAThousand(t *testing.T) {
	racetest.Skip(t, "it is about memory")
	n, seconds := 100, 6
	if os.Getenv("TAKT_TIMING") != "" {
		n, seconds = 1000, 60
	}
	if text := os.Getenv("TAKT_FLEET_SECONDS"); text != "" {
		var err error
		if seconds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	minutes := make([]*takt.Report, 16)
	for i := range minutes {
		minutes[i] = madeUp(uint64(i), n, seconds)
	}
	dir, address, token := t.TempDir(), freeAddress(t), fleet.NewToken()
	secret := filepath.Join(dir, "token")
	if err := os.WriteFile(secret, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "whole.json")
	g := start(t, dir, "fleet", "--shards", fmt.Sprint(n), "--listen", address, "--fleet-token-file", secret, "--", "http", "--rate", fmt.Sprintf("%d/s", 20*n), "-z", fmt.Sprintf("%ds", seconds), "--no-store", "--progress", "none", "-o", "json="+report, "http://127.0.0.1:1/")
	reports := make([]*takt.Report, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			m, err := fleet.Dial(t.Context(), fleet.Join{Address: address, Token: token, Patience: time.Minute, Hello: fleet.Hello{Version: core.Version, Host: "made up"}})
			if err != nil {
				t.Error(err)
				return
			}
			defer m.Close()
			k := 0
			fmt.Sscanf(m.Shard, "%d/", &k)
			reports[k-1], err = made(m, k, n, minutes[k%len(minutes)])
			if err != nil {
				t.Errorf("shard %d: %v", k, err)
				return
			}
			_, _ = m.Next(t.Context()) // the end
		})
	}
	most := make(chan int64)
	go func() { most <- peak(g.Process.Pid) }()
	all.Wait()
	if t.Failed() {
		_ = g.Process.Kill() // it would wait for the shards that are missing
	}
	rss := <-most
	if t.Failed() {
		t.Fatalf("%s", g.said)
	}
	if code := g.code(); code != core.ExitOK && code != core.ExitFailed {
		t.Fatalf("exit code %d\n%s", code, g.said)
	}
	t.Logf("the gatherer had %d MiB at most and used %v of CPU", rss>>20, g.ProcessState.UserTime()+g.ProcessState.SystemTime())
	if rss > 300<<20 {
		t.Errorf("the gatherer needed %d MiB", rss>>20)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v\n%s", err, g.said)
	}
	var whole takt.Report
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	merged, err := merge.Reports(reports, merge.Options{ID: whole.ID})
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]any{
		"latency": {whole.Latency, merged.Latency}, "intervals": {whole.Intervals, merged.Intervals}, "counts": {whole.Counts, merged.Counts},
		"rate": {whole.Rate, merged.Rate}, "errors": {whole.Errors, merged.Errors}, "warnings": {whole.Warnings, merged.Warnings}, "verdict": {whole.Verdict, merged.Verdict},
	} {
		a, _ := json.Marshal(pair[0])
		b, _ := json.Marshal(pair[1])
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the gatherer has\n%.300s\nmerge has\n%.300s", name, a, b)
		}
	}
	if whole.Counts.OK != uint64(20*n*seconds) {
		t.Errorf("%+v", whole.Counts)
	}
}

// peak is the most memory that a process used, in bytes, as long as it ran.
func peak(pid int) (most int64) {
	for {
		p, ok := proc.Of(pid)
		if !ok {
			return most
		}
		most = max(most, p.MaxRSS)
		time.Sleep(20 * time.Millisecond)
	}
}

// made makes a run of made-up seconds, and delivers its report.
func made(m *fleet.Member, k, n int, minutes *takt.Report) (*takt.Report, error) {
	r, err := m.Next(context.Background())
	if err != nil {
		return nil, err
	}
	at, err := r.Meet(r.Context, fleet.Ready{Head: live.Head{End: time.Duration(minutes.DurationS) * time.Second}})
	if late := (*fleet.LateError)(nil); err != nil && !errors.As(err, &late) { // a thousand in one process are late on a busy machine
		return nil, err
	}
	time.Sleep(time.Until(at))
	report := *minutes
	report.ID, report.Schedule.Shard = fmt.Sprintf("01MADEUP%018d", k), fmt.Sprintf("%d/%d", k, n)
	report.Variables = map[string]any{}
	for name, text := range r.Asked {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err == nil && name != "seed" { // warmup and drain are not JSON
			report.Variables[name] = v
		}
	}
	for _, word := range r.Words {
		if group, found := strings.CutPrefix(word, "--run-group="); found {
			report.Schedule.RunGroup = group
		}
	}
	for _, iv := range report.Intervals[:5] { // five times as fast as real ones
		r.Second(live.Snapshot{Interval: iv})
		time.Sleep(200 * time.Millisecond)
	}
	// Real shards write their reports on machines of their own. Here all at once would need the
	// time in which they must show that they live.
	time.Sleep(time.Duration(k*len(report.Intervals)) * 30 * time.Microsecond)
	return &report, r.Deliver(&report, "")
}

// madeUp is the report of one of n shards, with 20 operations a second.
func madeUp(seed uint64, n, seconds int) *takt.Report {
	const perSecond = 20
	rnd := rand.New(rand.NewPCG(seed, 1))
	all, second := hist.New(), hist.New()
	rate := float64(perSecond)
	r := &takt.Report{
		SchemaVersion: takt.SchemaVersion, Tool: takt.Tool{Name: "takt", Version: core.Version}, Kind: "http",
		Labels: map[string]string{}, DurationS: float64(seconds), IntervalS: 1,
		Schedule: takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: rate * float64(n), Seed: 1},
		Rate:     takt.Rate{Intended: &rate, Achieved: rate}, Latency: map[string]takt.Latency{}, Status: map[string]uint64{},
		Errors: []takt.ErrorClass{}, Warnings: []takt.Warning{}, Verdict: takt.Valid, Extra: map[string]any{"bytes_a_request": float64(seed)},
		Generator: takt.Generator{Engine: "loop", Cores: 2, HostClass: "made up"},
	}
	for s := range seconds {
		second.Reset()
		for range perSecond {
			d := time.Millisecond + time.Duration(rnd.ExpFloat64()*1e6)
			second.Record(d)
			all.Record(d)
		}
		l := second.Summary()
		r.Intervals = append(r.Intervals, takt.Interval{
			T: float64(s + 1), Scheduled: perSecond, OK: perSecond, InFlightMax: 2, HDR: l.HDR, ServiceHDR: l.HDR,
			ResponseP50: l.P50, ResponseP99: l.P99, ResponseMax: l.Max,
		})
	}
	total := uint64(perSecond * seconds)
	r.Counts, r.Status["200"] = takt.Counts{Scheduled: total, Sent: total, OK: total}, total
	for _, name := range []string{takt.LatencyResponse, takt.LatencyService, takt.LatencySendDelay} {
		r.Latency[name] = all.Summary()
	}
	second.Reset()
	second.RecordN(10*time.Microsecond, total)
	r.Latency[takt.LatencyScheduleLag] = second.Summary()
	return r
}
