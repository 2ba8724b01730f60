package apm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// load makes a run of n operations over one connection as the command does.
func load(t *testing.T, o *Options, n uint64, change func(*engine.Options), urls ...string) *takt.Report {
	t.Helper()
	return drivertest.Make(t, drivertest.Plan(t, "apm", o, func(e *engine.Options) {
		e.Requests = n
		if change != nil {
			change(e)
		}
	}, urls...))
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// Each way to run is held against what the engine expects.
func TestSuite(t *testing.T) {
	for _, way := range []struct {
		name, mode string
		servers    int
		stream     bool
	}{{"one server", "loop", 1, false}, {"one server", "worker", 1, false}, {"two servers", "worker", 2, false}, {"streams", "worker", 1, true}} {
		t.Run(way.name+" in mode "+way.mode, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			drivertest.Run(t, way.mode, func(t *testing.T, behaviour drivertest.Target) *takt.Driver {
				var urls []string
				for range way.servers {
					switch behaviour {
					case drivertest.Down:
						urls = append(urls, closedPort(t))
					default:
						urls = append(urls, startIntake(t, func(s *intake) {
							s.hang = behaviour == drivertest.Hanging
							if behaviour == drivertest.Failing {
								s.status, s.body = 503, `{"accepted":0,"errors":[{"message":"queue is full"}]}`
							}
						}).URL)
					}
				}
				o := New()
				o.Events, o.Spans, o.Frames, o.Stream, o.Pause = 1, 1, 1, way.stream, time.Millisecond
				o.until = 1 // a stream ends after its first body
				if faults := o.Validate(urls); len(faults) > 0 {
					t.Fatal(faults)
				}
				d, err := o.Open(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}

// What the flags make of a request.
func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		uri    string
		header map[string]string
		kinds  map[string]int
	}{
		{"defaults", nil, "POST /intake/v2/events?verbose",
			map[string]string{"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", "User-Agent": "takt", "Authorization": "", "Accept-Encoding": "", "Accept": "application/json"},
			map[string]int{"metadata": 1, "transaction": 6, "span": 42, "error": 3}},
		{"events with spans", func(o *Options) { o.Events, o.Spans, o.Frames, o.Errors = 4, 2, 1, 5 }, "POST /intake/v2/events?verbose", nil,
			map[string]int{"metadata": 1, "transaction": 4, "span": 8, "error": 5}},
		{"events without spans are errors", func(o *Options) { o.Events, o.Spans = 4, 0 }, "POST /intake/v2/events?verbose", nil,
			map[string]int{"metadata": 1, "error": 4}},
		{"plain, with a token", func(o *Options) { o.DisableCompression, o.auth.Secret = true, "let me in" }, "POST /intake/v2/events?verbose",
			map[string]string{"Content-Encoding": "", "Authorization": "Bearer let me in"}, nil},
		{"API key", func(o *Options) { o.auth.Key = "id:key" }, "POST /intake/v2/events?verbose", map[string]string{"Authorization": "ApiKey aWQ6a2V5"}, nil},
		{"encoded API key", func(o *Options) { o.auth.Key = "aWQ6a2V5" }, "POST /intake/v2/events?verbose", map[string]string{"Authorization": "ApiKey aWQ6a2V5"}, nil},
		{"endpoint, method and headers", func(o *Options) {
			o.Endpoint, o.Method = "/x?y", "put"
			_ = o.conn.Header.Set("User-Agent: me")
			_ = o.conn.Header.Set("Content-Type: a/b")
			_ = o.conn.Header.Set("Accept: text/plain")
		}, "PUT /x?y", map[string]string{"User-Agent": "me", "Content-Type": "a/b", "Accept": "text/plain"}, nil},
		{"v1", func(o *Options) { o.Intake, o.Events, o.Spans = "v1", 4, 2 }, "POST /v1/transactions",
			map[string]string{"Content-Type": "application/json"}, map[string]int{"transactions": 4}},
		{"v1 errors", func(o *Options) { o.Intake, o.Events, o.Spans = "v1", 4, 0 }, "POST /v1/errors", nil, map[string]int{"errors": 4}},
		{"browsers", func(o *Options) { o.Profile = "rum" }, "POST /intake/v2/rum/events?verbose", map[string]string{"Origin": "http://localhost"}, nil},
		{"metrics", func(o *Options) { o.Profile = "metricsonly" }, "POST /intake/v2/events?verbose", nil, map[string]int{"metadata": 1, "metricset": 1}},
		{"wrong method", func(o *Options) { o.Profile = "monitoring/wrong_method" }, "GET /intake/v2/events?verbose", map[string]string{"Content-Encoding": ""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startIntake(t, nil)
			o := New()
			if tt.change != nil {
				tt.change(o)
			}
			if o.Profile == "" && o.Frames == unset {
				o.Frames = 1 // large bodies take long to make
			}
			if o.Profile == "" && o.Events == unset && tt.name != "defaults" {
				o.Events, o.Spans = 1, 0
			}
			r := load(t, o, 2, nil, s.URL+"/")
			if len(s.requests()) != 2 || r.Counts.Scheduled != 2 {
				t.Fatalf("%d requests, %+v", len(s.requests()), r.Counts)
			}
			got := s.requests()[0]
			if uri := got.method + " " + got.uri; uri != tt.uri {
				t.Errorf("%s, want %s", uri, tt.uri)
			}
			for name, want := range tt.header {
				if v := got.header.Get(name); v != want {
					t.Errorf("%s is %q, want %q", name, v, want)
				}
			}
			if tt.kinds != nil && !maps.Equal(got.kinds, tt.kinds) {
				t.Errorf("%v, want %v", got.kinds, tt.kinds)
			}
		})
	}
}

// The figures of the report are those of the server, by hey-apm's formulas.
func TestReport(t *testing.T) {
	s := startIntake(t, nil)
	o := New()
	o.Events, o.Spans, o.Frames, o.DisableCompression = 3, 2, 4, true
	r := load(t, o, 50, nil, s.URL)
	plain := 0
	for _, q := range s.requests() {
		plain += len(q.text)
	}
	x := r.Extra
	if got := x["pushed"].(float64) * r.DurationS; int(got+0.5)/10 != plain/10 || x["accepted"] != x["pushed"] || x["pushed_wire"] != x["pushed"] {
		t.Errorf("pushed %v bytes, the server got %d: %v", got, plain, x)
	}
	if x["accepted_requests"] != 50.0 || x["events"] != uint64(450) || x["events_accepted"] != uint64(450) || x["servers"] != nil {
		t.Errorf("extra %v", x)
	}
	if want := 1000 * r.DurationS / 50; x["latency"].(float64)-want > 0.001 || want-x["latency"].(float64) > 0.001 {
		t.Errorf("latency %v ms, want %v", x["latency"], want)
	}
	targets := x["targets"].([]any)
	one := targets[0].(map[string]any)
	if len(targets) != 1 || one["url"] != s.URL+"/intake/v2/events?verbose" || one["responses"] != 50.0 || one["status"].(map[string]any)["202"] != 50.0 {
		t.Errorf("targets %v", targets)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	distinct := map[string]bool{}
	for _, q := range s.requests() {
		distinct[string(q.text)] = true
	}
	if len(distinct) != mostBodies {
		t.Errorf("%d different bodies, want %d", len(distinct), mostBodies)
	}
}

// Bodies for which a socket has no room arrive whole, though several connections send
// them from one place.
func TestLargeBodies(t *testing.T) {
	o := New()
	o.Events, o.Spans, o.Frames, o.DisableCompression = 20, 10, 23, true
	e := engine.Defaults()
	e.Requests, e.Connections = 12, 4
	o.Shape(&e)
	got := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // what is cut off is not whole
		got <- string(text)
		w.WriteHeader(202)
	}))
	defer s.Close()
	if faults := o.Validate([]string{s.URL}); len(faults) > 0 {
		t.Fatal(faults)
	}
	p, err := o.newPlan()
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]bool{}
	for _, q := range p.servers[0].targets[0].requests {
		whole[string(q.bytes.Bytes[len(q.bytes.Bytes)-q.content.wire:])] = true
	}
	src, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.Run(context.Background(), engine.Plan{Options: e, Kind: "apm", Source: src, Driver: o.driver(p)})
	if err != nil || len(got) != 12 || r.Counts.OK != 12 {
		t.Fatalf("%v: %d bodies arrived, %+v", err, len(got), r)
	}
	for range 12 {
		if text := <-got; !whole[text] || len(text) < 3_000_000 {
			t.Errorf("a body of %d bytes is none that was made", len(text))
		}
	}
}

// What is not 202 has failed, with what the server said and what to do.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		status      int
		body, class string
		want        string
		accepted    uint64
	}{
		{400, `{"accepted":2,"errors":[{"message":"bad"}]}`, "400", "answered 400 with 2 events accepted: bad", 20},
		{401, `{"error":"authentication failed"}`, "401", "answered 401: authentication failed; give the server's token with --secret or a key with --api-key", 0},
		{404, "404 page not found\n", "404", "answered 404: 404 page not found; the url is that of the server alone, and --endpoint the path", 0},
		{429, `{"accepted":0,"errors":[{"message":"rate limit exceeded"}]}`, "429", "answered 429: rate limit exceeded", 0},
		{503, `{"accepted":1,"errors":[{"message":"queue is full"}]}`, "503", "answered 503 with 1 events accepted: queue is full", 10},
		{200, "hello", "200", "answered 200: hello; apm-server answers 202, is this one?", 0},
	} {
		s := startIntake(t, func(s *intake) { s.status, s.body = tt.status, tt.body })
		o := New()
		o.Events, o.Spans, o.Frames = 3, 0, 1
		r := load(t, o, 10, nil, s.URL)
		if r.Counts.Failed != 10 || len(r.Errors) != 1 || r.Errors[0].Class != tt.class || r.Errors[0].Sample != tt.want {
			t.Errorf("%d: %+v, %+v", tt.status, r.Counts, r.Errors)
		}
		if x := r.Extra; x["events_accepted"] != tt.accepted || x["accepted"] != 0.0 || x["accepted_requests"] != 0.0 || x["pushed"].(float64) <= 0 || x["latency"] != nil {
			t.Errorf("%d: %v", tt.status, x)
		}
	}
}

