package apmserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// lasting is a load of a request every 100 ms, with the intervals of a run.
func lasting(d time.Duration) Load {
	return func(ctx context.Context, urls ...string) (*takt.Report, error) {
		started := time.Now()
		r, err := post(1)(ctx, urls...)
		for n := uint64(1); err == nil && time.Since(started) < d; n++ {
			time.Sleep(100 * time.Millisecond)
			var more *takt.Report
			if more, err = post(1)(ctx, urls...); err == nil {
				r.Counts = r.Counts.Plus(more.Counts)
				r.Status["202"] += more.Status["202"]
			}
		}
		r.StartedAt = started
		for s := 1.0; s <= d.Seconds(); s++ {
			r.Intervals = append(r.Intervals, takt.Interval{T: s, OK: 10, ResponseP99: 1000 * s})
		}
		return r, err
	}
}

// A trial has the server's seconds, and their sums are those of the whole trial.
func TestSecondsOfATrial(t *testing.T) {
	t.Parallel() // it waits most of the time
	trial := Trial{Server: made(t), Load: lasting(3 * time.Second), Options: Options{Flags: []string{"-E", "fake=refused"}}}
	r, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := map[string]float64{}
	for _, s := range r.ServerSeconds {
		for _, name := range []string{timeline.Acked, timeline.Dropped, timeline.Queued, timeline.Memory, timeline.CPU, timeline.Errors, timeline.Warnings} {
			v, ok := s.Figures[name]
			if !ok {
				t.Skipf("a reading took longer than its second; %+v", s) // on a busy machine
			}
			sum[name] += v
		}
		if s.Figures[timeline.Memory] < 32<<20 {
			t.Errorf("%+v", s)
		}
	}
	events := float64(eventsOf(r))
	if sum[timeline.Acked] != 0 || sum[timeline.Dropped] > events || sum[timeline.Dropped] < events/2 || sum[timeline.Warnings] == 0 || sum[timeline.CPU] <= 0 {
		t.Errorf("%v of %v events", sum, events)
	}
	var out bytes.Buffer
	if err := report.Server(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the server over 3s, 1s a column\n", "  log warnings ", "  dropped  ", "  memory  "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func eventsOf(r *takt.Report) uint64 { return 50 * r.Counts.OK }

// A server that another program manages hangs, restarts, answers garbage and megabytes, all
// during one trial: each known figure is one that the server truly had.
func TestSecondsOfAHostileServer(t *testing.T) {
	t.Parallel() // it waits most of the time
	var n atomic.Int64
	counters := func(acked int64) string {
		return fmt.Sprintf(`{"libbeat.output.events.acked":%d,"libbeat.pipeline.events.active":0,"apm-server.processor.stream.accepted":%d}`, acked, acked)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"version":"8"}`) })
	mux.HandleFunc("/debug/vars", func(w http.ResponseWriter, r *http.Request) {
		switch i := n.Add(1); i {
		case 1, 2: // before the load: the trial, and the first reading
			io.WriteString(w, counters(1000))
		case 3:
			io.WriteString(w, counters(1100))
		case 4:
			<-r.Context().Done()
		case 5:
			io.WriteString(w, strings.Repeat("[", 1<<20))
		case 6:
			io.WriteString(w, counters(3000))
		default: // it has restarted, and counts on
			io.WriteString(w, counters(50*i))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	remote, err := NewRemote(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&Trial{Server: remote, Load: lasting(7 * time.Second), DrainTime: time.Millisecond}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, s := range r.ServerSeconds {
		v, ok := s.Figures[timeline.Acked]
		if ok {
			known++
		}
		if ok && v != 100 && v != 50 {
			t.Errorf("%+v", s)
		}
		if _, ok := s.Figures[timeline.Memory]; ok {
			t.Errorf("nobody sees the memory of this server: %+v", s)
		}
	}
	if n.Load() >= 9 && known == 0 { // fewer readings on a busy machine
		t.Errorf("no second is known: %+v", r.ServerSeconds)
	}
	if !r.Warned(warn.ServerRestarted) {
		t.Errorf("%+v", r.Warnings)
	}
	t.Logf("%d of %d seconds are known: %v", known, len(r.ServerSeconds), r.ServerSeconds)
}

// What is no answer of counters is no reading: megabytes, garbage, another status, a server
// that does not answer.
func TestSampleRefuses(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"megabytes": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"a":%q,"libbeat.output.events.acked":1}`, strings.Repeat("x", 8<<20))
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("[", 1<<10)); err != nil {
					return
				}
			}
		},
		"garbage":     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") },
		"a list":      func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[1]") },
		"unavailable": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"silence":     func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		server := httptest.NewServer(http.HandlerFunc(answer))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if r, ok := sample(ctx, server.URL, "", false); ok {
			t.Errorf("%s: %v", name, r)
		}
		cancel()
		server.CloseClientConnections()
		server.Close()
	}
}

func TestReading(t *testing.T) {
	c := Counters{
		"libbeat.output.events.acked": 7, "libbeat.output.events.dropped": 1, "libbeat.pipeline.events.active": 4, "apm-server.processor.stream.accepted": 12,
		"beat.info.uptime.ms": 900, "beat.memstats.memory_alloc": 5, "beat.memstats.rss": 6, "beat.cpu.total.time.ms": 1500, "memstats.NumGC": 3, "memstats.PauseTotalNs": 2e9,
	}
	want := timeline.Reading{
		timeline.Acked: 7, timeline.Dropped: 1, timeline.Queued: 4, timeline.Accepted: 12, timeline.Uptime: 900,
		timeline.Heap: 5, timeline.GC: 3, timeline.Paused: 2,
	}
	if got := c.reading(false); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want[timeline.Memory], want[timeline.CPU] = 6, 1.5
	if got := c.reading(true); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (Counters{"apm-server.server.request.count": 1}).reading(true); len(got) > 0 {
		t.Errorf("nothing is known, and not %v", got)
	}
	if n := len((&Running{URLs: []string{"http://127.0.0.1:1"}}).timeline(process.NewLog())); n != 1 {
		t.Errorf("a remote server has %d groups: takt sees neither its process nor its log", n)
	}
}
