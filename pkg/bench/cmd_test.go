package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/stop"
	"github.com/taktload/takt/pkg/takt"
)

func flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

func TestFlags(t *testing.T) {
	defaults := Benchmark{Concurrency: 10, Throughput: 10000, Duration: 20 * time.Second, Drain: 20 * time.Second}
	with := func(change func(b *Benchmark)) Benchmark {
		b := defaults
		change(&b)
		return b
	}
	for args, want := range map[string]Benchmark{
		"": defaults,
		"--concurrency=20 --throughput=500.5 --duration=1m30s": with(func(b *Benchmark) { b.Concurrency, b.Throughput, b.Duration = 20, 500.5, 90*time.Second }),
		"-concurrency 20 -throughput 1e4 -duration 5":          with(func(b *Benchmark) { b.Concurrency, b.Duration = 20, 5*time.Second }),
		"--throughput 2k/s --warmup 0.5 --drain 3s":            with(func(b *Benchmark) { b.Throughput, b.Warmup, b.Drain = 2000, 500*ms, 3*time.Second }),
		"--throughput max --drain 0":                           with(func(b *Benchmark) { b.Throughput, b.Drain = math.Inf(1), -1 }),
		"--throughput 0":                                       with(func(b *Benchmark) { b.Throughput = 0 }),
	} {
		fs := flagSet()
		s := define(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil || !reflect.DeepEqual(s.Benchmark, want) {
			t.Errorf("%s: %+v (%v)\nwant %+v", args, s.Benchmark, err, want)
		}
	}
	for _, args := range []string{
		"--concurrency=many", "--concurrency=1.5", "--throughput=fast", "--duration=-1s", "--duration=", "--warmup=x", "--drain=-1s",
		"--output=xml=f", "--output=samples=f", "--output=csv", "--unknown",
	} {
		fs := flagSet()
		define(fs)
		if err := fs.Parse([]string{args}); err == nil {
			t.Errorf("%s was understood", args)
		}
	}
}

// The program's flags stand beside, defining twice is harmless, and of the flags
// that wrk3 does not have the program's own win.
func TestFlagsBesideTheProgramsOwn(t *testing.T) {
	fs := flagSet()
	output := fs.String("output", "nowhere", "of the program")
	first := define(fs)
	url := fs.String("url", "", "of the program")
	if second := define(fs); second != first {
		t.Error("the second call made other settings")
	}
	if err := fs.Parse(strings.Fields("--url http://x --throughput 7 --output there --concurrency 3")); err != nil {
		t.Fatal(err)
	}
	if *url != "http://x" || *output != "there" || first.Throughput != 7 || first.Concurrency != 3 || len(first.outputs) != 0 {
		t.Errorf("%q %q %+v", *url, *output, first)
	}
	if got := strings.Join(given(fs), " "); got != "--concurrency=3 --throughput=7" {
		t.Errorf("the report would name %s; the program's flags may hold secrets", got)
	}
	for name, want := range map[string]any{"concurrency": 3, "throughput": 7.0, "duration": 20 * time.Second, "drain": 20 * time.Second} {
		if g, ok := fs.Lookup(name).Value.(flag.Getter); !ok || g.Get() != want {
			t.Errorf("--%s: Get gives %v, want %v", name, g, want)
		}
	}
}

func TestHelp(t *testing.T) {
	fs, b := flagSet(), &bytes.Buffer{}
	fs.SetOutput(b)
	define(fs)
	fs.PrintDefaults()
	for _, want := range []string{"-concurrency N\n", "(default 10)", "-throughput N\n", "(default 10000)", "-duration TIME\n", "(default 20s)", "-output FORMAT=PATH\n", "text, json, ndjson, csv, hgrm, quantiles, hlog"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, b)
		}
	}
	if strings.Contains(b.String(), "panic") {
		t.Errorf("package flag could not ask a zero value:\n%s", b)
	}
}

