//go:build real

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	code       int
	seconds    float64
	forecast   string // seconds that takt expected for the pairs of the judgement
	pairs      int    // of the judgement
	bisect     []verify.Culprit
	load       string // load average of the machine at the beginning
	said       string
	regressed  []string
	likelyWord []string // the forecasts after each pair
}

var pairsTake = regexp.MustCompile(`pairs take about (\S+)`)

// trial bisects a history with these arguments.
func (f forty) trial(t *testing.T, load string, args ...string) (o trialOf) {
	t.Helper()
	judgement := filepath.Join(filepath.Dir(f.dir), "j.json")
	average, _ := os.ReadFile("/proc/loadavg")
	o.load, _, _ = strings.Cut(string(average), " ")
	began := time.Now()
	o.code, o.said = verifyGit(t, f.dir, append(append([]string{"--bisect", "--git", "c0..main", "--build", buildServer, "--run", runServer, "-o", "json=" + judgement}, args...), append([]string{"--", "http"}, append(strings.Fields(load), portURL)...)...)...)
	o.seconds = time.Since(began).Seconds()
	if found := pairsTake.FindStringSubmatch(o.said); found != nil {
		o.forecast = found[1]
	}
	for line := range strings.Lines(o.said) {
		if strings.HasPrefix(line, "verify: pair ") {
			o.likelyWord = append(o.likelyWord, strings.TrimSpace(line))
		}
	}
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
// in histories without a change there is nothing to find. TAKT_BISECTS is the number of each.
func TestBisects(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("TAKT_BISECTS"))
	if n == 0 {
		t.Skip("it needs TAKT_BISECTS, the number of bisections of each kind, and half a minute for each")
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
			t.Logf("%s, change %d: %s; exit code %d, %d pairs of base and head expected in %s, all in %.0f s, load %s", one.metric, one.want, said, o.code, o.pairs, o.forecast, o.seconds, o.load)
			if !strings.HasPrefix(said, "right") {
				wrong++
				t.Log(o.said)
			}
		}
	}
	for i := range n {
		f := newForty(t, 100+uint64(i), 0, false)
		o := f.trial(t, load, "--pairs", "auto", "--max-pairs", "12")
		t.Logf("no change: exit code %d, regressed %v, %d pairs, expected in %s, all in %.0f s, load %s", o.code, o.regressed, o.pairs, o.forecast, o.seconds, o.load)
		if o.code == 4 {
			alarms++
			t.Log(o.said)
		}
	}
	f := newForty(t, 200, 8, false)
	o := f.trial(t, "-n 500 -c 1", "--tolerance", "3%", "--pairs", "auto", "--metric", "p50")
	t.Logf("8 %%, change %d: %s; exit code %d, regressed %v, %d pairs, the most expected in %s, all in %.0f s, load %s", f.slow, o.found(f, t, "p50", f.slow), o.code, o.regressed, o.pairs, o.forecast, o.seconds, o.load)
	t.Log(strings.Join(o.likelyWord, "\n"))
	if wrong > max(1, n/5) || alarms > max(1, n/5) {
		t.Errorf("%d of %d bisections found nothing or the wrong commit; %d of %d judgements without a change were false alarms", wrong, 2*n, alarms, n)
	}
}
