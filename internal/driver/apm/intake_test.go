package apm

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// intake is a server that takes events as apm-server does, and remembers requests.
type intake struct {
	*httptest.Server
	status int    // 0: by what was sent
	body   string // of the answer with status
	hang   bool
	quit   chan struct{}

	mu   sync.Mutex
	seen []seen
}

// seen is one request.
type seen struct {
	method, uri string
	header      http.Header
	kinds       map[string]int // events of v2 by kind, v1 by list
	text        []byte
	chunked     bool
}

func startIntake(t *testing.T, change func(*intake)) *intake {
	t.Helper()
	s := &intake{quit: make(chan struct{})}
	if change != nil {
		change(s)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.quit)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// ServeHTTP implements http.Handler.
func (s *intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.hang:
		<-s.quit
		return
	case s.status != 0:
		s.answer(w, s.status, s.body)
		return
	}
	one := seen{method: r.Method, uri: r.RequestURI, header: r.Header, kinds: map[string]int{}, chunked: len(r.TransferEncoding) > 0}
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			s.answer(w, 400, err.Error())
			return
		}
		from = z
	}
	var err error
	if one.text, err = io.ReadAll(from); err != nil {
		s.answer(w, 400, err.Error())
		return
	}
	n, err := one.read()
	s.mu.Lock()
	s.seen = append(s.seen, one)
	s.mu.Unlock()
	switch {
	case err != nil:
		s.answer(w, 400, fmt.Sprintf(`{"accepted":%d,"errors":[{"message":%q}]}`, n, err))
	case r.Method == "GET":
		s.answer(w, 200, "{}")
	default:
		s.answer(w, 202, fmt.Sprintf(`{"accepted":%d}`, n))
	}
}

func (s *intake) answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if status >= 400 {
		w.Header().Set("Connection", "close") // as apm-server
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the sender may have gone
}

// read counts the events: metadata stand first, and there only.
func (one *seen) read() (n int, err error) {
	if one.method == "GET" {
		return 0, nil
	}
	if strings.Contains(one.uri, "/v1/") {
		var d map[string]json.RawMessage
		if err := json.Unmarshal(one.text, &d); err != nil {
			return 0, err
		}
		for _, list := range []string{"transactions", "errors", "metrics"} {
			var all []any
			if d[list] != nil {
				err = json.Unmarshal(d[list], &all)
				one.kinds[list] += len(all)
			}
		}
		return 0, err
	}
	lines := bufio.NewScanner(strings.NewReader(string(one.text)))
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		var e map[string]any
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || len(e) != 1 || first != (e["metadata"] != nil) {
			return n, fmt.Errorf("line %.60q: %v", lines.Text(), err)
		}
		for kind := range e {
			one.kinds[kind]++
		}
		if !first {
			n++
		}
	}
	return n, lines.Err()
}

// requests are those so far.
func (s *intake) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.seen...)
}
