package grpc

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/grpctest"
	"github.com/taktload/takt/internal/test/h2test"
	"github.com/taktload/takt/pkg/takt"
)

// mostMemory is how much a wrong server may make a client use, in bytes. A bomb decompresses to as much.
const mostMemory = 64 << 20

// samples are what the samples of some failures say.
var samples = map[string]string{
	"trailers alone that say OK": "no message came", "no message": "no message came", "two messages": "more than one", "no trailers": "without grpc-status",
	"a status that is no number": `"OK"`, "two statuses": "two different", "a bad percent encoding": "internal: %zz%%4",
	"a page": `"text/html"`, "no content type": "no content type", "shorter than said": "middle of a message",
	"2^32-1 bytes": "4294967295 bytes", "flag 255": "flag", "a gzip bomb": "after decompression", "gzip that is cut": "gzip",
	"compressed without an encoding": "no grpc-encoding", "an unknown encoding": "takt knows gzip",
	"a reset before the head": "INTERNAL_ERROR", "a reset after the head": "CANCEL",
}

// Each call to a server that does something wrong ends, with the class of what went wrong, and needs little memory, in the loop
// and by workers.
func TestWrongThings(t *testing.T) {
	unsaid := maps.Clone(samples)
	for _, w := range append(grpctest.All(), grpctest.Endless()) {
		for _, streams := range []string{streamsNone, streamsServer} {
			for _, mode := range []string{"loop", "worker"} {
				t.Run(w.Name+" "+streams+" "+mode, func(t *testing.T) { meets(t, w, streams, mode) })
			}
		}
		delete(unsaid, w.Name)
	}
	if len(unsaid) > 0 {
		t.Errorf("no server does %v", unsaid)
	}
}

// meets makes some calls to w.
func meets(t *testing.T, w grpctest.Wrong, streams, mode string) {
	s := grpctest.Start(t, w)
	o := with("\x0a\x00")
	o.Raw, o.Streams, o.MessageMax = true, streams, grpctest.MessageMax
	if w.Class == grpctest.Timeout {
		o.conn.Timeout = 300 * time.Millisecond
	}
	peak := watchMemory()
	const n = 3
	// One call after the other: a fault of the connection would end others, too, with another class.
	p := drivertest.Plan(t, "grpc", o, func(e *engine.Options) {
		e.Requests, e.Connections, e.Drain, e.Engine = n, 1, engine.DrainOf(time.Minute), mode
	}, s.Addr+"/a.B/C")
	r := drivertest.Make(t, p)
	if grown := peak(); grown > mostMemory {
		t.Errorf("%d MiB of memory", grown>>20)
	}
	class, got := w.ClassOf(streams == streamsServer), ""
	for _, e := range r.Errors {
		got += fmt.Sprintf("%d × %s (%s) ", e.Count, e.Class, e.Sample)
	}
	if class == "" && r.Counts.OK != n || class != "" && (len(r.Errors) != 1 || r.Errors[0].Class != class || r.Errors[0].Count != n) || r.Generator.Engine != mode {
		t.Fatalf("%d are ok, %d unfinished by %s, %s; want %q", r.Counts.OK, r.Counts.Unfinished, r.Generator.Engine, got, class)
	}
	if said := samples[w.Name]; class != "" && !strings.Contains(r.Errors[0].Sample, said) {
		t.Errorf("the sample is %q; want %q in it", r.Errors[0].Sample, said)
	}
}

// A server that speaks something else is told apart from one that is down.
func TestOtherProtocols(t *testing.T) {
	s := h2test.Start(t, h2test.Script{Greet: func(c *h2test.Conn) { c.Bytes([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }})
	o := with("")
	o.Raw = true
	r := load(t, o, s.Addr+"/a.B/C", 1)
	if len(r.Errors) != 1 || r.Errors[0].Class != "protocol" || strings.Contains(r.Errors[0].Sample, "--h2") {
		t.Errorf("%+v", r.Errors)
	}
}

// watchMemory measures by how much the heap grows until it is called again.
func watchMemory() (peak func() uint64) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, stop, done := heap(), make(chan struct{}), make(chan uint64)
	go func() {
		for most := before; ; {
			select {
			case <-stop:
				done <- most - before
				return
			case <-time.After(5 * time.Millisecond):
				most = max(most, heap())
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}

// The silence before a status other than OK is a gap that a user has waited for.
func TestSilenceBeforeAFailure(t *testing.T) {
	s := h2test.Start(t, h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-type", "application/grpc")
		c.Data(r.ID, false, grpctest.Message(0, 2, "\x0a\x00"))
		time.Sleep(50 * time.Millisecond)
		c.Head(r.ID, true, "grpc-status", "14")
	}})
	o := with("\x0a\x00")
	o.Raw, o.Streams = true, streamsServer
	r := load(t, o, s.Addr+"/a.B/C", 1)
	all, first, gap := r.Latency[takt.LatencyResponse].Max, r.Latency["first_part_due"].Max, r.Latency["maxgap"].Max
	if r.Counts.Failed != 1 || first == 0 || gap < (all-first)/2 {
		t.Errorf("%+v: the longest gap is %v µs, although the only message came after %v and the status after %v", r.Errors, gap, first, all)
	}
}