// ran makes a run of 20 ms, as BenchmarkCmd would, and returns what it says.
func ran(t *testing.T, interrupt context.Context, h RequestHandler, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	fs := flagSet()
	var out, errs bytes.Buffer
	c := command{settings: define(fs), name: "prog", stdout: &out, stderr: &errs}
	c.Handler = h
	if err := fs.Parse(append([]string{"--duration=20ms", "--throughput=500"}, args...)); err != nil {
		t.Fatal(err)
	}
	c.given = given(fs)
	code = c.run(interrupt, nil)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	bad := RequestFunc(func(int) error { return errors.New("no luck") })
	stopped := func(number int) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&stop.SignalError{Number: number})
		return ctx
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		handler RequestHandler
		args    string
		code    int
		stderr  string
	}{
		{"good", t.Context(), takes(0), "", 0, ""},
		{"not one succeeded", t.Context(), bad, "", 1, "prog: not one request succeeded: no luck\n"},
		{"none ended", t.Context(), ContextFunc(func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }), "--drain=0", 1, "prog: not one request succeeded: none ended\n"},
		{"usage, every fault", t.Context(), takes(0), "--concurrency=0 --throughput=-1", 2, "prog: concurrency is 0; give at least 1\nprog: throughput is -1; give requests per second above 0, or 0 for as fast as possible\n"},
		{"two outputs for stdout", t.Context(), takes(0), "--output json --output text", 2, "prog: two outputs go to stdout; give each a path of its own, as in json=report.json\n"},
		{"two outputs for one file", t.Context(), takes(0), "--output json=" + dir + "/f --output text=" + dir + "/./f", 2, "prog: two outputs go to " + dir + "/./f; give each a path of its own, as in json=report.json\n"},
		{"no such folder", t.Context(), takes(0), "--output json=" + dir + "/no/r.json", 2, "prog: cannot write the report: open " + dir + "/no/r.json: no such file or directory; check --output json=" + dir + "/no/r.json\n"},
		{"SIGINT", stopped(2), bad, "", 130, ""},
		{"SIGTERM", stopped(15), takes(0), "", 143, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := ran(t, c.ctx, c.handler, strings.Fields(c.args)...)
			if code != c.code || stderr != c.stderr {
				t.Errorf("exit code %d, %q\nwant      %d, %q", code, stderr, c.code, c.stderr)
			}
		})
	}
}

func TestOutputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	code, stdout, stderr := ran(t, t.Context(), takes(0), "--output", "json="+path, "--output=quantiles", "--warmup=10ms")
	if code != 0 || !strings.HasPrefix(stdout, "Quantile ") || !strings.HasPrefix(stderr, "running benchmark for 20ms after 10ms of warm-up...\n") || !strings.Contains(stderr, "benchmark results:\n") {
		t.Errorf("exit code %d; stdout %q; stderr %q", code, stdout, stderr)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r takt.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if r.Kind != "bench" || r.Counts.OK != 10 || r.WarmupCounts.OK != 5 || !strings.HasPrefix(strings.Join(r.Command, " "), "prog --duration=20ms --output=json=") {
		t.Errorf("%+v", r)
	}
}

// A run that is not made leaves what an earlier one has written.
func TestOutputIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	for _, c := range []struct {
		args string
		code int
		kept bool
	}{
		{"--concurrency=0", 2, true},
		{"--output=text=no/such/folder", 2, true},
		{"", 0, false},
	} {
		old := strings.Repeat("x", 1<<16) // longer than a report
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := ran(t, t.Context(), takes(0), append([]string{"--output=json=" + path}, strings.Fields(c.args)...)...)
		b, err := os.ReadFile(path)
		if code != c.code || err != nil || (string(b) == old) != c.kept || !c.kept && !json.Valid(b) {
			t.Errorf("%q: exit code %d, %s; %v: %d bytes are there", c.args, code, stderr, err, len(b))
		}
	}
}

// Arguments that nobody reads hide the flags behind them.
func TestStray(t *testing.T) {
	for _, c := range []struct {
		args   string
		theirs bool
		want   string // how the fault begins; "": none
	}{
		{"--concurrency=3", false, ""},
		{"500", false, `unexpected argument "500"; `},
		{"url --throughput=500", false, `unexpected argument "url"; `},
		{"url", true, ""},
		{"url -n --mine=3", true, ""},
		{"url --throughput=500", true, `--throughput=500 comes after the argument "url", `},
		{"url -duration 5", true, `-duration comes after `},
	} {
		fs := flagSet()
		fs.Int("mine", 0, "of the program")
		define(fs)
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		err := stray(fs, c.theirs)
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

func TestOutputThatFails(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full to write to")
	}
	code, stdout, stderr := ran(t, t.Context(), takes(0), "--output=json=/dev/full")
	if code != 1 || !strings.Contains(stdout, "total requests:  10\n") || !strings.Contains(stderr, "cannot write the report to /dev/full: ") {
		t.Errorf("exit code %d; stdout %q; stderr %q", code, stdout, stderr)
	}
}
