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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/target/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// A run that is killed at any instant is recovered: every second that was in its journal
// by then, with the figures that it showed while it went. TAKT_SOAK=N kills N runs.
func TestKilled(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "exp(2ms)", ErrorRate: "1%"})
	var served sync.WaitGroup
	atOnce := make(chan struct{}, 4)
	var mu sync.Mutex
	var over, shown = map[int]int{}, map[int]int{} // runs by how many seconds were so at the kill and are not recovered
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
	t.Logf("seconds at the kill that are not recovered: of how many runs so many were shown: %v; were over by the clock: %v", shown, over)
}

// killed is one run, and what was known of it when it was killed.
type killed struct {
	t     *testing.T
	home  string
	known int       // seconds in its journal
	at    time.Time // of the kill

	over, shown int // seconds that are not recovered
}

func (k *killed) command(args ...string) *exec.Cmd {
	cmd := exec.Command("takt", args...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+k.home, "XDG_STATE_HOME="+k.home)
	return cmd
}

func (k *killed) live() string { return filepath.Join(k.home, "live.ndjson") }

// run starts takt and kills it up to two seconds after its first second was written.
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
		k.t.Errorf("takt said: %s", &said)
	}
}

// seconds counts the whole records behind the head of the journal.
func (k *killed) seconds() (n int) {
	list, err := filepath.Glob(filepath.Join(k.home, "takt", "spool", "*.journal"))
	if err != nil || len(list) == 0 {
		return 0
	}
	text, _ := os.ReadFile(list[0]) // not there any more: none
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

// recovered is the report that the next takt finds.
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

// check holds the report against what the run showed while it went.
func (k *killed) check(r *takt.Report) {
	text, err := os.ReadFile(k.live())
	if err != nil {
		k.t.Error(err)
	}
	var shown []takt.Interval
	for line := range bytes.Lines(text) {
		var l struct{ Interval *takt.Interval }
		if json.Unmarshal(line, &l) == nil && l.Interval != nil { // the last line may be torn
			shown = append(shown, *l.Interval)
		}
	}
	n := len(r.Intervals)
	k.over, k.shown = int(k.at.Sub(r.StartedAt)/time.Second)-n, len(shown)-n
	if n < k.known || n > len(shown) || n == 0 {
		k.t.Errorf("%d seconds recovered, %d were in the journal and %d shown", n, k.known, len(shown))
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
		if i < n-1 && r.Intervals[i] != iv { // the last has what was open, too
			k.t.Errorf("second %d: %+v, was shown as %+v", i+1, r.Intervals[i], iv)
		}
	}
	last, lived := r.Intervals[n-1], shown[n-1]
	if sum != want || last.OK != lived.OK || last.Failed != lived.Failed || last.ServiceHDR != lived.ServiceHDR {
		k.t.Errorf("%+v, want %+v; the last second is %+v, and was shown as %+v", sum, want, last, lived)
	}
	if !r.Warned("recovered") || r.ID == "" || r.Variables["path"] != "/" {
		k.t.Errorf("%+v", r)
	}
}
