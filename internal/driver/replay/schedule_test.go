package replay

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// dues are the operations of a command line: number, due instant and URI.
func dues(t *testing.T, line string, logs ...string) (list []string, src takt.Source) {
	t.Helper()
	o, e, faults := command(t, line, append(logs, "http://127.0.0.1:1")...)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	base, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	src, err = o.Source(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.close)
	var op takt.Op
	for feed := src.(engine.Feed); ; {
		switch ok := feed.Next(&op); {
		case ok && (src.End() < 0 || op.Due < src.End()):
			list = append(list, fmt.Sprintf("%d %v %s", op.Seq, op.Due, op.Data.(*trace.Record).URI))
		case ok || !feed.Starved():
			return list, src
		}
	}
}

// rows is a log of requests at these milliseconds.
func rows(t *testing.T, at ...int) string {
	var b strings.Builder
	for i, ms := range at {
		fmt.Fprintf(&b, "2026-11-20 10:00:%02d.%03d 0 0 0 1 %d 200 GET\n", ms/1000, ms%1000, i)
	}
	return write(t, b.String())
}

func TestDues(t *testing.T) {
	log := rows(t, 0, 250, 1100, 1200)
	other := rows(t, 200, 1150)
	for _, c := range []struct {
		flags string
		logs  []string
		want  string
		end   time.Duration
		early bool
	}{
		{"", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2, 3 1.2s /3", 1600 * time.Millisecond, false},
		{"--speed 10x", []string{log}, "0 0s /0, 1 25ms /1, 2 110ms /2, 3 120ms /3", 160 * time.Millisecond, false},
		{"--speed 0.5", []string{log}, "0 0s /0, 1 500ms /1, 2 2.2s /2, 3 2.4s /3", 3200 * time.Millisecond, false},
		{"", []string{log, other}, "0 0s /0, 1 200ms /0, 2 250ms /1, 3 1.1s /2, 4 1.15s /1, 5 1.2s /3", 1440 * time.Millisecond, false},
		{"-n 3", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2", 1650 * time.Millisecond, false},
		{"-n 3 --duration 5s", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2", 1650 * time.Millisecond, false},
		{"-n 3 --duration 1.2s", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2", 1200 * time.Millisecond, false},
		{"-n 2 --warmup 200ms", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2", 1650 * time.Millisecond, false},
		{"-n 2 --path /[03]", []string{log}, "0 0s /0, 1 1.2s /3", 2400 * time.Millisecond, false},
		{"--duration 1s", []string{log}, "0 0s /0, 1 250ms /1", time.Second, false},
		{"--duration 1s --warmup 150ms", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2", 1150 * time.Millisecond, false},
		{"--duration 5s", []string{log}, "0 0s /0, 1 250ms /1, 2 1.1s /2, 3 1.2s /3", 1600 * time.Millisecond, true},
		{"--shard 2/2", []string{log}, "1 250ms /1, 3 1.2s /3", 1600 * time.Millisecond, false},
		{"--thunder", []string{log}, "0 0s /0, 1 0s /1, 2 1s /2, 3 1s /3", 1600 * time.Millisecond, false},
		{"--tps 10", []string{log}, "0 0s /0, 1 100ms /1, 2 200ms /2, 3 300ms /3", 400 * time.Millisecond, false},
		{"--tps 2.5", []string{log}, "0 0s /0, 1 400ms /1, 2 800ms /2, 3 1.2s /3", 1600 * time.Millisecond, false},
		{"--tps 10 --duration 300ms", []string{log}, "0 0s /0, 1 100ms /1, 2 200ms /2", 300 * time.Millisecond, false},
		{"--tps 10 --duration 1s", []string{log}, "0 0s /0, 1 100ms /1, 2 200ms /2, 3 300ms /3", 400 * time.Millisecond, true},
		{"--tps 10 --duration 600ms --rewind", []string{log}, "0 0s /0, 1 100ms /1, 2 200ms /2, 3 300ms /3, 4 400ms /0, 5 500ms /1", 600 * time.Millisecond, false},
		{"--tps 10 --shard 2/2", []string{log}, "1 100ms /1, 3 300ms /3", 400 * time.Millisecond, false},
		{"--rate max", []string{log}, "0 -1ns /0, 1 -1ns /1, 2 -1ns /2, 3 -1ns /3", -1, false},
	} {
		list, src := dues(t, c.flags, c.logs...)
		if got := strings.Join(list, ", "); got != c.want || src.End() != c.end || src.(engine.Feed).EndedEarly() != c.early {
			t.Errorf("%s: %s, want %s; end %v, want %v; early %v", c.flags, got, c.want, src.End(), c.end, !c.early)
		}
	}
	list, src := dues(t, "--tps 10 --duration 600ms --rewind", log)
	if c, ok := src.(takt.Counter); !ok || c.DueBefore(250*time.Millisecond) != 3 || len(list) != 6 {
		t.Errorf("%v", list)
	}
}

// The predecessor's ramp: its last step is the highest that is not above --tps.
func TestRamp(t *testing.T) {
	for flags, want := range map[string]string{
		"--tps 30 --progress 10":                               "10s@10/s,10s@20/s,10s@30/s",
		"--tps 35 --duration 2s --progress 10":                 "2s@10/s,2s@20/s,2s@30/s",
		"--tps 30 --start-tps 25 --duration 1s --progress 5/s": "1s@25/s,1s@30/s",
		"--tps 0.3 --progress 0.1":                             "10s@0.1/s,10s@0.2/s,10s@0.3/s",
		"--tps 10 --progress 10":                               "10s@10/s",
	} {
		o, e, _ := command(t, flags)
		for range 2 { // once more changes nothing
			if e.Stages.String() != want || e.Duration != 0 || len(o.faults) > 0 || o.Seed.Step == 0 {
				t.Errorf("%s: %s, want %s; %v", flags, e.Stages, want, o.faults)
			}
			o.Shape(e)
		}
	}
	for _, text := range []string{"auto", "line", "none", "max", "0", "-1"} {
		if New().SetStep(text) {
			t.Errorf("%s is a step", text)
		}
	}
}

func TestRateAt(t *testing.T) {
	o, _, _ := command(t, "--stages 2s@10/s,2s@10/s..30/s,1s@0 --warmup 1s")
	for at, want := range map[time.Duration]float64{0: 10, time.Second: 10, 2900 * time.Millisecond: 10, 3 * time.Second: 10, 4 * time.Second: 20, 5500 * time.Millisecond: 0} {
		if got := o.rateAt(at); got != want {
			t.Errorf("%v: %v, want %v", at, got, want)
		}
	}
	o, _, _ = command(t, "")
	if o.rateAt(time.Second) != 0 {
		t.Error("the recorded times have a rate")
	}
}

func TestFaults(t *testing.T) {
	log := rows(t, 0)
	const url = "http://127.0.0.1:8080/"
	for _, c := range []struct {
		flags string
		args  []string
		want  string
	}{
		{"", nil, "neither a log nor a URL"},
		{"", []string{log}, "there is one argument, "},
		{"", []string{url, log}, `the first argument, "` + url + `", is a URL, and must be a log`},
		{"", []string{url}, `"` + url + `", is a URL, and must be a log`},
		{"", []string{log + "x", url}, "cannot read the log"},
		{"", []string{".", url}, "is a folder"},
		{"", []string{log, "http://127.0.0.1/?a=b"}, "has a query"},
		{"--start-tps 5 --tps 10", []string{log, url}, "--start-tps is given without --progress"},
		{"--start-tps 5", []string{log, url}, "give its highest rate with --tps"},
		{"--tps 10 --start-tps 20 --progress 1", []string{log, url}, "has no step"},
		{"--tps 1000000 --progress 1", []string{log, url}, "more than 10000"},
		{"--tps -1", []string{log, url}, "give a number above 0"},
		{"--tps NaN", []string{log, url}, "give a number above 0"},
		{"--tps Inf", []string{log, url}, "give a number above 0"},
		{"--tps 1 --start-tps NaN", []string{log, url}, "give a number above 0"},
		{"--tps 1 --rate 2/s", []string{log, url}, "both --tps and --rate"},
		{"--rewind", []string{log, url}, "--rewind needs a rate"},
		{"--rewind --tail --tps 1", []string{log, url}, "both --rewind and --tail"},
		{"--tail", []string{log, log, url}, "--tail follows one file"},
		{"--tail", []string{"-", url}, "--tail follows one file"},
		{"--tail --dry-run", []string{log, url}, "both --tail and --dry-run"},
		{"--speed 2x --tps 1", []string{log, url}, "both --speed and a rate"},
		{"--ro --rw 5", []string{log, url}, "more than one of --ro, --rw and --wo"},
		{"--methods GET --wo 5", []string{log, url}, "both --methods and one of"},
		{"--headers nocolon", []string{log, url}, "--headers has a word without a colon"},
		{"--header X:{{.Seq}}", []string{log, url}, "has a placeholder"},
		{"--s3 --s3-bucket b --s3-key k", []string{log, url}, "--s3 is given without --s3-secret"},
		{"--format nothing", []string{log, url}, "is not known"},
	} {
		_, _, faults := command(t, c.flags, c.args...)
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("%s %v: %v, want %s", c.flags, c.args, faults, c.want)
		}
	}
	_, _, faults := command(t, "--rewind --speed 3x --ro --wo 1 --s3", "x", "y")
	if text := errors.Join(faults...).Error(); len(faults) < 6 {
		t.Errorf("not every fault at once: %s", text)
	}
	for _, s := range []string{"0", "x", "-1", "1e9", "NaN", "2xx"} {
		var v speed
		if v.Set(s) == nil {
			t.Errorf("speed %s", s)
		}
	}
}

// A log without a request is an error that says why, before the run.
func TestNothing(t *testing.T) {
	o, e, faults := command(t, "--status 5xx --format load", write(t, "2026-11-20 10:00:00 0 0 0 1 a 200 GET\nx\n"), "http://127.0.0.1:1")
	base, err := e.Source()
	if len(faults) > 0 || err != nil {
		t.Fatal(faults, err)
	}
	if _, err = o.Source(t.Context(), base); err == nil || !strings.Contains(err.Error(), ": 1 bad line: fewer than the 9 columns of the load format, or no status and method in the 8th and 9th (") || !strings.Contains(err.Error(), "; 1 not chosen: the recorded status is not one of --status (") {
		t.Error(err)
	}
}

// --tail takes what is written from now on, also to the file that takes its place; each
// is due when it was read.
func TestTail(t *testing.T) {
	log := write(t, "2026-11-20 10:00:00 0 0 0 1 old 200 GET\n")
	add := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	o, e, faults := command(t, "--tail", log, "http://127.0.0.1:1")
	base, err := e.Source()
	if len(faults) > 0 || err != nil {
		t.Fatal(faults, err)
	}
	src, err := o.Source(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	feed := src.(engine.Feed)
	var op takt.Op
	if feed.Next(&op) || !feed.Starved() || src.End() != -1 {
		t.Error("what was there is not to be replayed")
	}
	took := func() string {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			if feed.Next(&op) {
				return fmt.Sprintf("%d %s", op.Seq, op.Data.(*trace.Record).URI)
			}
		}
		return "nothing"
	}
	began := time.Now()
	add(log, "2026-11-20 10:00:01 0 0 0 1 new 200 GET\n")
	if got := took(); got != "0 /new" || op.Due < soon || op.Due > time.Since(began)+time.Second {
		t.Errorf("%s, due %v", got, op.Due)
	}
	before := op.Due
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	add(log+".1", "2026-11-20 10:00:02 0 0 0 1 last 200 GET\n")
	add(log, "2026-11-20 10:00:03 0 0 0 1 next 200 GET\n")
	if got := took() + ", " + took(); got != "1 /last, 2 /next" || op.Due < before {
		t.Error(got)
	}
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * 20 * time.Millisecond) // until the follower has seen it
	add(log, "2026-11-20 10:00:04 0 0 0 1 cut 200 GET\n")
	if got := took(); got != "3 /cut" {
		t.Error(got)
	}
	o.close()
	for deadline := time.Now().Add(time.Minute); feed.Next(&op) || feed.Starved(); {
		if time.Now().After(deadline) {
			t.Fatal("it does not stop")
		}
	}
	if a := o.run.Load().log.seen(); a.lines.Records != 4 || a.left.Count(trace.Bad) != 0 {
		t.Errorf("%+v", a)
	}
}

// What is signed is what arrives: the server computes the signature of the request
// that it got. The vectors that Amazon published are held in package trace.
func TestS3(t *testing.T) {
	for _, client := range []string{"own", "net"} {
		verdicts := make(chan string, 10)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, max(0, r.ContentLength))
			_, _ = r.Body.Read(body) // one read has a few bytes
			at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			signer := signer{Key: "key", Secret: "secret", Region: "canada"}
			want := signer.Sign(signedRequest{Method: r.Method, Host: r.Host, URI: r.RequestURI, PayloadHash: payloadHash(body), At: at})
			verdicts <- fmt.Sprint(r.Method, " ", r.RequestURI, " ", err == nil && want.Authorization == r.Header.Get("Authorization") && want.PayloadHash == r.Header.Get("X-Amz-Content-Sha256"))
		}))
		defer s.Close()
		log := write(t, "- - 0 0 0 5 a%20b 200 GET\n- - 0 0 0 5 c 200 PUT\n- - 0 0 0 5 d 200 DELETE\n")
		r := replay(t, "--rate 100/s -c 1 --methods * --s3 --s3-bucket bucket --s3-key key --s3-secret secret --s3-region canada --client "+client, log, s.URL)
		if got := <-verdicts + ", " + <-verdicts; got != "GET /bucket/a%20b true, PUT /bucket/c true" || strings.Count(r.rows, "\n") != 2 {
			t.Errorf("%s: %s\n%s", client, got, r.rows)
		}
		found := false
		for _, w := range r.report.Warnings {
			found = found || w.Code == "not_sendable" && strings.HasPrefix(w.Message, "1 requests were left out")
		}
		if !found {
			t.Errorf("%+v", r.report.Warnings)
		}
	}
}

