package kafka

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
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
			conn.Close() // only this says that all was read
			got <- string(b)
		}
	}()
	var out bytes.Buffer
	o := producerOf(broker(t))
	o.Graphite.IP, o.Graphite.Port, _ = net.SplitHostPort(server.Addr().String())
	o.Graphite.Prefix = "pfx"
	o.Watch(&out)
	r := run(t, o, requests(100))
	if len(drivertest.Doubts(r)) != 1 || warned(r) { // the doubt is that the loop is closed
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

// A Graphite that is not there, and one that resets the connection before it has read the lines, cost no record.
func TestGraphiteIsDown(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	go func() {
		for {
			conn, err := deaf.Accept()
			if err != nil {
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	for _, address := range []string{"127.0.0.1:1", deaf.Addr().String()} {
		o := producerOf(broker(t))
		o.Graphite.IP, o.Graphite.Port, _ = net.SplitHostPort(address)
		r := run(t, o, requests(100))
		if r.Counts.OK != 100 {
			t.Errorf("counts %+v", r.Counts)
		}
		if !warned(r) {
			t.Errorf("%s: warnings %v", address, r.Warnings)
		}
	}
}

// warned reports whether the figures of an interval did not reach Graphite.
func warned(r *takt.Report) bool {
	return slices.ContainsFunc(r.Warnings, func(w takt.Warning) bool {
		return w.Code == "graphite" && strings.Contains(w.Message, "1 intervals did not reach Graphite")
	})
}