// A hang is a timeout, and refused events are told in v1, too.
func TestHang(t *testing.T) {
	s := startIntake(t, func(s *intake) { s.hang = true })
	o := New()
	o.Events, o.Spans, o.Frames = 1, 0, 1
	o.conn.Timeout = 50 * time.Millisecond
	r := load(t, o, 2, func(e *engine.Options) { e.Drain = engine.DrainOf(10 * time.Second) }, s.URL)
	if r.Counts.Failed != 2 || r.Errors[0].Class != "timeout" || r.Extra["pushed"] != 0.0 {
		t.Errorf("%+v %+v %v", r.Counts, r.Errors, r.Extra)
	}
}

// Servers are loaded in turn, and each has figures of its own.
func TestSeveralServers(t *testing.T) {
	good, bad := startIntake(t, nil), startIntake(t, func(s *intake) { s.status = 503 })
	o := New()
	o.Events, o.Spans, o.Frames = 3, 0, 1
	r := load(t, o, 101, nil, good.URL, bad.URL)
	if r.Counts.OK != 51 || r.Counts.Failed != 50 || len(good.requests()) != 51 {
		t.Errorf("%+v", r.Counts)
	}
	servers := r.Extra["servers"].([]any)
	one, two := servers[0].(map[string]any), servers[1].(map[string]any)
	if one["accepted_requests"] != 51.0 || one["failed"] != 0.0 || one["events_accepted"] != 153.0 || one["service_p50_us"].(float64) <= 0 {
		t.Errorf("%v", one)
	}
	if two["accepted_requests"] != 0.0 || two["failed"] != 50.0 || two["responses"] != 50.0 {
		t.Errorf("%v", two)
	}
	if hosts := o.Variables()["apm_host"]; hosts != "127.0.0.1,127.0.0.1" {
		t.Errorf("apm_host %v", hosts)
	}
}

