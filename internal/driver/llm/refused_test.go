package llm

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// advice is that of the warning with this code; "": there is none.
func advice(r *takt.Report, code takt.WarningCode) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Advice
		}
	}
	return ""
}

// A server that refuses all requests: the report says what to check.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		path, model, key string
		status           int
		want             string // of the advice; "": no warning
	}{
		{"", "m", "", 401, "give the API key: --bearer-file FILE"},
		{"/v1/messages", "m", "", 401, "give the API key: -H 'x-api-key: KEY'"},
		{"", "m", "secret", 403, "check the API key"},
		{"", "m", "", 404, "check the path /v1/chat/completions and --model m"},
		{"", "", "", 404, "name of the model with --model"},
		{"", "", "", 405, "does not take POST"},
		{"", "", "", 422, "most servers want --model NAME"},
		{"", "m", "", 400, "--extra sets members"},
		{"", "m", "", 429, "lower the load"},
		{"", "m", "", 500, ""},
		{"", "m", "", 200, ""},
	} {
		url := serve(t, func(w http.ResponseWriter, _ map[string]any) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
		})
		o := New()
		o.Model, o.conn.Credentials.Bearer = c.model, takt.Secret(c.key)
		r := load(t, o, url+c.path, func(e *engine.Options) { e.Requests = 2 })
		if got := advice(r, warn.RequestsRefused); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("status %d: %q; want %q", c.status, got, c.want)
		}
	}
	redirects := serve(t, func(w http.ResponseWriter, _ map[string]any) { w.WriteHeader(307) })
	r := load(t, New(), redirects, func(e *engine.Options) { e.Requests = 1 })
	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Sample, "status 307 and no stream; give the url") {
		t.Errorf("%+v", r.Errors)
	}
}

// A server that closes after each stream, although it does not say so, as llama.cpp's does: requests that met the close are
// counted, and the advice of the warning helps.
func TestServerThatCloses(t *testing.T) {
	for _, how := range []string{"loop", "worker"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go closeAfterOne(c)
			}
		}()
		run := func(header string) *takt.Report {
			o := New()
			if err := o.conn.Header.Set(header); err != nil {
				t.Fatal(err)
			}
			return load(t, o, "http://"+listener.Addr().String(), func(e *engine.Options) { e.Requests, e.Engine = 20, how })
		}
		r := run("X-Nothing: special")
		closed := uint64(0)
		for _, e := range r.Errors {
			if e.Class == "closed" {
				closed = e.Count
			}
		}
		if closed == 0 || !strings.Contains(advice(r, warn.StaleConnections), "-H 'Connection: close'") {
			t.Errorf("%s: %+v, %+v", how, r.Errors, r.Warnings)
		}
		for _, w := range r.Warnings {
			if w.Code == warn.StaleConnections && w.Fields[0].Value != float64(closed) {
				t.Errorf("%s: %q; %d requests have the class", how, w.Message, closed)
			}
		}
		if r := run("Connection: close"); r.Counts.OK != 20 || r.Warned(warn.StaleConnections) {
			t.Errorf("%s: %+v, %+v", how, r.Counts, r.Warnings)
		}
	}
}

// closeAfterOne answers one request, and closes when the next one comes, or the client closes.
func closeAfterOne(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	q, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, q.Body)
	body := "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if next, err := http.ReadRequest(in); err == nil {
		_, _ = io.Copy(io.Discard, next.Body)
	}
}
