package shell

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A request that is refused before its body is read does not keep its connection by half a body.
func TestAPIHalfBody(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit")
	s, err := Listen(Options{HTTP: "127.0.0.1:0", DumpDir: t.TempDir(), AuditLog: log}, Host{})
	if err != nil {
		t.Fatal(err)
	}
	a := newAPI(s)
	a.bodyTime = time.Second / 2
	var all sync.WaitGroup
	ctx := t.Context()
	all.Go(func() { _ = a.run(ctx, s.http) }) // "context canceled"
	t.Cleanup(all.Wait)
	addr := s.http.Addr().String()
	for first, want := range map[string]string{
		"POST /nope HTTP/1.1\r\nHost: 127.0.0.1": "404", "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1": "405", "POST /v1/lines HTTP/1.1\r\nHost: evil.example": "421",
		"POST /v1/lines HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example": "403", "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1": "404", "POST /v1/lines HTTP/1.1\r\nHost: 127.0.0.1": "408",
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, first+"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+want) {
			t.Errorf("%s: %.100s, %v", first, answer, err)
		}
	}
	if text, err := os.ReadFile(log); err != nil || strings.Count(string(text), `"outcome":"refused: `) != 2 {
		t.Errorf("the page and the other host are to be in the audit log: %v\n%s", err, text)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/lines HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3;x\n{}\n0\n\n")
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
		t.Errorf("chunks that end with LF: %.100s, %v", answer, err)
	}
}
