//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// A run that is killed at any instant is recovered: every second that was in its journal at the
// kill, with the figures that the run had shown live. TAKT_SOAK=N kills N runs.
func TestKilled(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "exp(2ms)", ErrorRate: 0.01})
	var served sync.WaitGroup
	atOnce := make(chan struct{}, 4)
	var mu sync.Mutex
	// Runs by their number of seconds that are not recovered, though over or shown at the kill.
	var over, shown = map[int]int{}, map[int]int{}
	runs := 5
	if n, err := strconv.Atoi(os.Getenv("TAKT_SOAK")); err == nil {
		runs = n
	}
	for i := range runs {
		atOnce <- struct{}{}
		served.Go(func() {
			defer func() { <-atOnce }()
			k := &killed{t: t, home: t.TempDir()}
			k.run(server.URL(), [][]string{{"--rate", "500/s"}, {"--rate", "max", "-c", "2"}, {"--rate", "300/s", "--warmup", "1500ms", "--arrivals", "poisson"}}[i%3]...)
			k.check(k.recovered())
			mu.Lock()
			over[k.over]++
			shown[k.shown]++
			mu.Unlock()
		})
	}
	served.Wait()
	t.Logf("seconds that are not recovered, and the number of runs: shown before the kill %v; over by the clock %v", shown, over)
}

// killed is one run, with what was known about it at the kill.
type killed struct {
	t     *testing.T
	home  string
	known int       // seconds in its journal at the kill
	at    time.Time // of the kill

	over, shown int // seconds that are not recovered
}

func (k *killed) command(args ...string) *exec.Cmd {
	cmd := exec.Command("takt", args...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+k.home, "XDG_STATE_HOME="+k.home)
	return cmd
}

func (k *killed) live() string { return filepath.Join(k.home, "live.ndjson") }

// run starts takt and kills it up to two seconds after takt has written its first second.
func (k *killed) run(url string, flags ...string) {
	cmd := k.command(slices.Concat([]string{"http", "-z", "10m", "--progress", "none", "-o", "ndjson=" + k.live()}, flags, []string{url})...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		k.t.Error(err)
		return
	}
	for begin := time.Now(); k.seconds() == 0 && time.Since(begin) < patience; {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(rand.N(2 * time.Second))
	k.known, k.at = k.seconds(), time.Now()
	if err := cmd.Process.Kill(); err != nil {
		k.t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if said.Len() > 0 {
		k.t.Errorf("takt wrote to stderr: %s", &said)
	}
}

// seconds counts the complete records after the head of the journal.
func (k *killed) seconds() (n int) {
	list, err := filepath.Glob(filepath.Join(k.home, "takt", "spool", "*.journal"))
	if err != nil || len(list) == 0 {
		return 0
	}
	text, _ := os.ReadFile(list[0]) // a journal that was just removed has none
	text = text[min(len(text), len("takt journal\n")):]
	for len(text) >= 8 {
		next := 8 + int(binary.LittleEndian.Uint32(text))
		if len(text) < next {
			break
		}
		n, text = n+1, text[next:]
	}
	return max(0, n-1)
}

// recovered returns the report that the next takt recovers.
func (k *killed) recovered() *takt.Report {
	cmd := k.command("show", "@-1", "-o", "json=-")
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	var r takt.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil {
		err = audit.Check(&r)
	}
	if err != nil || !strings.Contains(said.String(), "recovered from its journal") {
		k.t.Errorf("%v: %s", err, &said)
	}
	return &r
}

// check compares the report with what the run had shown live.
func (k *killed) check(r *takt.Report) {
	text, err := os.ReadFile(k.live())
	if err != nil {
		k.t.Error(err)
	}
	var shown []takt.Interval
	for line := range bytes.Lines(text) {
		var l struct{ Interval *takt.Interval }
		if json.Unmarshal(line, &l) == nil && l.Interval != nil { // the last line may be incomplete
			shown = append(shown, *l.Interval)
		}
	}
	n := len(r.Intervals)
	k.over, k.shown = int(k.at.Sub(r.StartedAt)/time.Second)-n, len(shown)-n
	if n < k.known || n > len(shown) || n == 0 {
		k.t.Errorf("%d seconds recovered, but %d were in the journal and %d were shown", n, k.known, len(shown))
		return
	}
	var sum, want takt.Counts
	add := func(to *takt.Counts, c takt.Counts) {
		to.OK, to.Failed, to.Dropped = to.OK+c.OK, to.Failed+c.Failed, to.Dropped+c.Dropped
	}
	add(&sum, r.Counts)
	add(&sum, r.WarmupCounts)
	for i, iv := range shown[:n] {
		add(&want, takt.Counts{OK: iv.OK, Failed: iv.Failed, Dropped: iv.Dropped})
		if i < n-1 && !reflect.DeepEqual(r.Intervals[i], iv) { // the last interval also has the operations that were open
			k.t.Errorf("second %d: %+v, but it was shown as %+v", i+1, r.Intervals[i], iv)
		}
	}
	last, lived := r.Intervals[n-1], shown[n-1]
	if sum != want || last.OK != lived.OK || last.Failed != lived.Failed || last.ServiceHDR != lived.ServiceHDR {
		k.t.Errorf("%+v, want %+v; the last second is %+v, but it was shown as %+v", sum, want, last, lived)
	}
	if !r.Warned("recovered") || r.ID == "" || r.Variables["path"] != "/" {
		k.t.Errorf("%+v", r)
	}
}