func TestLedger(t *testing.T) {
	l := newLedger()
	if l.take(0, new(entry)) {
		t.Error("an empty ledger has an entry")
	}
	for n := range uint64(ledgerSize + 2) {
		l.note(&takt.Op{Seq: 3 * n, Data: &trace.Record{Method: []byte("GET"), URI: fmt.Appendf(nil, "/%d", n)}}, 0)
	}
	var e entry
	if l.take(0, &e) || l.take(3*ledgerSize+1, &e) || l.take(1<<40, &e) {
		t.Error("an entry that was overwritten was found")
	}
	l.answered(3*ledgerSize, 7)
	l.answered(3, 8) // too late
	if !l.take(3*ledgerSize, &e) || e.answer != 7 || string(e.uri) != fmt.Sprint("/", ledgerSize) || string(e.name()) != "GET" {
		t.Errorf("%+v", e)
	}
	if l.take(3*ledgerSize, &e) {
		t.Error("taken twice")
	}
	if !l.take(6, &e) || string(e.uri) != "/2" || e.answer != 0 {
		t.Errorf("%+v", e)
	}
}

// A log begins again at its end, whether it is kept in memory or read again.
func TestRewound(t *testing.T) {
	for _, long := range []bool{false, true} {
		log := rows(t, 0, 1, 2)
		o, e, faults := command(t, "--rate 1000/s --rewind --for 3", log, "http://127.0.0.1:1")
		if _, err := e.Source(); len(faults) > 0 || err != nil {
			t.Fatal(faults, err)
		}
		p, err := o.openLogs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.src.(*rewound).long = long
		var rec trace.Record
		var got string
		for range 8 {
			if err := p.Next(&rec); err != nil {
				t.Fatal(err)
			}
			got += string(rec.URI)
		}
		a := p.seen()
		want := uint64(3)
		if long {
			want = 8
		}
		if got != "/0/1/2/0/1/2/0/1" || a.again != 2 || a.lines.Records != want {
			t.Errorf("%s, %+v", got, a)
		}
		_ = p.Close() // it gives no error
	}
	o, _, _ := command(t, "--rate 1000/s --rewind", write(t, "# nothing\n"), "http://127.0.0.1:1")
	p, err := o.openLogs(t.Context())
	var rec trace.Record
	if err != nil || p.Next(&rec) != io.EOF || p.Next(&rec) != io.EOF {
		t.Error("an empty log goes on")
	}
}

// What is told of --rewind is what was sent: of a short log the reading is hundreds of
// passes ahead.
func TestRewoundOften(t *testing.T) {
	s := newServer(t)
	for flags, want := range map[string]any{
		"-n 7": uint64(2), "-n 3": nil, "-n 4": uint64(1), "-n 30 --shard 3/3": uint64(9), "-n 2 --for 1": uint64(1),
	} {
		r := replay(t, "--rate 2000/s --rewind "+flags, rows(t, 0, 1, 2), s.URL)
		if got := r.report.Extra["log_began_again"]; got != want {
			t.Errorf("%s: %v, not %v", flags, got, want)
		}
	}
}
