package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/pkg/takt"
)

// server answers with the status that the query names, 200 without one, and notes what
// it was asked.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
	body []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is missing shows in the text
		s.mu.Lock()
		s.seen, s.body = append(s.seen, r), append(s.body, string(body))
		s.mu.Unlock()
		status := http.StatusOK
		_, _ = fmt.Sscan(r.URL.Query().Get("status"), &status) // 200 without
		w.Header()["Date"] = nil
		w.WriteHeader(status)
		if status >= 200 && status != 204 && status != 304 {
			_, _ = io.WriteString(w, "hello\n") // nobody is left to be told
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// asked are the requests in words.
func (s *server) asked() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.seen {
		list = append(list, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+s.body[i]))
	}
	return list
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command is a command line that was read: options, and what is wrong with it.
func command(t *testing.T, line string, args ...string) (o *Options, e *engine.Options, faults []error) {
	t.Helper()
	o, e = New(), new(engine.Options)
	*e = engine.Defaults()
	fs := pflag.NewFlagSet("replay", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	e.AddFlags(fs)
	o.AddFlags(fs)
	fs.Func("progress", "", func(text string) error { // the command has it
		if !o.SetStep(text) {
			return errors.New("no step")
		}
		return nil
	})
	if err := fs.Parse(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	o.Shape(e)
	return o, e, append(o.Validate(args), e.Validate()...)
}

// result is what came of a run.
type result struct {
	report *takt.Report
	rows   string // of the load format
	shown  string
	crash  error
}

// replay runs a command line against a URL.
func replay(t *testing.T, line, log, url string) result {
	t.Helper()
	o, e, _ := command(t, line, log, url)
	return played(t, o, e, log, url)
}

// played runs options against a URL.
func played(t *testing.T, o *Options, e *engine.Options, log, url string) result {
	t.Helper()
	if faults := o.Validate([]string{log, url}); len(faults) > 0 {
		t.Fatal(faults)
	}
	var out result
	var mu sync.Mutex
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	look := o.Look(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		out.shown += text
	}, func(err error) {
		out.crash = err
		cancel()
	})
	base, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	src, err := o.Source(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Open(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	var rows []byte
	out.report, err = engine.Run(ctx, engine.Plan{Options: *e, Kind: "replay", Source: src, Driver: d, OnSamples: func(phases []string, list []takt.Sample) {
		for _, r := range look(phases, list) {
			rows = convert.AppendLoadRow(rows, &r)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	out.rows = string(rows)
	c := out.report.Counts
	if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished || int(c.Scheduled) != strings.Count(out.rows, "\n") {
		t.Errorf("%+v, %d rows", c, strings.Count(out.rows, "\n"))
	}
	return out
}

// untimed are rows without their first five columns, which are times.
func untimed(rows string) string {
	var list []string
	for line := range strings.Lines(rows) {
		words := strings.SplitN(line, " ", 6)
		list = append(list, words[len(words)-1])
	}
	return strings.Join(list, "")
}

func TestSuite(t *testing.T) {
	for _, c := range []struct{ client, mode string }{{"own", "loop"}, {"own", "worker"}, {"net", "worker"}} {
		var o *Options
		open := func(t *testing.T, behaviour drivertest.Target) *takt.Driver {
			var url string
			switch behaviour {
			case drivertest.Failing:
				url = targettest.Serve(t, target.Options{Status: 503}).URL()
			case drivertest.Hanging:
				url = targettest.Serve(t, target.Options{HalfOpenRate: 1}).URL()
			case drivertest.Down:
				s := httptest.NewServer(nil)
				s.Close()
				url = s.URL
			default:
				url = targettest.Serve(t, target.Options{}).URL()
			}
			var faults []error
			o, _, faults = command(t, "--rate 200/s --rewind --timeout 1m --connect-timeout 1m --client "+c.client, write(t, "/a\n/b\n"), url)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			d, err := o.Open(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		t.Run(c.client+" in mode "+c.mode, func(t *testing.T) {
			drivertest.RunList(t, c.mode, open, func(base takt.Source) takt.Source {
				o.Look(func(string) {}, nil)
				src, err := o.Source(t.Context(), base)
				if err != nil {
					t.Fatal(err)
				}
				return src
			})
		})
	}
}

// What stands in the log is what is sent, by either client.
func TestRequests(t *testing.T) {
	const load = "2026-11-20 10:00:00 0 0 0 4 a 200 GET\n" +
		"2026-11-20 10:00:00 0 0 0 9 b?token=1&x=2 200 GET\n" +
		"2026-11-20 10:00:00 0 0 0 9 a%20b//c/../d 200 HEAD\n" +
		"2026-11-20 10:00:00 0 0 0 9 p 201 POST \"a body\"\n" +
		"2026-11-20 10:00:00 0 0 0 3 u 201 PUT\n" +
		"2026-11-20 10:00:00 0 0 0 3 x 204 DELETE\n"
	for _, c := range []struct{ flags, want string }{
		{"", "GET /a, GET /b?x=2, HEAD /a%20b//c/../d"},
		{"--ro --keep-tokens", "GET /a, GET /b?token=1&x=2, HEAD /a%20b//c/../d"},
		{"--methods *", "GET /a, GET /b?x=2, HEAD /a%20b//c/../d, POST /p a body, PUT /u ···, DELETE /x ···"},
		{"--rw 1000", "GET /a, GET /b?x=2, HEAD /a%20b//c/../d, POST /p a body, PUT /u ···"},
		{"--wo 2", "PUT /u ··"},
		{"--from 1 --for 1 --strip b", "GET /?x=2"},
		{"--rewrite ^/a$=>/z --path ^/a$", "GET /z"},
		{"--not-path [abpu] --methods DELETE", "DELETE /x ···"},
		{"--status 2xx --methods PUT,DELETE", "PUT /u ···, DELETE /x ···"},
	} {
		for _, client := range []string{"own", "net"} {
			s := newServer(t)
			r := replay(t, "--rate 500/s -c 1 --zone UTC --client "+client+" "+c.flags, write(t, load), s.URL)
			got := s.asked()
			for i, text := range got {
				if words := strings.Fields(text); words[0] == "PUT" || words[0] == "DELETE" { // their bodies are random
					got[i] = words[0] + " " + words[1] + " " + strings.Repeat("·", len(words[2]))
				}
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s, %s: %s, want %s", c.flags, client, text, c.want)
			}
			if n := uint64(len(got)); r.report.Counts.Scheduled != n {
				t.Errorf("%s: %+v of %d", c.flags, r.report.Counts, n)
			}
		}
	}
}

// The header of a request: of the flags, and nothing of the log but a host that is
// asked for.
func TestHeader(t *testing.T) {
	const log = `10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 6 "http://intern/?token=1" "Mozilla"` + "\n"
	for _, client := range []string{"own", "net"} {
		s := newServer(t)
		replay(t, "--rate 500/s --client "+client, write(t, log), s.URL+"/base/")
		replay(t, "--rate 500/s --cache --akamai-debug --headers A:1 --host-header h.example --disable-compression --client "+client, write(t, log), s.URL)
		replay(t, "--rate 500/s --keep-host --format vhost --client "+client, write(t, "shop.example:81 "+log), s.URL)
		for i, want := range []string{
			"/base/x|" + strings.TrimPrefix(s.URL, "http://") + "|no-cache|||takt|gzip|",
			"/x|h.example|||1|takt||",
			"/x|shop.example|no-cache|||takt|gzip|",
		} {
			r := s.seen[i]
			h := r.Header
			pragma := h.Get("Pragma")
			if i == 1 && strings.Count(pragma, "akamai-x-") == 7 {
				pragma = ""
			}
			got := strings.Join([]string{r.RequestURI, r.Host, h.Get("Cache-Control"), pragma, h.Get("A"), h.Get("User-Agent"), h.Get("Accept-Encoding"), h.Get("Referer") + h.Get("Cookie") + h.Get("Authorization")}, "|")
			if got != want {
				t.Errorf("%s: %s, want %s", client, got, want)
			}
		}
	}
}

// An answer is right if it has the recorded status, or is as good.
func TestJudgement(t *testing.T) {
	for _, c := range []struct {
		recorded, replayed int
		class              string
	}{
		{200, 200, ""}, {404, 404, ""}, {500, 500, ""}, {301, 301, ""}, {304, 200, ""}, {206, 200, ""},
		{200, 404, classUnexpected}, {404, 200, classUnexpected}, {200, 206, classUnexpected}, {200, 503, classUnexpected},
		{0, 200, ""}, {0, 404, "4xx"}, {499, 200, ""}, {499, 500, "5xx"}, {408, 200, ""}, {444, 503, "5xx"},
	} {
		o := New()
		if got := o.answers.Class(&takt.Op{Data: &trace.Record{Expected: c.recorded}}, c.replayed); got != c.class {
			t.Errorf("%d after %d: %q, want %q", c.replayed, c.recorded, got, c.class)
		}
	}
	for _, c := range []struct {
		method string
		status int
		bad    bool
	}{{"GET", 200, false}, {"GET", 404, false}, {"HEAD", 404, false}, {"GET", 500, true}, {"PUT", 404, true}, {"POST", 204, false}, {"GET", 302, false}} {
		if isBad([]byte(c.method), c.status) != c.bad {
			t.Errorf("%s %d", c.method, c.status)
		}
	}
}

// What was recorded stands beside what came, in counts and latencies.
func TestComparison(t *testing.T) {
	const load = "- - 0.1 0.1 0 6 a 200 GET\n- - 0.3 0.1 0 6 b?status=404 200 GET\n- - 0 0 0 6 c 304 GET\n" +
		"- - 0.5 0 0 6 d?status=500 500 GET\n- - 0 0 0 0 e 444 HEAD\n- - 0 0 0 0 f -1 GET\n"
	for _, client := range []string{"own", "net"} {
		s := newServer(t)
		r := replay(t, "--rate 500/s --client "+client, write(t, load), s.URL)
		c := r.report.Extra["comparison"].(map[string]any)
		var classes, statuses []string
		for _, v := range c["classes"].([]any) {
			m := v.(map[string]any)
			classes = append(classes, fmt.Sprint(m["class"], " ", m["count"], " ", m["with_latency"]))
			if m["with_latency"].(float64) > 0 && m["response_p50_us"].(float64) < m["service_p50_us"].(float64) {
				t.Errorf("%v", m)
			}
			// three digits of 0.5 s
			if at, is := m["recorded_max_us"].(float64); m["class"] == "GET 5xx" && (!is || at < 500_000 || at > 500_500) {
				t.Errorf("%v", m)
			}
		}
		for _, v := range c["statuses"].([]any) {
			m := v.(map[string]any)
			statuses = append(statuses, fmt.Sprint(m["recorded"], "→", m["replayed"], " ", m["count"], " ", m["verdict"]))
		}
		if got, want := strings.Join(classes, ", "), "GET 2xx 2 2, GET 3xx 1 0, GET 5xx 1 1, GET none 1 0, HEAD 4xx 1 0"; got != want {
			t.Errorf("%s: %s, want %s", client, got, want)
		}
		want := "0→200 1 not comparable, 200→200 1 same, 200→404 1 failed, 304→200 1 as good, 444→200 1 not comparable, 500→500 1 same"
		if got := strings.Join(statuses, ", "); got != want {
			t.Errorf("%s: %s, want %s", client, got, want)
		}
		if n := r.report.Counts; n.OK != 5 || n.Failed != 1 || r.report.Errors[0].Class != classUnexpected {
			t.Errorf("%s: %+v %+v", client, n, r.report.Errors)
		}
		if sample := r.report.Errors[0].Sample; !strings.HasPrefix(sample, "status 404, recorded was 200: GET /b?status=404 (") {
			t.Errorf("%s: %s", client, sample)
		}
		// Of the two bad ones, with what was sent and came.
		if n := strings.Count(r.shown, "Request:\n"); n != 2 || !strings.Contains(r.shown, "GET /b?status=404 HTTP/1.1\n") || !strings.Contains(r.shown, "500 Internal Server Error\n") || strings.Count(r.shown, "\nhello\n") != 2 {
			t.Errorf("%s: %d exchanges: %s", client, n, r.shown)
		}
	}
}

// Written, read and written again the load format is the same but for times: statuses,
// bodies' sizes, paths, methods and rates, also of what does not come as recorded.
func TestRoundTrip(t *testing.T) {
	const load = "2026-11-20 10:00:00 0.1 0.1 0 77 a 200 GET\n" +
		"2026-11-20 10:00:00 0 0 0 6 \"b%20 c?status=404\" 200 GET\n" +
		"2026-11-20 10:00:00 0 0 0 6 d 304 GET\n" +
		"2026-11-20 10:00:00 0 0 0 9 u?status=201 201 PUT\n" +
		"2026-11-20 10:00:00 0 0 0 9 h 200 HEAD\n"
	s := newServer(t)
	once := replay(t, "--tps 100 -c 1 --rw 1000", write(t, load), s.URL)
	twice := replay(t, "--tps 100 -c 1 --rw 1000", write(t, convert.LoadHead+once.rows), s.URL)
	if untimed(once.rows) != untimed(twice.rows) {
		t.Errorf("%s\nbecame\n%s", once.rows, twice.rows)
	}
	want := "6 a 200 GET 100\n6 b%20%20c?status=404 404 GET 100  expectedRC=200\n6 d 200 GET 100  expectedRC=304\n9 u?status=201 201 PUT 100\n0 h 200 HEAD 100\n"
	if got := untimed(once.rows); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	first, _, _ := strings.Cut(once.rows, "\n")
	if _, err := time.ParseInLocation("2006-01-02 15:04:05.000", first[:23], time.Local); err != nil {
		t.Error(err)
	}
}

// A row without an answer says so.
func TestRowsWithoutAnswer(t *testing.T) {
	s := targettest.Serve(t, target.Options{HalfOpenRate: 1})
	r := replay(t, "--rate 100/s -c 1 --timeout 50ms --overflow drop", write(t, "/a\n/b\n/c\n"), s.URL())
	got := untimed(r.rows)
	if !strings.Contains(got, "0 a 444 GET 100\n") || !strings.Contains(got, " -1 GET 100\n") {
		t.Error(got)
	}
	r = replay(t, "--rate 100/s -c 1 --timeout 50ms --crash", write(t, "/a\n/b\n/c\n"), s.URL())
	if r.crash == nil || !strings.HasPrefix(r.crash.Error(), "GET /a (") || !strings.HasSuffix(r.crash.Error(), ":1): timeout") || !strings.Contains(r.shown, ":1): timeout, no answer\n") {
		t.Errorf("%v, %s", r.crash, r.shown)
	}
}

// What was never sent has no latency: 0 would be the best of all. And the size of a row
// is that of the body that was sent, however long it was when it was recorded.
func TestRowsSayWhatWas(t *testing.T) {
	s := newServer(t)
	log := write(t, "2026-11-20 10:00:00.000 0 0 0 0 x 200 PUT\n2026-11-20 10:00:00.100 0 0 0 100000000 y 200 PUT\n")
	r := replay(t, "--rw 1000 --rate 100/s", log, s.URL)
	if r.report.Counts.OK != 2 || !strings.Contains("\n"+untimed(r.rows), "\n1000 y ") {
		t.Errorf("%+v\n%s", r.report.Counts, untimed(r.rows))
	}
	o := &Options{engine: &engine.Options{}}
	e := &entry{uri: []byte("/a")}
	copy(e.method[:], "GET")
	dropped := o.row(e, &takt.Sample{Due: time.Second, Sent: takt.NotSent, Done: time.Second, Class: takt.ClassDropped}, time.Time{}, -1)
	if dropped.Latency != trace.Unknown || dropped.Status != statusNotSent {
		t.Errorf("%+v", dropped)
	}
}

// A replay that cannot keep up with the log did not achieve its rate: what is sent after
// the log's end counts as sent late.
func TestSlowReplay(t *testing.T) {
	s := targettest.Serve(t, target.Options{Service: "50ms"})
	var at []int
	for i := range 50 {
		at = append(at, 10*i)
	}
	r := replay(t, "-c 1", rows(t, at...), s.URL())
	if a, i := r.report.Rate.Achieved, *r.report.Rate.Intended; r.report.Counts.OK != 50 || i < 99 || i > 101 || a > 40 {
		t.Errorf("%v/s achieved of %v/s, %+v", a, i, r.report.Counts)
	}
}

// Only the first exchanges are shown, but all with --verbose.
func TestShown(t *testing.T) {
	s := newServer(t)
	log := write(t, strings.Repeat("/x?status=500\n", 30))
	if r := replay(t, "--rate 1000/s", log, s.URL); strings.Count(r.shown, "Request:") != shown {
		t.Error(r.shown)
	}
	if r := replay(t, "--rate 1000/s --verbose", log, s.URL); strings.Count(r.shown, "Request:") != 30 {
		t.Error(r.shown)
	}
	if r := replay(t, "--rate 1000/s --debug", write(t, "/x\n"), s.URL); !strings.Contains(r.shown, ":1): due 0.000000 s, sent 0.") {
		t.Error(r.shown)
	}
}

// --timeBudget sends nothing and takes 0.1 s.
func TestTimeBudget(t *testing.T) {
	r := replay(t, "--rate 1000/s --timeBudget", write(t, "/a\n/b\n"), "http://127.0.0.1:1")
	if l := r.report.Latency["service"]; r.report.Counts.OK != 2 || l.Min < 99e3 {
		t.Errorf("%+v", l)
	}
}

// leftOut is the table of what a replay left out.
func leftOut(r result) string {
	var rows []string
	list, _ := r.report.Extra[trace.LeftKey].([]any)
	for _, row := range list {
		m := row.(map[string]any)
		first := m["first"].(string)
		rows = append(rows, fmt.Sprintf("%v %v %v %v", m["count"], m["kind"], m["why"], first[strings.LastIndexByte(first, ':'):]))
	}
	return strings.Join(rows, "; ")
}

// Bad lines, and those that are no request, are counted and named.
func TestBadLines(t *testing.T) {
	const line = `10.0.0.1 - - [20/Nov/2026:10:00:0%d +0000] "%s" 200 6 "-" "-"` + "\n"
	text := fmt.Sprintf(line, 0, "GET /a HTTP/1.1") + "rubbish\n" + fmt.Sprintf(line, 0, "-") + fmt.Sprintf(line, 0, `\x16\x03\x01`) + fmt.Sprintf(line, 0, "POST /p HTTP/1.1")
	s := newServer(t)
	r := replay(t, "--format combined", write(t, text), s.URL)
	x := r.report.Extra
	if x["lines"] != uint64(5) || leftOut(r) != "1 no request the request is empty or - :3; 1 no request no METHOD and PATH, such as bytes of a TLS handshake :4; 1 bad line the line does not have the shape of the format :2; 1 not chosen the method is not GET or HEAD (--methods) :5" || x["spread_over_seconds"] != uint64(1) {
		t.Errorf("%v: %s", x, leftOut(r))
	}
	i := slices.IndexFunc(r.report.Warnings, func(w takt.Warning) bool { return w.Code == "bad_lines" })
	if i < 0 || !strings.HasPrefix(r.report.Warnings[i].Message, "1 of 5 lines could not be read and are not in the replay: ") || !strings.Contains(r.report.Warnings[i].Message, "log:2: ") || strings.Contains(r.report.Warnings[i].Message, "rubbish") {
		t.Errorf("%+v", r.report.Warnings)
	}
}
