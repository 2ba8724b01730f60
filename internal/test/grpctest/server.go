// Package grpctest has gRPC servers that do wrong things, for tests of clients. It speaks HTTP/2 by itself, so that it
// can be wrong in any frame.
package grpctest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Server does one wrong thing, on the loopback interface.
type Server struct {
	Addr string

	wrong    Wrong
	listener net.Listener
	end      chan struct{}
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// Start starts a server that lives as long as the test.
func Start(t testing.TB, w Wrong) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), wrong: w, listener: l, end: make(chan struct{})}
	s.running.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

func (s *Server) accept() {
	for {
		raw, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, raw)
		s.mu.Unlock()
		s.running.Go(func() { s.serve(raw.(*net.TCPConn)) })
	}
}

func (s *Server) close() {
	close(s.end)
	_ = s.listener.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Conn is a connection, as wrong things use it. What it writes to a client that is gone is lost.
type Conn struct {
	server *Server
	raw    *net.TCPConn
	gone   chan struct{} // closed when the client has left

	mu  sync.Mutex // one frame, or one block, at a time
	enc *hpack.Encoder
	buf bytes.Buffer
}

// serve reads the frames of a client, and lets the server do its thing with each call that is complete.
func (s *Server) serve(raw *net.TCPConn) {
	c := &Conn{server: s, raw: raw, gone: make(chan struct{})}
	c.enc = hpack.NewEncoder(&c.buf)
	defer close(c.gone)
	defer raw.Close()
	if _, err := io.ReadFull(raw, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	if s.wrong.Greet != nil {
		s.wrong.Greet(c)
	} else {
		c.Frame(http2.FrameSettings, 0, 0, "")
	}
	in := http2.NewFramer(nil, raw)
	for {
		f, err := in.ReadFrame()
		if err != nil {
			return
		}
		c.take(f)
	}
}

// take handles a frame of the client.
func (c *Conn) take(f http2.Frame) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			c.Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			c.Frame(http2.FramePing, http2.FlagPingAck, 0, string(f.Data[:]))
		}
	case *http2.HeadersFrame:
		if c.server.wrong.Open != nil {
			c.Go(func() { c.server.wrong.Open(c, f.StreamID) })
		}
		c.ends(f.StreamID, f.StreamEnded())
	case *http2.DataFrame:
		if n := len(f.Data()); n > 0 {
			c.Frame(http2.FrameWindowUpdate, 0, 0, Numbers(uint32(n)))
		}
		c.ends(f.StreamID, f.StreamEnded())
	}
}

func (c *Conn) ends(call uint32, ended bool) {
	if ended && c.server.wrong.Serve != nil {
		c.Go(func() { c.server.wrong.Serve(c, call) })
	}
}

// Go runs f beside the reader of the connection.
func (c *Conn) Go(f func()) { c.server.running.Go(f) }

// Bytes writes b as it is, and reports whether the client took it.
func (c *Conn) Bytes(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.raw.Write(b)
	return err == nil
}

// frame is a frame as bytes (RFC 9113, 4.1).
func frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(kind), byte(flags)}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// Frame writes one frame, right or wrong.
func (c *Conn) Frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) bool {
	return c.Bytes(frame(kind, flags, stream, payload))
}

// Head writes a head or trailers: names and values in turn.
func (c *Conn) Head(call uint32, end bool, fields ...string) { c.pieces(16384, call, end, fields) }

// flags are those of a frame that ends its stream, or does not.
func flags(end bool) http2.Flags {
	if end {
		return http2.FlagDataEndStream
	}
	return 0
}

// block encodes fields. It changes the state of the encoder, so it has to be sent under the same lock.
func (c *Conn) block(fields []string) string {
	c.buf.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // a buffer's errors
	}
	return c.buf.String()
}

// Pieces writes a head in frames of one byte each.
func (c *Conn) Pieces(call uint32, end bool, fields ...string) { c.pieces(1, call, end, fields) }

// pieces writes a head in a HEADERS frame and as many CONTINUATIONs as it needs.
func (c *Conn) pieces(most int, call uint32, end bool, fields []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, flag, block := http2.FrameHeaders, flags(end), c.block(fields)
	var b []byte
	for ; len(block) > most; block = block[most:] {
		b = append(b, frame(kind, flag, call, block[:most])...)
		kind, flag = http2.FrameContinuation, 0
	}
	_, _ = c.raw.Write(append(b, frame(kind, flag|http2.FlagHeadersEndHeaders, call, block)...))
}

// Data writes one DATA frame, whatever the client's window is.
func (c *Conn) Data(call uint32, end bool, body string) bool {
	return c.Frame(http2.FrameData, flags(end), call, body)
}

// Reset writes RST_STREAM.
func (c *Conn) Reset(call uint32, code http2.ErrCode) {
	c.Frame(http2.FrameRSTStream, 0, call, Numbers(uint32(code)))
}

// GoAway writes GOAWAY.
func (c *Conn) GoAway(last uint32, code http2.ErrCode) {
	c.Frame(http2.FrameGoAway, 0, 0, Numbers(last, uint32(code)))
}

// Close ends the server's half of the connection in order.
func (c *Conn) Close() { _ = c.raw.CloseWrite() }

// Abort resets the connection.
func (c *Conn) Abort() {
	_ = c.raw.SetLinger(0)
	_ = c.raw.Close()
}

// Gone is closed when the client has left. A server that ends closes its connections, so this also comes then.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Numbers are numbers as frames have them.
func Numbers(list ...uint32) string {
	var b []byte
	for _, n := range list {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return string(b)
}

// Message is a message with its prefix, whose length may be wrong.
func Message(flag byte, length uint32, message string) string {
	return string([]byte{flag}) + Numbers(length) + message
}
