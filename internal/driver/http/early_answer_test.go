package http_test

import (
	"bufio"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// A server may answer before it has read the body, and close: the answer counts, although the
// socket then refuses the rest of the request. The report says that bodies were not sent.
func TestEarlyAnswer(t *testing.T) {
	for _, how := range []string{"loop", "worker"} {
		t.Run(how, func(t *testing.T) {
			r := loadEarly(t, "own", how, func() {})
			clean(t, r, 40)
			if w := warned(r, warn.EarlyAnswers); !strings.HasPrefix(w, "40 answers came before ") {
				t.Errorf("the warning is %q", w)
			}
		})
	}
	t.Run("net", func(t *testing.T) { // of a server that reads no more: a reset would cost net/http answers
		r := loadEarly(t, "net", "worker", func() { <-t.Context().Done() })
		clean(t, r, 40)
		if w := warned(r, warn.EarlyAnswers); w == "" {
			t.Errorf("no warning of early answers in %+v", r.Warnings)
		}
	})
}

func warned(r *takt.Report, code takt.WarningCode) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// loadEarly loads a server that answers before it reads the body, and closes after wait.
func loadEarly(t *testing.T, client, how string, wait func()) *takt.Report {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close() // with unread bytes, so the client gets a reset
				if _, err := nethttp.ReadRequest(bufio.NewReaderSize(c, 16)); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
				}
				wait()
			}()
		}
	}()
	o := options(client)
	// more than the sockets' buffers hold, 4 MiB and what a server takes that reads no body: a smaller one
	// is whole in them when the answer of a slow server comes
	o.Method, o.Body = "POST", strings.Repeat("x", 16<<20)
	if err := o.FailOn.Set("none"); err != nil {
		t.Fatal(err)
	}
	return loadWith(t, o, engine.Options{Requests: 40, Connections: 4, Engine: how}, "http://"+l.Addr().String())
}
