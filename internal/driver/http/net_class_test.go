package http

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// net/http tells requests that their connection could not be established, and not that the server refused the
// client certificate, which over TLS 1.3 a server does after the handshake.
func TestClassOfAConnectionThatWasNeverUsed(t *testing.T) {
	told := errors.New("http2: client conn could not be established")
	fail := func(ctx context.Context, c net.Conn) (r takt.Result) {
		seen := &trace{r: &r}
		seen.gotConn(httptrace.GotConnInfo{Conn: c})
		(&netWorker{c: &netClient{o: &Options{}}}).fail(ctx, &r, told, seen)
		return r
	}
	if r := fail(t.Context(), nil); r.Class != http1.ClassClosed || r.Err != told {
		t.Errorf("without TLS: %s, %v", r.Class, r.Err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	connect := func() *tls.Conn {
		c, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is the server above
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for _, read := range []bool{false, true} { // by net/http, before
		c := connect()
		if read {
			_, _ = c.Read(make([]byte, 1))
		}
		if r := fail(t.Context(), c); r.Class != engine.ClassTLS || !strings.Contains(r.Err.Error(), "certificate required") {
			t.Errorf("refused, read %v: %s, %v", read, r.Class, r.Err)
		}
	}
	mine, other := net.Pipe()
	defer other.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if r := fail(over, tls.Client(mine, &tls.Config{InsecureSkipVerify: true})); r.Class != http1.ClassClosed || r.Err != told { //nolint:gosec // nobody answers
		t.Errorf("a reason that nobody says: %s, %v", r.Class, r.Err)
	}
}