// The warm-up is in no figure.
func TestWarmup(t *testing.T) {
	s := startIntake(t, nil)
	o := New()
	o.Events, o.Spans, o.Frames = 1, 0, 1
	r := load(t, o, 20, func(e *engine.Options) { e.Rate, e.Warmup = engine.MustRate("200/s"), 100*time.Millisecond }, s.URL)
	if n := len(s.requests()); n != 40 || r.Counts.OK != 20 || r.Extra["accepted_requests"] != 20.0 || r.Extra["events"] != uint64(20) {
		t.Errorf("%d requests, %+v, %v", n, r.Counts, r.Extra)
	}
}

// A profile is the mix that its workers and their rates make.
func TestProfileMix(t *testing.T) {
	s := startIntake(t, nil)
	o := New()
	o.Profile = "tiny"
	var e engine.Options
	load(t, o, 541, func(opt *engine.Options) { opt.Rate = engine.MustRate("max"); opt.Connections = 2 }, s.URL)
	o.Shape(&e)
	if e.Rate.String() != "541/s" || e.Connections != 0 || e.Duration != 10*time.Second {
		t.Errorf("%+v", e)
	}
	got := map[string]int{}
	for _, q := range s.requests() {
		got[fmt.Sprintf("%s %d errors %d transactions", q.method, q.kinds["error"], q.kinds["transaction"])]++
	}
	want := map[string]int{"GET 0 errors 0 transactions": 1, "POST 1 errors 0 transactions": 40, "POST 0 errors 1 transactions": 500}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Those of monitoring send what must be refused: a refusal is no failure.
func TestRefusals(t *testing.T) {
	s := startIntake(t, nil)
	for _, name := range []string{"monitoring/bad_json", "monitoring/invalid_transaction"} {
		o := New()
		o.Profile = name
		r := load(t, o, 5, nil, s.URL)
		if r.Counts.OK != 5 || r.Extra["accepted"] != 0.0 || r.Extra["events_accepted"] != uint64(0) {
			t.Errorf("%s: %+v %v", name, r.Counts, r.Extra)
		}
	}
}

// A stream has its metadata once, and bodies until its time is over.
func TestStream(t *testing.T) {
	for _, plain := range []bool{false, true} {
		s := startIntake(t, nil)
		o := New()
		o.Events, o.Spans, o.Frames, o.Stream, o.DisableCompression = 2, 3, 1, true, plain
		o.Pause = 5 * time.Millisecond
		r := load(t, o, 2, func(e *engine.Options) { e.Connections, e.Duration = 2, 60*time.Millisecond }, s.URL)
		if r.Counts.OK != 2 {
			t.Fatalf("%+v %+v", r.Counts, r.Errors)
		}
		events, flushes := 0, uint64(0)
		for _, q := range s.requests() {
			if !q.chunked || q.kinds["metadata"] != 1 || q.kinds["transaction"]%2 != 0 || q.kinds["transaction"] > 2*12 {
				t.Errorf("plain %t: %v, chunked %t", plain, q.kinds, q.chunked)
			}
			events += q.kinds["transaction"] + q.kinds["span"]
			flushes += uint64(q.kinds["transaction"] / 2)
		}
		x := r.Extra
		if x["events"] != uint64(events) || x["events_accepted"] != uint64(events) || x["flushes"] != flushes || flushes < 2 {
			t.Errorf("plain %t: %v, the server got %d events in %d bodies", plain, x, events, flushes)
		}
		if r.Latency["answer"].Count != 2 || r.Latency["connect"].Count != 2 {
			t.Errorf("%v", r.Latency)
		}
	}
}

// A stream whose next body would come after its end lasts to that end: a closed loop does
// not fill the rest of the schedule with requests of one body.
func TestStreamLasts(t *testing.T) {
	s := startIntake(t, nil)
	o := New()
	o.Events, o.Spans, o.Frames, o.Stream, o.Pause = 1, 0, 1, true, 10*time.Second
	r := load(t, o, 0, func(e *engine.Options) { e.Connections, e.Duration = 1, 500*time.Millisecond }, s.URL)
	if r.Counts.OK != 1 || r.Counts.Scheduled != 1 || r.Extra["flushes"] != uint64(1) {
		t.Errorf("%+v %v", r.Counts, r.Extra)
	}
}

// A server that answers before the end of a stream ends it.
func TestStreamRefused(t *testing.T) {
	s := startIntake(t, func(s *intake) { s.status, s.body = 401, `{"error":"authentication failed"}` })
	o := New()
	o.Events, o.Spans, o.Frames, o.Stream, o.Pause, o.conn.Timeout = 1, 0, 1, true, time.Millisecond, time.Hour
	r := load(t, o, 1, nil, s.URL)
	if r.Counts.Failed != 1 || r.Errors[0].Class != "401" {
		t.Errorf("%+v %+v", r.Counts, r.Errors)
	}
}

// Nothing is allocated for a request and its good answer.
func TestAllocatesNothing(t *testing.T) {
	p := planOf(t, func(o *Options) { o.Profile = "tiny" })
	c := newCodec(p, 0)
	answer := httpText(202, "application/json", `{"accepted":1}`)
	health := httpText(200, "application/json", `{}`)
	var r takt.Result
	op := takt.Op{}
	if n := testing.AllocsPerRun(2000, func() {
		text := answer
		if q := c.Request(&op); q[0] == 'G' {
			text = health
		}
		r.Reset()
		if _, progress := c.Parse(text, false, &r); progress != takt.Done || r.Class != "" {
			t.Fatalf("%v %v", progress, r.Err)
		}
		op.Seq++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A failing server is told of with few allocations: the same sentence is the same error.
func TestFailuresShareErrors(t *testing.T) {
	c := newCodec(planOf(t, func(o *Options) { o.Events, o.Spans, o.Frames = 1, 0, 1 }), 0)
	var before error
	for range 3 {
		c.Request(&takt.Op{})
		var r takt.Result
		c.Parse(httpText(503, "", "queue is full"), false, &r)
		if before != nil && r.Err != before {
			t.Errorf("%v and %v", r.Err, before)
		}
		before = r.Err
	}
	if !strings.Contains(before.Error(), "queue is full") {
		t.Error(before)
	}
}

// With its queue full apm-server 6 accepts a part of a request, and says so only to who
// asks for JSON: these events become documents, too.
func TestPartlyAccepted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Connection", "close")
		said := "queue is full"
		if r.Header.Get("Accept") == "application/json" {
			said = `{"accepted":3,"errors":[{"message":"queue is full"}]}`
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, said)
	}))
	defer server.Close()
	o := New()
	o.Events, o.Spans = 5, 0
	r := load(t, o, 4, nil, server.URL)
	if n := r.Extra["events_accepted"]; n != uint64(12) || r.Counts.Failed != 4 {
		t.Errorf("%v events are accepted, of %+v", n, r.Counts)
	}
}
