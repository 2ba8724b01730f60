//go:build real

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/verify"
)

// busyProgram is a server that computes each answer for 1 to 2 ms and has 30 MiB of memory.
const busyProgram = `package main

import (
	"crypto/sha256"
	"net/http"
	"os"
)

const (
	rounds = 20000
	memory = 30 << 20
)

func main() {
	kept := make([]byte, memory)
	for i := 0; i < len(kept); i += 4096 {
		kept[i] = 1
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.Sum256(kept[:32])
		for range rounds {
			h = sha256.Sum256(h[:])
		}
		w.Write(h[:])
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
`

// fortyCommits is the length of the histories.
const fortyCommits = 40

// forty is a history of 40 commits after base: one computes longer, one has more memory, two do not build.
type forty struct {
	dir         string
	slow, heavy int // numbers of the commits; 0: there is none
}

// newForty makes a history from a seed. percent: how much longer the slow commit computes; heavy: 30 % more
// memory in another one.
func newForty(t *testing.T, seed uint64, percent int, heavy bool) forty {
	t.Helper()
	places := rand.New(rand.NewPCG(seed, 27)).Perm(fortyCommits - 2)
	f := forty{dir: filepath.Join(t.TempDir(), "server")}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.dir, "main.go"), busyProgram)
	write(t, filepath.Join(f.dir, "go.mod"), "module example.com/server\n\ngo 1.22\n")
	script := []string{"git init -q -b main .", "git add -A", "git commit -qm start", "git tag c0"}
	for i := range fortyCommits {
		script = append(script, fmt.Sprintf("echo '// %d' >>main.go; rm -f broken.go", i+1))
		switch {
		case percent > 0 && i == places[0]:
			f.slow = i + 1
			script = append(script, fmt.Sprintf("sed -i 's/rounds = 20000/rounds = %d/' main.go", 200*(100+percent)))
		case heavy && i == places[1]:
			f.heavy = i + 1
			script = append(script, "sed -i 's/memory = 30/memory = 41/' main.go") // the program itself has 7 MiB
		case i == places[2], i == places[3]:
			script = append(script, "echo x >broken.go")
		}
		script = append(script, "git add -A", fmt.Sprintf("git commit -qm 'change %d'", i+1), fmt.Sprintf("git tag c%d", i+1))
	}
	gitIn(t, f.dir, strings.Join(script, "\n"))
	return f
}

// trialOf is what a bisection found.
type trialOf struct {
	code      int
	said      string
	load      string        // load average of the machine at the beginning
	judged    time.Duration // from the warm-up pair to the judgement of head
	all       time.Duration
	regressed []string
	pairs     int // of the judgement
	builds    int // of the bisection
	bisect    []verify.Culprit
}

// forecasts are the lines in which takt says how much it needs.
func (o trialOf) forecasts() string {
	var list []string
	for line := range strings.Lines(o.said) {
		if strings.Contains(line, " pairs take about ") || strings.Contains(line, ": likely ") || strings.Contains(line, "pairs are needed") && !strings.Contains(line, "at least") {
			list = append(list, "   "+strings.TrimSpace(line))
		}
	}
	return strings.Join(list, "\n")
}

// clocked keeps a text, and when the lines of it came.
type clocked struct {
	text strings.Builder
	at   map[string]time.Time // by words that a line contains
}

func (c *clocked) Write(p []byte) (int, error) {
	for word := range c.at {
		if c.at[word].IsZero() && strings.Contains(string(p), word) {
			c.at[word] = time.Now()
		}
	}
	return c.text.Write(p)
}

const (
	judgeBegins = "a warm-up pair"
	huntBegins  = "bisect: head is worse"
)

