package graphite

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/test/metricstest"
	"github.com/taktload/takt/internal/value"
)

// serve answers each connection by do, on a free port.
func serve(t *testing.T, do func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go do(c)
		}
	}()
	return l.Addr().String()
}

func open(t *testing.T, where string, run *metrics.Run) metrics.Exporter {
	t.Helper()
	d, err := Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.Open(*run)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The receiver gets a line for each figure, with safe names, and no second twice.
func TestExport(t *testing.T) {
	got := make(chan string, 10)
	address := serve(t, func(c net.Conn) {
		defer c.Close()
		text, _ := io.ReadAll(c)
		got <- string(text)
	})
	batches := metricstest.Batches(t, "2/3")
	e := open(t, address+"/load.check out/x", batches[0].Run)
	var all []string
	for _, b := range batches {
		if err := e.Export(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		all = append(all, <-got)
	}
	const prefix = "load.check_out_x.shard-2_3."
	want := []string{
		"scheduled 1002", "ok 1000", "failed 2", "dropped 0", "sent_bytes 1000", "received_bytes 20000", "errors.5xx 2",
		"response_ms.p50 1.000447", "response_ms.p90 1.000447", "response_ms.p99 1.000447", "response_ms.p99_9 20.004863", "response_ms.max 20.004863",
		"service_ms.p50 1.000447", "service_ms.p90 1.000447", "service_ms.p99 1.000447", "service_ms.p99_9 20.004863", "service_ms.max 20.004863",
		"schedule_lag_ms.p99 0.05", "in_flight 7", "unread 3",
	}
	for i, stamp := range []string{"1795831201", "1795831202", "1795831203"} { // the second interval ends in the second of the first
		lines := want
		if i == 2 {
			lines = []string{"unfinished 5"}
		}
		var text strings.Builder
		for _, l := range lines {
			text.WriteString(prefix + l + " " + stamp + "\n")
		}
		if all[i] != text.String() {
			t.Errorf("batch %d:\n%s", i, all[i])
		}
	}
}

// What the receiver has not read to its end is not delivered.
func TestHostile(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	none, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = none.Close()
	for name, address := range map[string]string{
		"nobody listens": none.Addr().String(),
		"hangs":          serve(t, func(c net.Conn) { <-hang; _ = c.Close() }),
		"resets": serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 10))
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}),
	} {
		b := metricstest.Batches(t, "")[0]
		e := open(t, address, b.Run)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := e.Export(ctx, b); err == nil {
			t.Errorf("%s: delivered", name)
		}
		cancel()
	}
}

func TestParse(t *testing.T) {
	for where, want := range map[string]string{
		"graphite.example": "graphite.example:2003", "127.0.0.1:2103": "127.0.0.1:2103", "127.0.0.1:2103/a.b": "127.0.0.1:2103", "[::1]:1": "[::1]:1", "[::1]": "[::1]:2003", "[::1]/a": "[::1]:2003",
		"": "", ":2003": "", "host:port": "", "host:99999": "", "host:1/": "", "host:1/..": "",
	} {
		d, err := Parse(where)
		if (err == nil) != (want != "") || want != "" && !slices.Equal(d.Names, []value.Name{{Kind: value.Loads, Text: want}}) {
			t.Errorf("%q: %v, %v", where, d.Names, err)
		}
	}
	if got := prefixOf("", &metrics.Run{Kind: "kafka produce"}); got != "takt.kafka_produce" {
		t.Error(got)
	}
}
