package h2test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Conn is a connection of a client, as scripts use it. What it sends may be wrong; it counts as
// sent in any case.
type Conn struct {
	N int // number of the connection, from 1

	server *Server
	raw    *net.TCPConn
	out    io.Writer // raw, or TLS on it
	in     *http2.Framer
	ended  chan struct{} // closed when the client has ended the connection
	deaf   chan struct{} // closed when the server reads no more
	watch

	write  sync.Mutex // one frame, or one header block, at a time
	enc    *hpack.Encoder
	buf    bytes.Buffer
	left   int // bytes that may still go out; negative: no limit
	cut    func()
	closed bool // nothing more goes out
}

// Seen is what came on this connection so far.
func (c *Conn) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := newSeen()
	s.add(&c.seen)
	return s
}

// Go runs f beside the reader of the connection, so f may wait for the client.
func (c *Conn) Go(f func()) { c.server.running.Go(f) }

// Bytes writes b as it is.
func (c *Conn) Bytes(b []byte) bool {
	c.write.Lock()
	defer c.write.Unlock()
	return c.send(b)
}

// send writes b, or as much as CutAfter allows. It is false if not all of b went out.
func (c *Conn) send(b []byte) bool {
	if c.closed {
		return false
	}
	if c.left >= 0 && len(b) >= c.left {
		whole := len(b) == c.left
		_, err := c.out.Write(b[:c.left])
		c.closed = true
		c.cut()
		return whole && err == nil
	}
	if c.left >= 0 {
		c.left -= len(b)
	}
	_, err := c.out.Write(b)
	return err == nil
}

// CutAfter lets n more bytes go out, and calls cut in place of the rest.
func (c *Conn) CutAfter(n int, cut func()) {
	c.write.Lock()
	defer c.write.Unlock()
	c.left, c.cut = n, cut
}

// Frame is a frame as bytes: RFC 9113, 4.1.
func Frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(kind), byte(flags), 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[5:], stream)
	return append(b, payload...)
}

// Raw writes one frame, right or wrong.
func (c *Conn) Raw(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) bool {
	if kind == http2.FrameHeaders {
		c.head(stream)
	}
	return c.Bytes(Frame(kind, flags, stream, []byte(payload)))
}

// Settings writes SETTINGS. The client has to obey what rises or falls once it has
// acknowledged it, and may use what rises at once.
func (c *Conn) Settings(list ...http2.Setting) {
	var b []byte
	for _, s := range list {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(s.ID)), s.Val)
	}
	c.announce(list)
	c.Raw(http2.FrameSettings, 0, 0, string(b))
}

// Window writes WINDOW_UPDATE, for the connection if stream is 0.
func (c *Conn) Window(stream uint32, n uint32) {
	c.grant(stream, int64(n))
	c.Raw(http2.FrameWindowUpdate, 0, stream, uint32s(n))
}

// Return gives the client back what n bytes of a request's body have used of its windows.
func (c *Conn) Return(r *Request, n int) {
	c.Window(0, uint32(n))
	if !r.Ended {
		c.Window(r.ID, uint32(n))
	}
}

// Reset writes RST_STREAM.
func (c *Conn) Reset(stream uint32, code http2.ErrCode) {
	c.endStream(stream)
	c.Raw(http2.FrameRSTStream, 0, stream, uint32s(uint32(code)))
}

// GoAway writes GOAWAY. A PING after it shows when the client has seen it.
func (c *Conn) GoAway(last uint32, code http2.ErrCode) {
	c.mu.Lock()
	c.away, c.before = true, c.pings
	c.mu.Unlock()
	c.Raw(http2.FrameGoAway, 0, 0, uint32s(last, uint32(code)))
}

// Ping writes PING.
func (c *Conn) Ping() {
	c.mu.Lock()
	c.pings++
	c.mu.Unlock()
	c.Raw(http2.FramePing, 0, 0, "takttakt")
}

// syncPing is the PING of Sync.
const syncPing = "syncsync"

// Sync waits until the client has seen everything so far. It is false if the client has ended the
// connection. Not for the goroutine that reads, and not twice at a time.
func (c *Conn) Sync() bool {
	c.mu.Lock()
	c.synced = false
	c.pings++
	c.mu.Unlock()
	c.Raw(http2.FramePing, 0, 0, syncPing)
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.synced && !c.gone {
		c.changed.Wait()
	}
	return c.synced
}

