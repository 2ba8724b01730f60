package shell

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
)

// pipes is a listener of connections in memory, whose time limits follow the test's clock.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.over); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// ask sends a request, and returns all that comes back until the server closes the connection.
func (p *pipes) ask(t *testing.T, request string) string {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	p.conns <- server
	fmt.Fprint(client, request)
	answer, err := io.ReadAll(client)
	if err != nil {
		t.Errorf("%.60q: %v", request, err)
	}
	return string(answer)
}

// A request that is refused before its body is read does not keep its connection by half a body, and is in
// the audit log.
func TestAPIHalfBody(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit")
	s, err := Listen(Options{Addr: "127.0.0.1:0", DumpDir: t.TempDir(), AuditLog: log}, Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.closeListeners()
	refused := 0
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		over := make(chan struct{})
		go func() { defer close(over); _ = newAPI(s).run(ctx, door.Limited(l, maxAPIConns)) }() // "context canceled"
		for first, want := range map[string]string{
			"POST /nope HTTP/1.1\r\nHost: 127.0.0.1": "404", "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1": "405", "POST /v1/lines HTTP/1.1\r\nHost: evil.example": "421",
			"POST /v1/lines HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example": "403", "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1": "404", "POST /v1/lines HTTP/1.1\r\nHost: 127.0.0.1": "408",
		} {
			began := time.Now()
			answer := l.ask(t, first+"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
			if refused++; !strings.HasPrefix(answer, "HTTP/1.1 "+want) || time.Since(began) > bodyTime+time.Second {
				t.Errorf("%s: after %v %.100s", first, time.Since(began), answer)
			}
		}
		refused++
		if answer := l.ask(t, "POST /v1/lines HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3;x\n{}\n0\n\n"); !strings.HasPrefix(answer, "HTTP/1.1 400") {
			t.Errorf("chunks that end with LF: %.100s", answer)
		}
		cancel()
		<-over
	})
	text, err := os.ReadFile(log)
	logged := strings.Count(string(text), `"outcome":"refused: `) + s.audit.left
	for _, m := range regexp.MustCompile(`"refused: (\d+) more, for reasons of lines above`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1]) // digits
		logged += n - 1            // without the line itself
	}
	if err != nil || logged != refused {
		t.Errorf("%d of %d refusals are in the audit log: %v\n%s", logged, refused, err, text)
	}
}