// trial bisects a history with these arguments.
func (f forty) trial(t *testing.T, load string, args ...string) (o trialOf) {
	t.Helper()
	judgement := filepath.Join(filepath.Dir(f.dir), "j.json")
	average, _ := os.ReadFile("/proc/loadavg")
	o.load, _, _ = strings.Cut(string(average), " ")
	p := gitCommand(t, f.dir, slices.Concat([]string{"--bisect", "--git", "c0..main", "--build", buildServer, "--run", runServer, "-o", "json=" + judgement}, args, []string{"--", "http"}, strings.Fields(load), []string{portURL})...)
	out := clocked{at: map[string]time.Time{judgeBegins: {}, huntBegins: {}}}
	p.Stdout, p.Stderr = &out, &out
	began := time.Now()
	if err := p.Run(); err != nil && p.ProcessState == nil {
		t.Fatal(err)
	}
	over := time.Now()
	o.code, o.said, o.all = p.ProcessState.ExitCode(), out.text.String(), over.Sub(began)
	if hunt := out.at[huntBegins]; !hunt.IsZero() {
		over = hunt
	}
	o.judged = over.Sub(out.at[judgeBegins])
	o.builds = strings.Count(o.said, "was built in") - 2
	var j struct {
		Comparisons []struct {
			Metrics []struct {
				Metric  string
				Verdict verify.Word
				Pairs   []float64
			}
		}
		Bisect []verify.Culprit
	}
	if _, err := os.Stat(judgement); errors.Is(err, os.ErrNotExist) {
		return o
	}
	readJSON(t, judgement, &j)
	for _, m := range j.Comparisons[0].Metrics {
		o.pairs = len(m.Pairs)
		if m.Verdict == verify.Regressed {
			o.regressed = append(o.regressed, m.Metric)
		}
	}
	o.bisect = j.Bisect
	return o
}

// String is a line of the protocol.
func (o trialOf) String() string {
	return fmt.Sprintf("exit code %d, regressed %v, %d pairs in %.0f s, then %d builds; all in %.0f s, load %s\n%s", o.code, o.regressed, o.pairs, o.judged.Seconds(), o.builds, o.all.Seconds(), o.load, o.forecasts())
}

// found says what the bisection says about a metric: right, wrong, or not found.
func (o trialOf) found(f forty, t *testing.T, metric string, want int) string {
	for _, c := range o.bisect {
		if c.Metric != metric {
			continue
		}
		hash := gitIn(t, f.dir, "git rev-parse c"+strconv.Itoa(want))
		switch last := c.Commits[len(c.Commits)-1]; {
		case !c.Found:
			return fmt.Sprintf("not found after %d pairs", c.Pairs)
		case last.Hash == hash:
			return fmt.Sprintf("right, %.1f %%, %d pairs", 100*c.Chance, c.Pairs)
		default:
			return fmt.Sprintf("WRONG, %.1f %%, %d pairs: %s instead of change %d", 100*c.Chance, c.Pairs, last.Subject, want)
		}
	}
	return "not searched"
}

// Bisections of histories of 40 commits find the commit that is slower, and the one with more memory;
// in histories without a change there is nothing to find. BISECTS is the number of each.
func TestBisects(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("BISECTS"))
	if n == 0 {
		t.Skip("it needs BISECTS, the number of bisections of each kind, and half a minute for each; make soak runs it")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go")
	}
	const load = "-n 200 -c 1"
	wrong, alarms := 0, 0
	for i := range n {
		f := newForty(t, uint64(i), 25, true)
		for _, one := range []struct {
			metric string
			want   int
		}{{"p50", f.slow}, {"max_rss", f.heavy}} {
			o := f.trial(t, load, "--metric", one.metric, "--pairs", "8")
			said := o.found(f, t, one.metric, one.want)
			t.Logf("%s, change %d: %s; %s", one.metric, one.want, said, o)
			if !strings.HasPrefix(said, "right") {
				wrong++
				t.Log(o.said)
			}
		}
	}
	for i := range n {
		f := newForty(t, 50+uint64(i), 25, true)
		o := f.trial(t, load, "--pairs", "8")
		t.Logf("all metrics, changes %d and %d: %s", f.slow, f.heavy, o)
		for _, metric := range o.regressed {
			want := f.slow
			if metric == "max_rss" {
				want = f.heavy
			}
			said := o.found(f, t, metric, want)
			t.Logf("   %s: %s", metric, said)
			if strings.HasPrefix(said, "WRONG") {
				wrong++
				t.Log(o.said)
			}
		}
	}
	for i := range n {
		f := newForty(t, 100+uint64(i), 0, false)
		o := f.trial(t, load, "--pairs", "auto", "--max-pairs", "12")
		t.Logf("no change: %s", o)
		if o.code == 4 {
			alarms++
			t.Log(o.said)
		}
	}
	f := newForty(t, 200, 8, false)
	o := f.trial(t, "-n 500 -c 1", "--tolerance", "3%", "--pairs", "auto", "--metric", "p50")
	t.Logf("8 %%, change %d: %s; %s", f.slow, o.found(f, t, "p50", f.slow), o)
	if wrong > max(1, n/5) || alarms > max(1, n/5) {
		t.Errorf("%d of %d bisections found nothing or the wrong commit; %d of %d judgements without a change were false alarms", wrong, 3*n, alarms, n)
	}
}