// Expect allows the client to acknowledge n more SETTINGS and PINGs, which Bytes will write.
func (c *Conn) Expect(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pings += n
	for range n {
		c.may.Announce()
	}
}

// Head writes the header block of an answer, or its trailers: names and values by turns.
func (c *Conn) Head(stream uint32, end bool, fields ...string) {
	flags := http2.FlagHeadersEndHeaders
	c.head(stream)
	if end {
		flags |= http2.FlagHeadersEndStream
		c.endStream(stream)
	}
	c.write.Lock()
	defer c.write.Unlock()
	if c.send(Frame(http2.FrameHeaders, flags, stream, c.block(fields))) && end {
		c.answered()
	}
}

// Block is an encoded header block. It changes the state of the encoder, so it has to be sent.
func (c *Conn) Block(fields ...string) string {
	c.write.Lock()
	defer c.write.Unlock()
	return string(c.block(fields))
}

func (c *Conn) block(fields []string) []byte {
	c.buf.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // a buffer's errors
	}
	return bytes.Clone(c.buf.Bytes())
}

// Data writes one DATA frame, whatever the window of the client is.
func (c *Conn) Data(stream uint32, end bool, body string) bool {
	flags := http2.Flags(0)
	if end {
		flags = http2.FlagDataEndStream
		c.endStream(stream)
	}
	if !c.Raw(http2.FrameData, flags, stream, body) {
		return false
	}
	if end {
		c.answered()
	}
	return true
}

// Answer answers with status 200 and "ok".
func (c *Conn) Answer(r *Request) {
	if r.Method == "HEAD" {
		c.Head(r.ID, true, ":status", "200", "content-length", "2")
		return
	}
	c.Head(r.ID, false, ":status", "200", "content-length", "2", "server", "h2test")
	c.Data(r.ID, true, "ok")
}

// Complete sends what the answer to r lacks, if anything.
func (c *Conn) Complete(r *Request) {
	headed, done := c.progress(r.ID)
	if done {
		return
	}
	if !headed {
		c.Head(r.ID, false, ":status", "200")
	}
	c.Data(r.ID, true, "ok")
}

// Large answers with status 200 and a body of n bytes, within the windows of the client.
func (c *Conn) Large(r *Request, n int) {
	c.Head(r.ID, false, ":status", "200")
	c.Go(func() {
		for n > 0 {
			part := c.reserve(r.ID, n)
			if part == 0 {
				return // the client has ended the stream or the connection
			}
			n -= part
			if !c.Data(r.ID, n == 0, strings.Repeat("x", part)) {
				return
			}
		}
	})
}

// Close ends the server's half of the connection in order, and goes on reading: to close the
// socket with unread bytes in it would reset the connection.
func (c *Conn) Close() {
	c.write.Lock()
	defer c.write.Unlock()
	c.closed = true
	c.Finish()
}

// Finish is what Close does, for CutAfter.
func (c *Conn) Finish() {
	if s, ok := c.out.(*tls.Conn); ok {
		_ = s.CloseWrite() // the client may be gone
	}
	_ = c.raw.CloseWrite()
}

// HangUp ends the server's half of the connection without an alert of TLS.
func (c *Conn) HangUp() {
	_ = c.raw.CloseWrite() // the client may be gone
}

// Ended waits until the client has ended the connection. Not for the goroutine that reads.
func (c *Conn) Ended() {
	select {
	case <-c.ended:
	case <-c.server.end:
	}
}

// Wait waits for d. It is false if the client has reset the stream of r, or ended the connection.
func (c *Conn) Wait(r *Request, d time.Duration) bool {
	select {
	case <-c.ended:
	case <-c.server.end:
	case <-time.After(d):
		return c.wanted(r.ID)
	}
	return false
}

// Abort resets the connection.
func (c *Conn) Abort() {
	_ = c.raw.SetLinger(0) // the client may be gone
	_ = c.raw.Close()
}

func uint32s(list ...uint32) string {
	var b []byte
	for _, v := range list {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return string(b)
}
