package replay

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// drainFeed takes all operations of a source; the error is what ended it.
func drainFeed(src takt.Source, each func(*trace.Record)) error {
	feed := src.(engine.Feed)
	var op takt.Op
	for {
		switch ok := feed.Next(&op); {
		case ok:
			each(op.Data.(*trace.Record))
		case !feed.Starved():
			return feed.Err()
		}
	}
}

// What a browser sent comes again with its type and its header; the flags win over it,
// and what is of a person stays out and is counted.
func TestArchive(t *testing.T) {
	const entry = `{"startedDateTime":"2026-05-01T10:00:00Z","time":1,"request":{"method":"POST","url":"http://h/form","headers":[
		{"name":":method","value":"POST"},{"name":"X-Api","value":"7"},{"name":"accept","value":"application/json"},{"name":"Content-Type","value":"application/json"},
		{"name":"Cookie","value":"secret"},{"name":"Accept-Encoding","value":"br"},{"name":"Content-Length","value":"7"}],"postData":{"mimeType":"text/plain","text":"{\"a\":1}"}}}`
	log := write(t, `{"log":{"entries":[`+entry+`,`+strings.ReplaceAll(entry, `"text":"{\"a\":1}"`, `"text":""`)+`]}}`)
	for _, client := range []string{"own", "net"} {
		s := newServer(t)
		r := replay(t, "--rate 500/s -c 1 --methods POST --client "+client, log, s.URL)
		replay(t, "--rate 500/s -c 1 --methods POST -H X-Api:8 -H Content-Type:a/b -A text/html --client "+client, log, s.URL)
		replay(t, "--rate 500/s -c 1 --methods POST -T c/d --client "+client, log, s.URL)
		for i, want := range []string{
			"7|application/json|application/json|gzip|", "7|application/json|application/json|gzip|",
			"8|text/html|a/b|gzip|", "8|text/html|a/b|gzip|", "7|application/json|c/d|gzip|", "7|application/json||gzip|",
		} {
			h := s.seen[i].Header
			got := strings.Join([]string{all(h, "X-Api"), all(h, "Accept"), all(h, "Content-Type"), all(h, "Accept-Encoding"), all(h, "Cookie")}, "|")
			if got != want {
				t.Errorf("%s, %d: %s, want %s", client, i, got, want)
			}
		}
		if s.body[0] != `{"a":1}` || s.body[1] != "" {
			t.Errorf("%q", s.body)
		}
		if leftOut(r) != "2 without header cookie :1" || !has(r, "headers_left_out") {
			t.Errorf("%v", r.report.Extra)
		}
	}
}

func all(h http.Header, name string) string { return strings.Join(h.Values(name), ",") }

// The dates of a load file are of no use at a rate, whatever they are.
func TestLoadWithoutDates(t *testing.T) {
	s := newServer(t)
	log := write(t, "1 March 0 0 0 5 a 200 PUT\nx y z 0 0 5 b 200 PUT\n01-Mar-2017 17:59:59 0 0 0 5 c 200 PUT\n")
	r := replay(t, "--tps 500 -c 1 --wo 5", log, s.URL)
	if got := s.asked(); len(got) != 3 || !strings.HasPrefix(got[1], "PUT /b ") || leftOut(r) != "2 without the time, which is not understood; a replay at a rate does not need it :1" {
		t.Errorf("%q, %v", got, r.report.Extra)
	}
	if got := sourceError(t, "--wo 5 --format load", write(t, "x y z 0 0 5 b 200 PUT\n")); !strings.Contains(got, "a replay at a rate, as with --tps, does not need it") {
		t.Error(got)
	}
}

// A host that no request can have is not kept, which is counted.
func TestHostsThatCannotBeKept(t *testing.T) {
	s := newServer(t)
	r := replay(t, "--rate 500/s -c 1 --keep-host", write(t, `{"time":"2026-11-24 10:00:00","host":"a b","uri":"/x","status":200}`+"\n"+`{"time":"2026-11-24 10:00:00","host":"shop.example","uri":"/x","status":200}`+"\n"), s.URL)
	if got := []string{s.seen[0].Host, s.seen[1].Host}; !slices.Equal(got, []string{strings.TrimPrefix(s.URL, "http://"), "shop.example"}) || leftOut(r) != "1 without the recorded host, which cannot be sent :1" || !has(r, "without_host") {
		t.Errorf("%q, %v", got, r.report.Extra)
	}
}

// An empty log is said to be one.
func TestEmptyLog(t *testing.T) {
	log := write(t, "")
	if got := sourceError(t, "", log); got != log+" has no lines; give another log; takt replay --tail waits for what will be written" {
		t.Error(got)
	}
}
