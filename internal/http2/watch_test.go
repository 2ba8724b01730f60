package http2

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// watched notes what a Watcher is told, and refuses bodies with an x.
type watched struct{ strings.Builder }

func (w *watched) Head(tag int, contentType, coding string) {
	fmt.Fprintf(w, "%d head %s %q\n", tag, contentType, coding)
}

func (w *watched) Body(tag int, b []byte, ends bool) error {
	fmt.Fprintf(w, "%d %q %v\n", tag, b, ends)
	if strings.Contains(string(b), "x") {
		return errors.New("no x here")
	}
	return nil
}

func (w *watched) End(tag int, well bool) { fmt.Fprintf(w, "%d end %v\n", tag, well) }

// A Watcher sees good answers, their frames, and the end of all.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		class   string
		want    string
	}{
		"two frames": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("ab"))
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("c"))
		}, "", "0 head text/event-stream \"\"\n0 \"ab\" false\n0 \"\" true\n0 \"c\" false\n0 \"\" true\n0 end true\n"},
		"a failed answer": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); _, _ = w.Write([]byte("ab")) }, "5xx", "0 end false\n"},
		"a body that is refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("x"))
		}, http1.ClassTooLarge, "0 head a/b \"gzip\"\n0 \"x\" false\n0 end false\n"},
	} {
		t.Run(name, func(t *testing.T) {
			fail := func(status int) string {
				if status == 500 {
					return "5xx"
				}
				return ""
			}
			k, w := serve(t, rendered("GET", "/", nil), http1.Options{Fail: fail}, c.handler), new(watched)
			k.m.Watch(w)
			var r takt.Result
			k.m.Begin(&takt.Op{}, 0, &r)
			for !strings.Contains(w.String(), "end") {
				if !k.step() {
					t.Fatal("the connection ended")
				}
			}
			// Go's server may end the stream with a frame of its own, or with the last bytes.
			got := strings.Replace(w.String(), "0 \"c\" false\n0 end", "0 \"c\" false\n0 \"\" true\n0 end", 1)
			if got != c.want || r.Class != c.class {
				t.Errorf("class %q, seen\n%s\nwant %q and\n%s", r.Class, got, c.class, c.want)
			}
		})
	}
}
