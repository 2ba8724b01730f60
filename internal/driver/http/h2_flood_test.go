package http_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/test/h2test"
)

// How many frames a flood has, and one whose acknowledgments nobody reads, which would need 27 MB;
// and how much the heap may grow. The engine itself needs up to 8 MB.
const (
	floodFrames = 50_000
	deafFrames  = 3_000_000
	floodMemory = 16 << 20
)

// h2Flood is what a server sends again and again before it answers.
type h2Flood struct {
	name  string
	first func(c *h2test.Conn, r *h2test.Request) // nil: nothing
	frame func(c *h2test.Conn, r *h2test.Request) []byte
	last  func(c *h2test.Conn, r *h2test.Request) // nil: the answer
	// What a client counts of 3 requests, the second of which meets the flood. A client may also
	// give up its stream or the connection, and the third request may be on that by then.
	want, net h2Want
}

func frameOf(kind http2.FrameType, flags http2.Flags, payload string) func(*h2test.Conn, *h2test.Request) []byte {
	return func(*h2test.Conn, *h2test.Request) []byte { return h2test.Frame(kind, flags, 0, []byte(payload)) }
}

func streamFrame(kind http2.FrameType, flags http2.Flags, payload string) func(*h2test.Conn, *h2test.Request) []byte {
	return func(c *h2test.Conn, r *h2test.Request) []byte {
		return h2test.Frame(kind, flags, r.ID, []byte(payload))
	}
}

const (
	endured = h2Want("1+ ok, malformed|too_large|closed|reset")
	failing = h2Want("1+ ok, 1+ malformed|too_large|closed|reset|timeout")
)

var h2Floods = []h2Flood{
	{name: "SETTINGS", frame: frameOf(http2.FrameSettings, 0, "\x00\x03\x00\x00\x00\x64"), want: endured},
	{name: "empty SETTINGS", frame: frameOf(http2.FrameSettings, 0, ""), want: endured},
	{name: "PING", frame: frameOf(http2.FramePing, 0, "12345678"), want: endured},
	{name: "acknowledgments of PING", frame: frameOf(http2.FramePing, http2.FlagPingAck, "12345678"), want: endured},
	{name: "empty DATA", first: status, frame: streamFrame(http2.FrameData, 0, ""), want: endured},
	{name: "DATA of padding alone", first: status, frame: streamFrame(http2.FrameData, http2.FlagDataPadded, "\x00"), want: endured},
	{name: "DATA beyond every window", first: status, frame: streamFrame(http2.FrameData, 0, strings.Repeat("x", 1000)), want: endured},
	{name: "WINDOW_UPDATE of the connection", frame: frameOf(http2.FrameWindowUpdate, 0, "\x00\x00\x00\x01"), want: endured},
	{name: "WINDOW_UPDATE of a stream", frame: streamFrame(http2.FrameWindowUpdate, 0, "\x00\x00\x00\x01"), want: endured},
	{name: "PRIORITY", frame: streamFrame(http2.FramePriority, 0, "\x00\x00\x00\x00\x10"), want: endured},
	{name: "unknown frames", frame: frameOf(0x42, 0xff, strings.Repeat("x", 100)), want: endured},
	{name: "103", frame: streamFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, "\x08\x03103"), want: endured},
	{name: "GOAWAY", frame: frameOf(http2.FrameGoAway, 0, "\x7f\xff\xff\xff\x00\x00\x00\x00"), want: endured},
	{name: "empty CONTINUATION", first: func(c *h2test.Conn, r *h2test.Request) { c.Raw(http2.FrameHeaders, 0, r.ID, "\x88") },
		frame: streamFrame(http2.FrameContinuation, 0, ""),
		last: func(c *h2test.Conn, r *h2test.Request) {
			c.Raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, r.ID, "")
			c.Data(r.ID, true, "ok")
		}, want: endured},
	{name: "CONTINUATION without end", first: func(c *h2test.Conn, r *h2test.Request) { c.Raw(http2.FrameHeaders, 0, r.ID, "\x88") },
		frame: streamFrame(http2.FrameContinuation, 0, "\x00\x01a\x7f\xa1\x1e"+strings.Repeat("x", 4000)),
		last:  func(*h2test.Conn, *h2test.Request) {}, want: failing},
	{name: "CONTINUATION of one endless field", first: func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, 0, r.ID, "\x88\x00\x01a\x7f\xff\xff\xff\x7f")
	},
		frame: streamFrame(http2.FrameContinuation, 0, strings.Repeat("x", 4000)),
		last:  func(*h2test.Conn, *h2test.Request) {}, want: failing},
	{name: "RST_STREAM of ended streams", frame: func(c *h2test.Conn, r *h2test.Request) []byte {
		return h2test.Frame(http2.FrameRSTStream, 0, 1, []byte("\x00\x00\x00\x08"))
	}, want: endured},
}

