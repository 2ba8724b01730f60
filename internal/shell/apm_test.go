package shell_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// apm serves what answers like an apm-server and like the cluster that it writes to, and
// gives its URL. All events become documents.
func apm(t *testing.T) (url string) {
	t.Helper()
	var documents, sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/intake/"):
			n := int64(events(r))
			documents.Add(n)
			sent.Add(n)
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprintf(w, `{"accepted":%d}`, n)
		case strings.HasSuffix(path, "/_count"):
			fmt.Fprintf(w, `{"count":%d}`, documents.Load())
		case strings.HasSuffix(path, "/_delete_by_query"):
			fmt.Fprintf(w, `{"deleted":%d}`, documents.Swap(0))
		case strings.HasPrefix(path, "/_cluster/health"):
			fmt.Fprint(w, `{"status":"yellow"}`)
		case path == "/debug/vars":
			fmt.Fprintf(w, `{"libbeat.pipeline.events.active":0,"libbeat.output.events.acked":%d}`, sent.Load())
		case path == "/":
			fmt.Fprint(w, `{"version":"7.17.29"}`)
		case strings.HasSuffix(path, "/_refresh"):
			fmt.Fprint(w, `{}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// events counts those of a request: the lines behind that of metadata.
func events(r *http.Request) (n int) {
	in, err := gzip.NewReader(r.Body)
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		n++
	}
	return n - 1
}
