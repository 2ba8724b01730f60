package http_test

import (
	"bytes"
	"compress/gzip"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// An answer whose body does not match has failed, and its body is shown.
func TestExpectBody(t *testing.T) {
	e := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/long" {
			_, _ = io.WriteString(w, strings.Repeat("x", 122_000)) // chunked
		}
		if r.URL.Path == "/longer" {
			_, _ = io.WriteString(w, strings.Repeat("x", 1_100_000))
		}
		_, _ = io.WriteString(w, "balance: "+r.URL.RawQuery)
	})
	both(t, func(t *testing.T, client string) {
		for _, path := range []string{"/", "/long", "/longer"} {
			o := options(client)
			if err := o.ExpectBody.Set(`balance: \d+$`); err != nil {
				t.Fatal(err)
			}
			if path == "/longer" { // what matches is behind the first MiB
				if r := load(t, o, 3, e.URL+path+"?42"); r.Counts.Failed != 3 || r.Errors[0].Class != "body" || !strings.Contains(r.Errors[0].Sample, "longer than the first 1 MiB") {
					t.Errorf("%+v %+v", r.Counts, r.Errors)
				}
				continue
			}
			clean(t, load(t, o, 3, e.URL+path+"?42"), 3)
			r := load(t, o, 3, e.URL+path+"?none")
			if r.Counts.Failed != 3 || r.Errors[0].Class != "body" || !strings.Contains(r.Errors[0].Sample, "does not match") {
				t.Errorf("%+v %+v", r.Counts, r.Errors)
			}
			if path == "/" && r.Errors[0].Body != "balance: none" {
				t.Errorf("the body shown is %q", r.Errors[0].Body)
			}
		}
		if got := e.requests()[0].Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("a body that is to be read was asked for with Accept-Encoding %q", got)
		}
	})
}

// A body is checked as it is decoded, and the reason for a mismatch is in the report: empty, cut, or in a coding that
// takt does not have.
func TestExpectBodyDecoded(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, "balance: 42")
	_ = z.Close()
	e := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		case "/zstd":
			w.Header().Set("Content-Encoding", "zstd")
			_, _ = w.Write(packed.Bytes())
		}
	})
	for _, c := range []struct{ path, pattern, want string }{
		{"/gzip", `balance: \d+$`, ""}, {"/gzip", "debt", `does not match "debt"`}, {"/zstd", "balance", "takt does not decode"}, {"/empty", "balance", "no body"},
	} {
		both(t, func(t *testing.T, client string) {
			o := options(client)
			if err := o.ExpectBody.Set(c.pattern); err != nil {
				t.Fatal(err)
			}
			r := load(t, o, 3, e.URL+c.path)
			if c.want == "" {
				clean(t, r, 3)
			} else if r.Counts.Failed != 3 || r.Errors[0].Class != "body" || !strings.Contains(r.Errors[0].Sample, c.want) {
				t.Errorf("%s, %s: %+v %+v", c.path, c.pattern, r.Counts, r.Errors)
			}
			if c.path == "/gzip" && c.want != "" && r.Errors[0].Body != "balance: 42" {
				t.Errorf("the body shown is %q", r.Errors[0].Body)
			}
		})
	}
}

// A server that redirects to another one, also to another port of its host, does not give it the credentials.
func TestRedirectsKeepCredentials(t *testing.T) {
	other := startEcho(t, nil)
	first := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/":
			nethttp.Redirect(w, r, "/again", nethttp.StatusFound)
		case "/again":
			nethttp.Redirect(w, r, other.URL+"/other", nethttp.StatusFound)
		}
	})
	o := options("auto")
	o.Redirects = 2
	for _, h := range []string{"cookie: sid=1", "X-Mine: x"} {
		if err := o.Header.Set(h); err != nil {
			t.Fatal(err)
		}
	}
	load(t, o, 1, strings.Replace(first.URL, "http://", "http://ann:secret@", 1))
	requests := append(first.requests(), other.requests()...)
	if len(requests) != 3 {
		t.Fatalf("%+v", requests)
	}
	for i, want := range []string{"Basic YW5uOnNlY3JldA==sid=1x", "Basic YW5uOnNlY3JldA==sid=1x", "x"} {
		if h := requests[i].Header; h.Get("Authorization")+h.Get("Cookie")+h.Get("X-Mine") != want {
			t.Errorf("request %d: %q", i, h)
		}
	}
}

// Redirects are followed as often as was asked, and else are the answer.
func TestRedirects(t *testing.T) {
	e := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if n, _ := strconv.Atoi(r.URL.Path[1:]); n > 0 {
			nethttp.Redirect(w, r, "/"+strconv.Itoa(n-1), nethttp.StatusTemporaryRedirect)
		}
	})
	for _, c := range []struct {
		hops, follow int
		status       string
		requests     int
	}{
		{0, 2, "200", 1}, {1, 0, "307", 1}, {1, 1, "200", 2}, {3, 3, "200", 4}, {3, 2, "307", 3},
	} {
		o := options("auto")
		o.Redirects, o.Method, o.Body = c.follow, "POST", "again"
		r := load(t, o, 2, e.URL+"/"+strconv.Itoa(c.hops))
		got := e.requests()
		if r.Status[c.status] != 2 || len(got) != 2*c.requests {
			t.Errorf("%d hops, %d followed: status %v, %d requests", c.hops, c.follow, r.Status, len(got))
		}
		for _, s := range got {
			if s.Body != "again" {
				t.Errorf("the body became %q", s.Body)
			}
		}
		warned := r.Warned("redirects")
		if warned != (c.status == "307") {
			t.Errorf("%d hops, %d followed: warnings %+v", c.hops, c.follow, r.Warnings)
		}
	}
}

// The bytes of all hops count, also where each has a connection of its own.
func TestRedirectBytes(t *testing.T) {
	const sent, received = 2000, 3000
	e := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/" {
			w.Header().Set("Location", "/there")
			w.WriteHeader(nethttp.StatusTemporaryRedirect)
		}
		io.WriteString(w, strings.Repeat("x", received))
	})
	o := options("auto")
	o.Redirects, o.Method, o.Body = 1, "POST", strings.Repeat("y", sent)
	r := load(t, o, 3, e.URL+"/")
	if got := r.Bytes; r.Counts.OK != 3 || got.Sent < 3*2*sent || got.Sent > 3*2*(sent+1000) || got.Received < 3*2*received || got.Received > 3*2*(received+1000) {
		t.Errorf("%+v, %+v", r.Counts, got)
	}
}

// What net/http sends again is counted, and a redirect that is followed is not,
// however the operation ends.
func TestRetries(t *testing.T) {
	var last sync.Map // the connections that had a request
	e := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, again := last.LoadOrStore(r.RemoteAddr, true)
		switch {
		case r.URL.Path == "/again" && again:
			panic(nethttp.ErrAbortHandler) // the connection breaks
		case r.URL.Path == "/hang":
			<-r.Context().Done()
		case r.URL.Path == "/":
			nethttp.Redirect(w, r, r.URL.RawQuery, nethttp.StatusFound)
		}
	})
	for to, want := range map[string]any{"/fine": nil, "/hang": nil, "/again": uint64(1)} {
		o := options("auto")
		if o.Redirects, o.Timeout = 1, time.Minute; to == "/hang" {
			o.Timeout = 200 * time.Millisecond
		}
		r := load(t, o, 1, e.URL+"/?"+to)
		if got := r.Extra["net_retries"]; got != want {
			t.Errorf("%s: %v retries, want %v; %+v", to, got, want, r.Errors)
		}
	}
}
