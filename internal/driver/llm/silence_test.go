package llm

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// silence is how long the server of stalling says nothing.
const silence = 100 * time.Millisecond

// endings are how streams end without their last event, by the class of the failure over HTTP/1.1 and over HTTP/2.
var endings = map[string][2]string{
	"end of HTTP": {"cut", "cut"}, "error": {"error_event", "error_event"}, "abort": {"truncated", "reset"},
	"close": {"truncated", "truncated"}, "reset": {"reset", "reset"}, "timeout": {"timeout", "timeout"},
}

// stalling is the URL of a server that sends a token, is silent, and ends the stream in that way.
func stalling(t *testing.T, ending string, secure bool) string {
	type key struct{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(silence)
		switch c := q.Context().Value(key{}).(*net.TCPConn); ending {
		case "error":
			_, _ = io.WriteString(w, "data: {\"error\":{\"message\":\"out of memory\"}}\n\ndata: [DONE]\n\n")
		case "timeout":
			<-q.Context().Done()
		case "reset":
			_ = c.SetLinger(0)
			_ = c.Close()
		case "close":
			_ = c.Close()
		case "abort":
			panic(http.ErrAbortHandler)
		}
	}))
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if over, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = over.NetConn()
		}
		return context.WithValue(ctx, key{}, c)
	}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL
}

// The silence before a stream breaks off, fails or is given up is a gap that a user has waited for.
func TestSilenceBeforeTheEnd(t *testing.T) {
	for way, set := range map[string]func(o *Options, e *engine.Options){
		"loop":        func(_ *Options, e *engine.Options) { e.Engine = "loop" },
		"worker":      func(_ *Options, e *engine.Options) { e.Engine = "worker" },
		"loop, TLS":   func(o *Options, e *engine.Options) { e.Engine, o.conn.TLS.Insecure = "loop", true },
		"worker, TLS": func(o *Options, e *engine.Options) { e.Engine, o.conn.TLS.Insecure = "worker", true },
		"h2":          func(o *Options, _ *engine.Options) { o.conn.HTTP2 = true },
		"talks":       func(o *Options, _ *engine.Options) { o.Turns = "1" },
		"talks, h2":   func(o *Options, _ *engine.Options) { o.Turns, o.conn.HTTP2 = "1", true },
	} {
		for ending, classes := range endings {
			t.Run(way+", "+ending, func(t *testing.T) {
				t.Parallel()
				o := New()
				var shape engine.Options
				set(o, &shape)
				if ending == "timeout" {
					o.conn.Timeout = 2 * silence
				}
				r := load(t, o, stalling(t, ending, o.conn.TLS.Insecure)+"/v1/chat/completions", func(e *engine.Options) {
					e.Requests, e.Connections, e.Engine, e.Drain = 1, 1, shape.Engine, engine.DrainOf(drivertest.Longest)
				})
				class := classes[0]
				if o.conn.HTTP2 {
					class = classes[1]
				}
				if r.Counts.Failed != 1 || r.Errors[0].Class != class {
					t.Fatalf("%+v, %+v; want %s", r.Counts, r.Errors, class)
				}
				all, first, gap := r.Latency[takt.LatencyResponse].Max, r.Latency["ttft"].Max, r.Latency["maxgap"].Max
				if gap < (all-first)/2 {
					t.Errorf("the longest gap is %v µs, although the only token came after %v and the stream was over after %v", gap, first, all)
				}
			})
		}
	}
}
