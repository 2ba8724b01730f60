package grpc

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/grpctest"
)

// mostMemory is how much a wrong server may make a client use, in bytes. A bomb decompresses to as much.
const mostMemory = 64 << 20

// Each call to a server that does something wrong ends, with the class of what went wrong, and needs little memory.
func TestWrongThings(t *testing.T) {
	for _, w := range append(grpctest.All(), grpctest.Endless()) {
		for _, streams := range []string{streamsNone, streamsServer} {
			t.Run(w.Name+" "+streams, func(t *testing.T) {
				s := grpctest.Start(t, w)
				o := with("\x0a\x00")
				o.Raw, o.Streams, o.MessageMax = true, streams, grpctest.MessageMax
				if w.Class == grpctest.Timeout {
					o.conn.Timeout = 300 * time.Millisecond
				}
				peak := watchMemory()
				const n = 3
				// One call after the other: a fault of the connection would end others, too, with another class.
				r := drivertest.Make(t, drivertest.Plan(t, "grpc", o, func(e *engine.Options) { e.Requests, e.Connections, e.Drain = n, 1, engine.DrainOf(time.Minute) }, s.Addr+"/a.B/C"))
				if grown := peak(); grown > mostMemory {
					t.Errorf("%d MiB of memory", grown>>20)
				}
				class, got := w.ClassOf(streams == streamsServer), ""
				for _, e := range r.Errors {
					got += fmt.Sprintf("%d × %s (%s) ", e.Count, e.Class, e.Sample)
				}
				if class == "" && r.Counts.OK != n || class != "" && (len(r.Errors) != 1 || r.Errors[0].Class != class || r.Errors[0].Count != n) {
					t.Errorf("%d are ok, %d unfinished, %s; want %q", r.Counts.OK, r.Counts.Unfinished, got, class)
				}
			})
		}
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
