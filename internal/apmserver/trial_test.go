package apmserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// cluster is an Elasticsearch that counts as it is told, one count after the other.
func cluster(t *testing.T, counts ...int64) *Documents {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/_count") {
			io.WriteString(w, `{"status":"yellow"}`)
			return
		}
		i := min(int(n.Add(1)), len(counts)) - 1
		fmt.Fprintf(w, `{"count":%d}`, counts[i])
	}))
	t.Cleanup(server.Close)
	d, err := OpenDocuments(Output{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// A trial from the start of the server to the figures: 20 requests of 10 events with 4
// spans are 1000 documents.
func TestTrial(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := made(t)
	var out bytes.Buffer
	trial := Trial{
		Server: c, Documents: cluster(t, 100, 1100), Load: post(20), Out: &out,
		Options:   Options{Flags: strings.Fields("-E apm-server.tracing.enabled=true"), MemoryLimit: 0},
		Variables: map[string]any{"workers": 1, "duration_s": 30.0},
	}
	r, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := r.Extra
	rss, _ := x["max_rss"].(float64)
	if rss < 32<<20 || rss > 200<<20 { // it has 32 MiB of ballast
		t.Errorf("max_rss %v", rss)
	}
	for name, want := range map[string]float64{
		"accepted_requests": 20, "latency": 100, "documents": 1000, "documents_expected": 1000, "index": 1, "throughput": 500,
		"efficiency": 60 * 1.5e6 / rss, "pushed": 1.6e6, "accepted": 1.5e6,
	} {
		if got := x[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if d := x["drain_s"].(float64); d < 1 || d > 30 {
		t.Errorf("drain %v", d)
	}
	if want := map[string]any{"libbeat.output.events.acked": 1000.0}; !reflect.DeepEqual(x["server_counters"], want) {
		t.Errorf("counters %v", x["server_counters"])
	}
	if got := accountLine(x); got != "events: 1000 accepted, 1000 acked, 0 dropped, 0 queued, 1000 indexed" {
		t.Errorf("account %s", got)
	}
	host := strings.TrimPrefix(trial.Documents.Output().URL, "http://")
	want := map[string]any{
		"events": 10, "spans": 4, "workers": 1, "duration_s": 30.0, "url": "http://127.0.0.1/intake/v2/events",
		"apm_host": "localhost", "elastic_host": host, "memory_limit_bytes": int64(-1), "flags": map[string]any{"apm-server.tracing.enabled": "true"},
	}
	if !reflect.DeepEqual(r.Variables, want) {
		t.Errorf("%v, want %v", r.Variables, want)
	}
	v := c.Revision()
	labels := map[string]string{"branch": "main", "revision": v.Hash, "revision_date": "2026-01-31T18:00:00Z", "server_version": "fake-33554432"}
	if !reflect.DeepEqual(r.Labels, labels) {
		t.Errorf("%v, want %v", r.Labels, labels)
	}
	if len(drivertest.Doubts(r)) > 0 || !strings.HasPrefix(r.ComparabilityKey, "sha256:") {
		t.Errorf("%v %s", r.Warnings, r.ComparabilityKey)
	}
	if f := stored.RunOf(r).Figures; !has(f, "index", "throughput", "max_rss", "efficiency", "latency", "accepted_requests") {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(out.String(), " -E apm-server.tracing.enabled=true -E apm-server.host=127.0.0.1:") {
		t.Errorf("narration\n%s", &out)
	}
}

func has(f stored.Figures, names ...string) bool {
	for _, name := range names {
		if _, ok := f.Get(name); !ok {
			return false
		}
	}
	return true
}

// What the server was started with: a password is in no argument.
func TestPasswordIsInNoArgument(t *testing.T) {
	c := made(t)
	o := Options{Output: Output{URL: "http://es:9200", User: "elastic", Password: "s3cret"}, Flags: []string{"-E", "apm-server.secret_token=t0ken"}, Log: process.NewLog(), Out: t.Output()}
	r, err := c.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	said, err := ask(t.Context(), r.URLs[0]+"/settings", "")
	if err != nil {
		t.Fatal(err)
	}
	settings, argv, _ := strings.Cut(string(said), "argv ")
	for _, want := range []string{"output.elasticsearch.password=s3cret\n", "output.elasticsearch.username=elastic\n", "apm-server.secret_token=t0ken\n", `output.elasticsearch.hosts=["http://es:9200"]` + "\n"} {
		if !strings.Contains(settings, want) {
			t.Errorf("no %q in\n%s", want, settings)
		}
	}
	if strings.Contains(argv, "s3cret") || strings.Contains(argv, "t0ken") {
		t.Error(argv)
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	<-r.Done()
	if last := o.Log.Tail(1, ""); len(last) != 1 || last[0].Text != "INFO stopped" { // it was asked, not killed
		t.Error(last)
	}
	if err := r.Stop(); err != nil { // once more
		t.Error(err)
	}
}

// Elasticsearch refuses all events, and the server drops them: such a run is not compared,
// and the reason for the first one is quoted out of a line of 10 kB.
func TestEventsAreRefused(t *testing.T) {
	t.Parallel() // it waits most of the time
	trial := Trial{Server: made(t), Documents: cluster(t, 100), Load: post(20), Least: time.Second, Options: Options{Flags: []string{"-E", "fake=refused"}}}
	r, err := trial.Run(t.Context())
	if err != nil || len(r.Warnings) != 2 {
		t.Fatalf("%v, %v", err, r)
	}
	if w := r.Warnings[0]; w.Code != warn.EventsDropped || w.Message != `apm-server dropped 1000 events, of 1000 accepted; its first error: Cannot index event (status=400): {"reason":"no mapping 1"}` {
		t.Errorf("%+v", w)
	}
	if why := stored.RunOf(r).Unfit; !strings.HasPrefix(why, "the run is not kept as comparable: apm-server dropped events") {
		t.Errorf("collate and verify take it: %q", why)
	}
	if got := accountLine(r.Extra); got != "events: 1000 accepted, 0 acked, 1000 dropped, 0 queued, 0 indexed" {
		t.Error(got)
	}
}

// A server that ends by itself gives its last words, whenever it ends.
func TestServerEndsByItself(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := made(t)
	_, err := c.Start(t.Context(), Options{Flags: []string{"-E", "fake=exits"}, Log: process.NewLog()})
	if err == nil || !strings.HasPrefix(err.Error(), "apm-server has ended: exit status 3; its last words:\nINFO started") || !strings.HasSuffix(err.Error(), "\nERROR the settings are wrong") {
		t.Error(err)
	}
	later := Trial{Server: c, Documents: cluster(t, 100), Load: post(2), Options: Options{Flags: []string{"-E", "fake=dies later"}}}
	if r, err := later.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "out of luck") || !r.Warned(warn.BrokeOff) {
		t.Errorf("while its queue goes out: %v, %v", err, r)
	}
	endless := func(ctx context.Context, urls ...string) (*takt.Report, error) {
		r, err := post(10)(ctx, urls...)
		<-ctx.Done()
		return r, err
	}
	trial := Trial{Server: c, Load: endless, Options: Options{Flags: []string{"-E", "fake=crashes"}}}
	if _, err := trial.Run(t.Context()); err == nil || err.Error() != "apm-server has ended: exit status 2; its first fatal line:\n"+
		"runtime/cgo: pthread_create failed: Operation not permitted\nSIGABRT: abort\nPC=0x7fc1f6479eec m=4\ngoroutine 0 [idle]:\nr0 0x0\nr1 0x0\n"+
		"the filter of system calls of this apm-server is older than the system; turn it off with: -E seccomp.enabled=false" {
		t.Error(err)
	}
	trial.Options.Flags = []string{"-E", "fake=dies"}
	r, err := trial.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "out of luck") {
		t.Error(err)
	}
	if r == nil || r.Counts.OK != 2 || r.Warnings[0].Code != warn.BrokeOff || !strings.Contains(r.Warnings[1].Message, "it broke off; ") || stored.RunOf(r).Unfit == "" {
		t.Errorf("%+v", r)
	}
}

func TestTrialIsCancelled(t *testing.T) {
	c := made(t)
	ctx, cancel := context.WithCancel(t.Context())
	trial := Trial{Server: c, Documents: cluster(t, 0), Load: func(inner context.Context, urls ...string) (*takt.Report, error) {
		cancel()
		<-inner.Done()
		return post(3)(t.Context(), urls...)
	}}
	r, err := trial.Run(ctx)
	if !errors.Is(err, context.Canceled) || r == nil || r.Warnings[0].Code != warn.Cancelled || r.Extra["documents"] != nil || r.Extra["max_rss"] == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := trial.Run(ctx); r != nil || !errors.Is(err, context.Canceled) { // before the load
		t.Errorf("%+v, %v", r, err)
	}
}

// The load fails, the cluster is down: what is there is kept, the rest is said.
func TestTrialWithout(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := made(t)
	broken := errors.New("broken")
	trial := Trial{Server: c, Load: func(context.Context, ...string) (*takt.Report, error) { return nil, broken }}
	if r, err := trial.Run(t.Context()); r != nil || err != broken {
		t.Errorf("%+v, %v", r, err)
	}
	trial.Load = post(2)
	r, err := trial.Run(t.Context())
	if err != nil || r.Warnings[0].Code != warn.NotCounted || r.Extra["index"] != nil || r.Extra["max_rss"] == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if why := stored.RunOf(r).Unfit; !strings.Contains(why, "not kept as comparable: it took 2 s") {
		t.Errorf("collate and verify take it: %q", why)
	}
	if trial.Documents, err = OpenDocuments(Output{URL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if r, err := trial.Run(t.Context()); r != nil || err == nil || !strings.Contains(err.Error(), "the cluster at http://127.0.0.1:1") {
		t.Errorf("%+v, %v", r, err)
	}
	trial.Documents = cluster(t, 100, 40)
	r, err = trial.Run(t.Context())
	if err != nil || r.Warnings[0].Code != warn.NotCounted || !strings.Contains(r.Warnings[0].Message, "deleted 60 of them") || r.Extra["documents"] != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestUnmanaged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer t" {
			io.WriteString(w, `{"ok":{"version":"6.8.23"}}`)
		}
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	remote, err := NewRemote(server.URL, server.URL+"/second")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Switch(t.Context(), Switch{Branch: "main", Revision: "abc"}, nil); err != nil {
		t.Fatal(err)
	}
	trial := Trial{Server: remote, Load: post(4), Least: time.Second, Options: Options{Secret: "t"}}
	r, err := trial.Run(t.Context())
	if err != nil || r.Variables["apm_host"] != "127.0.0.1,127.0.0.1" || r.Extra["max_rss"] != nil || r.Labels["revision"] != "abc" || r.Labels["server_version"] != "6.8.23" {
		t.Errorf("%+v, %v", r, err)
	}
	if w := drivertest.Doubts(r); len(w) != 1 || w[0].Code != warn.NotCounted { // comparable all the same
		t.Errorf("%v", r.Warnings)
	}
	if url := r.Variables["url"]; url != server.URL+"/intake/v2/events" { // its port stays the same
		t.Error(url)
	}
}

// A server that answers is asked again until it is ready to publish.
func TestReady(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"version":"9.5.2","publish_ready":%v}`, asked.Add(1) == 3)
	}))
	remote, err := NewRemote(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := remote.Start(t.Context(), Options{}); err != nil || r.Version != "9.5.2" || asked.Load() != 3 {
		t.Errorf("%+v, %v, asked %d times", r, err, asked.Load())
	}
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[int64]int{4: http.StatusNotFound, 5: http.StatusServiceUnavailable, 6: http.StatusUnauthorized}[asked.Add(1)]) // 0 panics
	}))
	defer wrong.Close()
	if remote, err := NewRemote(wrong.URL); err != nil {
		t.Error(err)
	} else if _, err := remote.Start(t.Context(), Options{Patience: time.Minute}); err == nil || !strings.Contains(err.Error(), "cannot be used: "+wrong.URL+"/ answers 401 Unauthorized") || asked.Load() != 6 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	server.Close()
	if _, err := remote.Start(t.Context(), Options{Patience: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "does not answer after 1ms: ") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := remote.Start(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for said, want := range map[string]string{
		"": "at http://h is up, but after 1m0s not ready to publish; is its Elasticsearch up?",
		`{"log.level":"error","message":"precondition failed: x509: certificate signed by unknown authority"}`:                  "its first error: precondition failed: x509: certificate signed by unknown authority; is its Elasticsearch up?",
		`{"log.level":"error","message":"precondition 'apm integration installed' failed: please install the apm integration"}`: "please install the apm integration; or write without its templates: -E apm-server.data_streams.wait_for_integration=false",
	} {
		log := process.NewLog()
		fmt.Fprintln(log, said)
		if err := unready("http://h", errMayNotPublish, &Options{Log: log}); !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
		// Version 8.0 does not answer while it waits.
		if err := unready("http://h", io.EOF, &Options{Log: log}); said != "" && (!strings.Contains(err.Error(), "does not answer after 1m0s: EOF; ") || !strings.Contains(err.Error(), want)) {
			t.Error(err)
		}
	}
}

func TestIncomparable(t *testing.T) {
	good := func() (*Trial, *takt.Report) {
		r := &takt.Report{DurationS: 29.99, Variables: map[string]any{"duration_s": json.Number("30")}, Extra: map[string]any{"max_rss": 1e6}, Counts: takt.Counts{OK: 1}}
		return &Trial{Server: &Checkout{current: current{r: Revision{Branch: "b", Hash: "h", Date: time.Unix(1, 0)}}}}, r
	}
	for want, change := range map[string]func(*Trial, *takt.Report){
		"":                          func(*Trial, *takt.Report) {},
		"the branch is not known":   func(t *Trial, _ *takt.Report) { t.Server.(*Checkout).r.Branch = "" },
		"the revision is not known": func(t *Trial, _ *takt.Report) { t.Server.(*Checkout).r.Hash = "" },
		"the date of the revision":  func(t *Trial, _ *takt.Report) { t.Server.(*Checkout).r.Date = time.Time{} },
		"the clone has changes":     func(t *Trial, _ *takt.Report) { t.Server.(*Checkout).r.Unstaged = true },
		"the memory of the server":  func(_ *Trial, r *takt.Report) { delete(r.Extra, "max_rss") },
		"it took 29 s, which is less than 30s; test for longer": func(_ *Trial, r *takt.Report) { r.Variables["duration_s"] = 29 },
		"it took 20 s":            func(_ *Trial, r *takt.Report) { r.DurationS = 20; delete(r.Variables, "duration_s") },
		"there was no answer":     func(_ *Trial, r *takt.Report) { r.Counts = takt.Counts{Unfinished: 1} },
		"no request was accepted": func(_ *Trial, r *takt.Report) { r.Counts = takt.Counts{Failed: 1} },
		"it was cancelled":        func(_ *Trial, r *takt.Report) { warnOnce(r, warn.Cancelled, "") },
		"it broke off":            func(_ *Trial, r *takt.Report) { warnOnce(r, warn.BrokeOff, "") },
		"apm-server dropped":      func(_ *Trial, r *takt.Report) { warnOnce(r, warn.EventsDropped, "") },
		"events had not arrived":  func(_ *Trial, r *takt.Report) { warnOnce(r, warn.NotDrained, "") },
		"the cluster lost events": func(_ *Trial, r *takt.Report) { warnOnce(r, warn.DocumentsMissing, "") },
	} {
		trial, r := good()
		change(trial, r)
		why := trial.incomparable(r)
		if want == "" && len(why) > 0 || want != "" && (len(why) != 1 || !strings.HasPrefix(why[0], want)) {
			t.Errorf("%q: %q", want, why)
		}
	}
}

// The formulas on the run in hey-apm's notes: 2726 requests of 7259 bytes with an answer
// 202 in 30.002 s made 659.6 kb/s, 11.01 ms and 99.25 %.
func TestFigures(t *testing.T) {
	r := &takt.Report{
		DurationS: 30.002, Counts: takt.Counts{OK: 2726, Failed: 2}, Variables: map[string]any{"events": 1, "spans": 10},
		Extra: map[string]any{"accepted": 7259 * 2726 / 30.002},
	}
	figures(r, &measured{d: drained{account: account{counted: true, indexed: 29762}}, usage: process.Usage{MaxRSS: 40e6}})
	for name, want := range map[string]float64{"latency": 11.006, "index": 0.9925, "throughput": 992.001, "efficiency": 0.9893, "accepted_requests": 2726} {
		if got, _ := r.Extra[name].(float64); math.Abs(got-want) > want/10000 {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
	warm := &takt.Report{DurationS: 10, WarmupS: 5, Counts: takt.Counts{OK: 20}, WarmupCounts: takt.Counts{OK: 10}, Extra: map[string]any{"events_accepted": uint64(60)}}
	figures(warm, &measured{d: drained{account: account{counted: true, indexed: 90}}})
	if x := warm.Extra; x["index"] != 1.0 || x["throughput"] != 6.0 || x["latency"] != 500.0 {
		t.Errorf("with a warm-up: %v", x)
	}
	none := &takt.Report{}
	figures(none, &measured{d: drained{account: account{counted: true}}})
	for _, name := range []string{"index", "latency", "throughput", "efficiency", "max_rss"} {
		if v, there := none.Extra[name]; there {
			t.Errorf("of a run without answers: %s %v", name, v)
		}
	}
}

func TestBlock(t *testing.T) {
	r := &takt.Report{
		DurationS: 30, Labels: map[string]string{"branch": "trace-apm-server"}, Variables: map[string]any{"apm_host": "localhost"},
		Status: map[string]uint64{"503": 3, "202": 6474}, Errors: []takt.ErrorClass{{Class: "timeout", Count: 2, Sample: "no answer in 10s"}},
		Latency: map[string]takt.Latency{"response": {Count: 6479, P50: 1234, P90: 2500, P99: 98765, Max: 1e7}},
		Extra: map[string]any{
			"pushed": 1.6e6, "accepted": 1.59e6, "documents": 15385.0, "throughput": 512.8333, "index": 0.7918, "latency": 4.6339,
			"max_rss": 157.66e6, "efficiency": 0.5962,
			"account": map[string]any{"accepted": 19430.0, "acked": 15387.0, "dropped": 0.0, "queued": 4040.0, "unaccounted": 5.0, "others": 2.0, "indexed": 15385.0},
		},
		Warnings: []takt.Warning{{Code: warn.NotComparable, Message: "the run is not kept as comparable: why"}, {Code: "closed_loop", Message: "of the load"}},
	}
	targets := []any{
		map[string]any{"url": "http://a:8200/intake/v2/events", "index": 0.0, "status": map[string]any{"202": 6474.0, "503": 3.0}, "responses": 6477.0, "responses_per_s": 215.9},
		map[string]any{"url": "http://b:8200/intake/v2/events", "index": 0.0, "status": map[string]any{}, "responses": 0.0, "responses_per_s": 0.0},
	}
	want := `on branch trace-apm-server , cmd = [30s 1 2 3 4]

pushed 1.6Mb / sec , accepted 1.6Mb / sec (uncompressed)
localhost
  [202]	6474 responses (99.95%)
  [503]	3 responses (0.05%)
  total	6477 responses (215.90 rps)
  [2]	timeout: no answer in 10s
  response time  p50 1.23 ms  p90 2.50 ms  p99 98.77 ms  max 10000.00 ms

15385 docs indexed (512.83 / sec)  (79.18% of expected)
apm-server produces more than Elasticsearch ingests: its settings of the output or of the queue, the cluster, or the network between them bound it
events: 19430 accepted, 15387 acked, 0 dropped, 4040 queued, 5 unaccounted, 15385 indexed (2 of them not of this load)
4.63 ms / request (1000 / accepted requests per second; no response time)
157.7Mb (max RSS)
0.596 memory efficiency (accepted data volume per minute / memory used)
the run is not kept as comparable: why
of the load
`
	var b strings.Builder
	if err := Block(&b, r, strings.Fields("30s 1 2 3 4")); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	r.Extra["targets"] = targets
	want = `http://a:8200/intake/v2/events 0
  [202]	6474 responses (99.95%)
  [503]	3 responses (0.05%)
  total	6477 responses (215.90 rps)
http://b:8200/intake/v2/events 0
  total	0 responses (0.00 rps)
  [2]	timeout: no answer in 10s
`
	if err := Block(&b, r, nil); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	r.Verdict = takt.Invalid
	if err := Block(&b, r, nil); err != nil || !strings.HasPrefix(b.String(), "INVALID RUN: the generator, not the target, shaped these figures.\non branch trace") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	r.Extra["account"].(map[string]any)["queued"] = 0.0
	if err := Block(&b, r, nil); err != nil || strings.Contains(b.String(), "produces more") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := Block(&b, &takt.Report{}, nil); err != nil || !strings.HasPrefix(b.String(), "on branch unknown , cmd = []\n\npushed unknown / sec , accepted unknown / sec") || !strings.Contains(b.String(), "docs were not counted\nunknown (max RSS)\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestDecimal(t *testing.T) {
	for n, want := range map[float64]string{0: "0 b", 999: "999 b", 1000: "1.0kb", 659557: "659.6kb", 1.6e6: "1.6Mb", 4e9: "4.0Gb", 1e21: "1000.0Eb"} {
		if got := decimal(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}

// A server that redirects does not lead takt to another machine: the owner of a takt server has allowed this
// one alone.
func TestRemoteRedirects(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"version":"8.0.0"}`)
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer server.Close()
	remote, err := NewRemote(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "answers 302 Found") || asked.Load() > 0 {
		t.Errorf("%d requests to another machine, %v", asked.Load(), err)
	}
}
