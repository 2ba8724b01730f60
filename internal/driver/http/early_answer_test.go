package http_test

import (
	"bufio"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
)

// A server may answer before it has read the body, and close: the answer counts, although the
// socket then refuses the rest of the request.
func TestEarlyAnswer(t *testing.T) {
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
			}()
		}
	}()
	o := options("own")
	o.Method, o.Body = "POST", strings.Repeat("x", 4<<20)
	if err := o.FailOn.Set("none"); err != nil {
		t.Fatal(err)
	}
	clean(t, loadWith(t, o, engine.Options{Requests: 40, Connections: 4}, "http://"+l.Addr().String()), 40)
}
