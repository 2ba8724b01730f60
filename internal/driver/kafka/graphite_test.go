package kafka

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/drivertest"
)

func TestGraphite(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	got := make(chan string, 100)
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(conn)
			got <- string(b)
		}
	}()
	var out bytes.Buffer
	o := producerOf(broker(t))
	o.Graphite.IP, o.Graphite.Port, _ = net.SplitHostPort(server.Addr().String())
	o.Graphite.Prefix = "pfx"
	o.Watch(&out)
	if r := run(t, o, requests(100)); len(drivertest.Doubts(r)) != 1 { // that the loop is closed
		t.Errorf("warnings %v", r.Warnings)
	}
	form := regexp.MustCompile(`^pfx\.sangrenel\.rate \d+\.\d{6} \d{10}
pfx\.sangrenel\.error_rate 0\.000000 \d{10}
pfx\.sangrenel\.output \d+\.\d{6} \d{10}
pfx\.sangrenel\.p99 \d+\.\d{6} \d{10}
$`)
	if lines := <-got; !form.MatchString(lines) {
		t.Errorf("Graphite got %q", lines)
	}
	if !strings.Contains(out.String(), "worker_1 connected") {
		t.Errorf("narrated %q", out.String())
	}
}

func TestGraphiteIsDown(t *testing.T) {
	o := producerOf(broker(t))
	o.Graphite.IP, o.Graphite.Port = "127.0.0.1", "1"
	r := run(t, o, requests(100))
	if r.Counts.OK != 100 {
		t.Errorf("counts %+v", r.Counts)
	}
	var warned bool
	for _, w := range r.Warnings {
		warned = warned || w.Code == "graphite" && strings.Contains(w.Message, "1 intervals did not reach Graphite")
	}
	if !warned {
		t.Errorf("warnings %v", r.Warnings)
	}
}
