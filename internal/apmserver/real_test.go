//go:build real

package apmserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// newRealClone is a clone of a repository with the intake server of scripts/intake:
// branch main loses nothing, lossy 20 % of the documents.
func newRealClone(t *testing.T) string {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	shell(t, `../../scripts/intake/clone "$1"`, clone)
	return clone
}

// body is a request of the intake protocol, version 2.
func body(events, spans int) []byte {
	var b bytes.Buffer
	line := json.NewEncoder(&b)
	id := func(n int) string { return fmt.Sprintf("%016x", n+1) }
	type object = map[string]any
	_ = line.Encode(object{"metadata": object{"service": object{"name": "takt-test", "agent": object{"name": "go", "version": "1.0.0"}}}})
	for e := range events {
		trace := strings.Repeat(id(e), 2)
		_ = line.Encode(object{"transaction": object{"id": id(e), "trace_id": trace, "type": "request", "name": "GET /", "duration": 12.5, "span_count": object{"started": spans}}})
		for s := range spans {
			_ = line.Encode(object{"span": object{
				"id": id(1000*e + s + 1000), "trace_id": trace, "transaction_id": id(e), "parent_id": id(e), "type": "db", "name": "SELECT", "start": 1, "duration": 3.5,
				"stacktrace": []object{{"filename": "a.go", "lineno": 7, "function": "f"}},
			}})
		}
	}
	return b.Bytes()
}

// closedLoop is a load of some workers for that time. It counts as takt's does.
func closedLoop(events, spans, workers int, duration time.Duration) Load {
	return func(ctx context.Context, urls ...string) (*takt.Report, error) {
		text := body(events, spans)
		var ok, failed atomic.Uint64
		var all sync.WaitGroup
		begun := time.Now()
		for range workers {
			all.Go(func() {
				for time.Since(begun) < duration && ctx.Err() == nil {
					answer, err := http.Post(urls[0]+"/intake/v2/events", "application/x-ndjson", bytes.NewReader(text))
					if err != nil {
						failed.Add(1)
						continue
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
					if answer.StatusCode == http.StatusAccepted {
						ok.Add(1)
					} else {
						failed.Add(1)
					}
				}
			})
		}
		all.Wait()
		elapsed := time.Since(begun).Seconds()
		r := &takt.Report{
			Kind: "apm", DurationS: elapsed, Counts: takt.Counts{OK: ok.Load(), Failed: failed.Load(), Sent: ok.Load() + failed.Load(), Scheduled: ok.Load() + failed.Load()},
			Status:    map[string]uint64{"202": ok.Load()},
			Variables: map[string]any{"events": events, "spans": spans, "frames": 1, "workers": workers},
			Extra:     map[string]any{"pushed": float64(len(text)) * float64(ok.Load()+failed.Load()) / elapsed, "accepted": float64(len(text)) * float64(ok.Load()) / elapsed},
		}
		return r, nil
	}
}

// realDocuments are those of the cluster that scripts/servers has started.
func realDocuments(t *testing.T) *Documents {
	t.Helper()
	d, err := OpenDocuments(Output{URL: os.Getenv("TAKT_ELASTICSEARCH")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// From apm switch -fcmv to the block, on real Elasticsearch: what the server takes
// arrives, or 80 % of it, and then the run is not compared; the memory is the server's.
func TestRealTrial(t *testing.T) {
	c, err := NewCheckout(newRealClone(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := realDocuments(t)
	for branch, index := range map[string]float64{"main": 1, "lossy": 0.8} {
		t.Run(branch, func(t *testing.T) {
			s, err := ParseSwitch([]string{"-fcmv", "origin/" + branch})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Switch(t.Context(), s, t.Output()); err != nil {
				t.Fatal(err)
			}
			o := Options{Log: process.NewLog(), Flags: roomy(), Patience: patience}
			trial := Trial{Server: c, Documents: d, Load: closedLoop(10, 4, 2, time.Second), Options: o, Out: t.Output(), Least: time.Second}
			r, err := trial.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkTrial(t, r, index)
			checkMemory(t, r, o.Log)
		})
	}
	if n, _, err := d.Delete(t.Context()); n == 0 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if n, err := d.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d documents after the deletion, %v", n, err)
	}
}

// patience is for a cluster on a machine that does other things too.
const patience = 5 * time.Minute

// roomy is a queue that a load of 1 s does not fill while the cluster makes its indices:
// of a request that ends in 503 a part is indexed, and none is expected.
func roomy() []string { return []string{"-E", "queue.mem.events=1000000"} }

// checkTrial holds the ratio and the block against what the server does.
func checkTrial(t *testing.T, r *takt.Report, index float64) {
	t.Helper()
	var b strings.Builder
	if err := Block(&b, r, strings.Fields("1s 10 4 1 2")); err != nil {
		t.Fatal(err)
	}
	t.Log(b.String())
	// Of 50 documents a request exactly one in five is lost.
	n, arrives := 50*float64(r.Counts.OK), index*50*float64(r.Counts.OK)
	if x := r.Extra; x["index"] != index || x["documents"] != arrives || n == 0 {
		t.Errorf("index %v, want %v: %v documents of %v requests; %v", x["index"], index, x["documents"], r.Counts, r.Warnings)
	}
	account, _ := r.Extra[extraAccount].(map[string]any)
	if account["acked"] != arrives || account["dropped"] != n-arrives || account["queued"] != 0.0 {
		t.Errorf("%v", account)
	}
	if lost := r.Warned(warn.EventsDropped) && r.Warned(warn.NotComparable); lost != (index < 1) || index == 1 && len(drivertest.Doubts(r)) > 0 {
		t.Errorf("%v", r.Warnings)
	}
}

// checkMemory holds max_rss against what the server reads of itself at its end.
func checkMemory(t *testing.T, r *takt.Report, log *process.Log) {
	t.Helper()
	var kib float64
	last := log.Tail(1, "highest memory")
	if len(last) != 1 {
		t.Fatal("the server did not say its memory")
	}
	if _, err := fmt.Sscanf(last[0].Text, "INFO stopped, highest memory %f kB", &kib); err != nil {
		t.Fatal(err)
	}
	rss, _ := r.Extra["max_rss"].(float64)
	t.Logf("max_rss %.0f, the server's VmHWM %.0f", rss, kib*1024)
	if rss < 0.95*kib*1024 || rss > 1.05*kib*1024 {
		t.Errorf("max_rss is %.0f, the server says %.0f kB", rss, kib)
	}
}