// script floods the second request. It notes what the heap has grown by then.
func (f *h2Flood) script(deaf bool, grown *atomic.Int64) func() h2test.Script {
	return func() h2test.Script {
		var before int64
		var flooded atomic.Bool
		measured := make(chan struct{})
		return h2test.Script{
			Deaf: func(*h2test.Conn) bool { return deaf && flooded.Load() },
			Request: func(c *h2test.Conn, r *h2test.Request) {
				if r.N == 1 {
					c.Answer(r)
					return
				} else if r.N > 2 { // so that the run goes on until the heap is measured
					c.Go(func() { <-measured; c.Answer(r) })
					return
				}
				before = heap()
				flooded.Store(true)
				if f.first != nil {
					f.first(c, r)
				}
				c.Go(func() {
					whole := f.flood(c, r, deaf)
					if whole && f.last == nil && !deaf {
						whole = c.Sync() // no garbage of a client that is still busy with the flood
					}
					grown.Store(heap() - before)
					close(measured)
					switch {
					case !whole:
					case f.last != nil:
						f.last(c, r)
					default:
						c.Complete(r)
					}
				})
			},
		}
	}
}

// flood is false if the client has ended the connection.
func (f *h2Flood) flood(c *h2test.Conn, r *h2test.Request, deaf bool) bool {
	const batch = 500
	frames := []byte(strings.Repeat(string(f.frame(c, r)), batch))
	n := floodFrames
	if deaf {
		n = deafFrames
	}
	for range n / batch {
		if !deaf {
			c.Expect(batch)
		}
		if !c.Bytes(frames) {
			return false
		}
	}
	return true
}

// heap is what is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A flood ends with an answer or with the connection, and the client keeps nothing of it.
func TestH2Flood(t *testing.T) {
	quietly(t)
	for _, f := range h2Floods {
		for _, client := range h2Clients() {
			t.Run(fmt.Sprintf("%s/%v", f.name, client), func(t *testing.T) {
				var grown atomic.Int64
				c := h2Case{name: f.name, script: f.script(false, &grown), change: only(3), want: f.want, net: f.net}
				c.run(t, client, h2Alone)
				if n := grown.Load(); n > floodMemory {
					t.Errorf("the flood has left %d kB", n>>10)
				}
			})
		}
	}
}

// The server reads no acknowledgment of its floods: a client may not collect them. Its operations
// time out if it waits until it can write.
func TestH2DeafFlood(t *testing.T) {
	quietly(t)
	for _, f := range h2Floods[:3] {
		for _, client := range h2Clients() {
			t.Run(fmt.Sprintf("%s/%v", f.name, client), func(t *testing.T) {
				var grown atomic.Int64
				c := h2Case{name: f.name, script: f.script(true, &grown), change: only(3), want: "1+ ok, malformed|closed|reset|timeout"}
				before := heap()
				c.run(t, client, h2Alone)
				if n := max(grown.Load(), heap()-before); n > floodMemory {
					t.Errorf("the flood has left %d kB", n>>10)
				}
			})
		}
	}
}

// An answer of 64 MB is not kept.
func TestH2LargeAnswer(t *testing.T) {
	quietly(t)
	const size = 64 << 20
	for _, client := range h2Clients() {
		t.Run(client.String(), func(t *testing.T) {
			var before, grown atomic.Int64
			c := h2Case{name: "large", change: only(2), want: "2 ok", script: each(func(c *h2test.Conn, r *h2test.Request) {
				if r.N == 1 {
					before.Store(heap())
					c.Large(r, size)
					return
				}
				grown.Store(heap() - before.Load())
				c.Answer(r)
			})}
			c.run(t, client, h2Alone)
			if n := grown.Load(); n > floodMemory {
				t.Errorf("an answer of %d MB has left %d kB", size>>20, n>>10)
			}
		})
	}
}
