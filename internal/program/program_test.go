package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// TestMain makes the test a program for takt, which behaves as the variable says.
func TestMain(m *testing.M) {
	behaviour := os.Getenv("TAKT_TEST_BEHAVIOUR")
	if behaviour == "" || len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	behave(behaviour)
}

// quick is a worker of 1 ms.
type quick struct{}

func (quick) Do(_ context.Context, _ *takt.Op, r *takt.Result) {
	time.Sleep(time.Millisecond)
	r.BytesSent = 3
}
func (quick) Close() error { return nil }

const hello = `{"takt_protocol":1,"version":"x","name":"x"}` + "\n"

// behave is the program.
func behave(behaviour string) {
	ready := func() { fmt.Print(hello, `{"ready":true}`, "\n") }
	hang := func() {
		for {
			time.Sleep(time.Hour)
		}
	}
	switch behaviour {
	case "good", "no driver", "driver fails":
		err := Serve(os.Stdin, os.Stdout, Served{
			Hello: Hello{Version: "x", Name: "x", Flags: []Flag{{Name: "size"}}},
			Set: func(flags []string) error {
				if len(flags) > 0 && flags[0] != "--size=1" {
					return errors.New("bad --size\nand more")
				}
				return nil
			},
			Open: func([]string) (*takt.Driver, error) {
				switch behaviour {
				case "no driver":
					return nil, nil
				case "driver fails":
					return nil, errors.New("the server is closed on Sundays")
				}
				return &takt.Driver{Worker: func(int) (takt.Worker, error) { return quick{}, nil }}, nil
			},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "garbage":
		fmt.Println("Hello, \x1b[31mworld")
		hang()
	case "other JSON":
		fmt.Println(`{"level":"info"}`)
		hang()
	case "silent":
		hang()
	case "another version":
		fmt.Println(`{"takt_protocol":9}`)
	case "reserved":
		fmt.Println(`{"takt_protocol":1,"flags":[{"name":"rate"}]}`)
	case "no report":
		ready()
	case "dies":
		ready()
		panic("invariant")
	case "garbage later":
		ready()
		fmt.Println("a line of a log")
		hang()
	case "unasked":
		ready()
		fmt.Println(`{"counted":{}}`)
		hang()
	case "hangs":
		ready()
		hang()
	case "long line":
		ready()
		for range 3 {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
		hang()
	case "lies":
		ready()
		fmt.Println(`{"report":{"schema_version":1,"id":"01M8FHTXS6EBMVRBBC52GR793S","counts":{"scheduled":7,"ok":9},"schedule":{"profile":"constant"}}}`)
		hang()
	case "another load":
		ready()
		fmt.Println(`{"report":{"schema_version":1,"id":"01M8FHTXS6EBMVRBBC52GR793S","counts":{"scheduled":9,"ok":9},"schedule":{"profile":"constant","rate_per_s":1,"arrivals":"uniform","shard":"1/1"}}}`)
		hang()
	case "forks":
		ready()
		cmd := exec.Command("sleep", "100")
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err == nil {
			_ = os.WriteFile(os.Getenv("TAKT_TEST_PID"), fmt.Append(nil, cmd.Process.Pid), 0o600)
		}
	}
	os.Exit(0)
}

func asked(t *testing.T, behaviour string) (*Program, error) {
	t.Helper()
	t.Setenv("TAKT_TEST_BEHAVIOUR", behaviour)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	limit := 30 * time.Second
	if behaviour == "silent" {
		limit = 300 * time.Millisecond
	}
	silent := 30 * time.Second
	if behaviour == "hangs" {
		silent = time.Second
	}
	return ask(t.Context(), path, limits{limit, silent, 1 << 20})
}

func plan(t *testing.T) engine.Plan {
	o := engine.Defaults()
	o.Rate, o.Requests, o.Connections = engine.MustRate("100/s"), 120, 2
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Options: o, Kind: "bench", Source: src}
}

// A run in a program is like one in takt.
func TestRun(t *testing.T) {
	p, err := asked(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	if faults := p.Check(t.Context(), Load{Flags: []string{"--size=2"}}); len(faults) != 2 || faults[0].Error() != "bad --size" {
		t.Errorf("%v", faults)
	}
	if faults := p.Check(t.Context(), Load{Flags: []string{"--size=1"}}); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	pl := plan(t)
	var done, rows uint64
	var begun, met time.Time
	pl.OnSecond = func(iv takt.Interval, _ []takt.ErrorClass) { done += iv.OK }
	pl.OnSamples = func(_ []string, list []takt.Sample) { rows += uint64(len(list)) }
	pl.OnStart = func(at time.Time) { begun = at }
	pl.Meet = func(context.Context) (time.Time, error) {
		met = time.Now().Add(200 * time.Millisecond)
		return met, nil
	}
	r, err := p.Run(t.Context(), pl, Load{Flags: []string{"--size=1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Counts.OK != 120 || done != 120 || rows != 120 || r.Bytes.Sent != 360 || !begun.Equal(met) {
		t.Errorf("%+v, %d in seconds, %d rows, %+v, started %v, want %v", r.Counts, done, rows, r.Bytes, begun, met)
	}
	if early := met.Sub(r.StartedAt); early > time.Millisecond || early < -time.Millisecond {
		t.Errorf("it started %v from the instant that it was told", early)
	}
}

// The first signal drains, and the report comes.
func TestStop(t *testing.T) {
	p, err := asked(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	pl := plan(t)
	pl.Options.Requests = 1_000_000
	ctx, cancel := context.WithCancel(t.Context())
	pl.OnSecond = func(takt.Interval, []takt.ErrorClass) { cancel() }
	r, err := p.Run(ctx, pl, Load{}, nil)
	if err != nil || r.Counts.OK < 50 || r.Counts.Unfinished > 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// Programs that are none of takt's are named as such, and ended.
func TestStrangers(t *testing.T) {
	for behaviour, want := range map[string]string{
		"garbage":         `is not a benchmark for takt: it said "Hello, \x1b[31mworld", which is not a line of takt's protocol; takt runs programs that call bench.Main`,
		"other JSON":      "said something else than takt had asked for",
		"silent":          "it said nothing for 300ms, and takt ended it",
		"another version": "it speaks version 9 of the protocol, and this takt version 1; build both with the same version of takt",
		"reserved":        ": the program has a flag --rate, which takt has, too; give it another name",
		"nothing":         "is not a benchmark for takt: the program ended without an answer (exit status 0); takt runs programs that call bench.Main, and not bench.BenchmarkCmd",
	} {
		t.Run(behaviour, func(t *testing.T) {
			if _, err := asked(t, behaviour); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "there is no program",
		t.TempDir():                        "is a folder",
	} {
		if _, err := Ask(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A program that greets and then breaks its word has no report, and is named.
func TestBrokenPrograms(t *testing.T) {
	for behaviour, want := range map[string]string{
		"no driver":     "the program has no driver",
		"driver fails":  "the server is closed on Sundays",
		"no report":     "ended before its report (exit status 0)",
		"dies":          "its last words: panic: invariant",
		"garbage later": `it said "a line of a log", which is not a line of takt's protocol`,
		"unasked":       "said something else than takt had asked for",
		"hangs":         "hangs: it said nothing for 1s",
		"long line":     "it said a line of more than 1 MB",
		"lies":          "cannot be true: of 7 operations 9 were ok",
		"another load":  "is about another load: constant at 1/s, shard 1/1, and takt asked for constant at 100/s",
	} {
		t.Run(behaviour, func(t *testing.T) {
			p, err := asked(t, behaviour)
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			r, err := p.Run(t.Context(), plan(t), Load{}, &said)
			if r != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %v\nwant %s", r, err, want)
			}
			if behaviour == "dies" && !strings.Contains(said.String(), "invariant") {
				t.Errorf("standard error is %q", said.String())
			}
		})
	}
}

// A process that the program started ends with it, although it has the program's standard output.
func TestForks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("groups of processes are ended on Linux")
	}
	file := filepath.Join(t.TempDir(), "pid")
	t.Setenv("TAKT_TEST_PID", file)
	p, err := asked(t, "forks")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), plan(t), Load{}, nil); err == nil || !strings.Contains(err.Error(), "ended before its report") {
		t.Error(err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + string(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the process %s lives on", pid)
		}
	}
}

// Words and options say the same.
func TestWords(t *testing.T) {
	for _, line := range [][]string{
		{"--rate=500/s", "--duration=10s", "--warmup=1s", "--arrivals=poisson", "--seed=9", "--drain=3s"},
		{"--stages=30s@100/s,1m@100/s..2k/s", "--connections=3", "--overflow=drop", "--max-in-flight=7"},
		{"--rate=100/s..2k/s", "--duration=5s", "--shard=2/3", "--arrivals=gamma:3"},
		{"--rate=5/s", "--duration=5s", "--arrivals=like:a b.log"},
		{"--rate=max", "--requests=50", "--connections=4"},
		nil,
	} {
		o, err := options(line)
		if err != nil {
			t.Fatal(err)
		}
		again, err := options(words(o))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(o) {
			t.Errorf("%q became %q: %v\n%+v\n%+v", line, words(o), err, again, o)
		}
	}
}

// The last words are the line of a crash, in whatever parts it comes, or else whole lines.
func TestLastWords(t *testing.T) {
	stack := strings.Repeat("main.f(0x1)\n\t/main.go:1\n", 40)
	for _, c := range []struct {
		said []string
		want string
	}{
		{[]string{"a log\npan", "ic: broken\n\ngoroutine 1 [running]:\n" + stack}, "panic: broken"},
		{[]string{"fatal error: all goroutines are asleep - deadlock!\n" + stack}, "fatal error: all goroutines are asleep - deadlock!"},
		{[]string{strings.Repeat("x", 400) + "\nno panic: here\nthe end\n"}, "no panic: here the end"},
		{[]string{"one line"}, "one line"},
		{[]string{"panic: " + strings.Repeat("y", 500)}, "panic: " + strings.Repeat("y", 393)},
	} {
		var s said
		for _, part := range c.said {
			_, _ = s.Write([]byte(part))
		}
		if got := s.last(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The name of a flag that takt needs is refused with the reason.
func TestClash(t *testing.T) {
	for name, want := range map[string]string{
		"c":        "the program has a flag -c, and -c is takt's --connections; give it a name of two letters or more",
		"o":        "the program has a flag -o, and -o is takt's --output; give it a name of two letters or more",
		"x":        "the program has a flag -x, and takt keeps names of one letter for itself; give it a name of two letters or more",
		"duration": "the program has a flag --duration, which takt has, too; give it another name",
		"store":    "the program has a flag --store, which takt has, too; give it another name",
	} {
		if err := Clash(name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := Clash("wait"); err != nil {
		t.Error(err)
	}
}
