package h2test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/taktload/takt/internal/http2/allowed"
)

// Request is a request as far as it has come.
type Request struct {
	N      int // number of the request at this server, from 1; a repeated one has a new number
	ID     uint32
	Conn   int // number of its connection
	Method string
	Path   string
	Header []hpack.HeaderField
	Body   int  // bytes so far
	Ended  bool // by END_STREAM
}

// serve is the life of a connection.
func (s *Server) serve(raw net.Conn) {
	defer raw.Close()
	c := &Conn{server: s, raw: raw.(*net.TCPConn), ended: make(chan struct{}), deaf: make(chan struct{}), left: -1}
	c.init()
	c.enc = hpack.NewEncoder(&c.buf)
	defer close(c.ended)
	defer c.leave()
	var rw io.ReadWriter = raw
	if s.tls != nil {
		rw = tls.Server(raw, s.tls)
	}
	c.out = rw
	in := bufio.NewReader(rw)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(in, preface); err != nil {
		return // the connection of a probe
	}
	if !s.enter(c) {
		return
	}
	if string(preface) != http2.ClientPreface {
		s.fault(fmt.Sprintf("the preface is %q", preface))
		return
	}
	c.in = http2.NewFramer(nil, in)
	if err := c.run(); err != nil {
		s.fault(fmt.Sprintf("connection %d: %v", c.N, err))
		c.GoAway(0, http2.ErrCodeProtocol)
		c.Close()
	}
	_, _ = io.Copy(io.Discard, rw) // until the client ends the connection
}

// enter numbers the connection.
func (s *Server) enter(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.end:
		return false
	default:
	}
	s.conns = append(s.conns, c)
	c.N = len(s.conns)
	return true
}

// run reads frames up to the end of the connection. An error is the client's fault.
func (c *Conn) run() error {
	if c.server.script.Greet != nil {
		c.server.script.Greet(c)
	} else {
		c.Settings()
	}
	dec := hpack.NewDecoder(allowed.FirstTable, nil)
	for n := 0; ; n++ {
		if deaf := c.server.script.Deaf; deaf != nil && deaf(c) {
			close(c.deaf)
			<-c.server.end
			return nil
		}
		c.in.SetMaxReadFrameSize(c.frameLimit())
		f, err := c.in.ReadFrame()
		if err != nil {
			return c.readFault(err)
		}
		if _, ok := f.(*http2.SettingsFrame); n == 0 && !ok {
			return faultf("the first frame is %v", f.Header())
		}
		if err := c.frame(f, dec); err != nil {
			return err
		}
	}
}

func (c *Conn) frameLimit() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.may.Frame
}

// readFault is err if the client wrote a wrong frame, nil if the connection ended.
func (c *Conn) readFault(err error) error {
	var conn http2.ConnectionError
	var stream http2.StreamError
	if errors.Is(err, http2.ErrFrameTooLarge) || errors.As(err, &conn) || errors.As(err, &stream) {
		return fmt.Errorf("%w: %v", err, c.in.ErrorDetail())
	}
	return nil
}

// frame notes one frame of the client, and calls the script.
func (c *Conn) frame(f http2.Frame, dec *hpack.Decoder) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		return c.onHeaders(f, dec)
	case *http2.DataFrame:
		return c.onData(f)
	case *http2.SettingsFrame:
		return c.onSettings(f, dec)
	case *http2.WindowUpdateFrame:
		return c.onWindow(f)
	case *http2.RSTStreamFrame:
		return c.onReset(f)
	case *http2.PingFrame:
		return c.onPing(f)
	case *http2.GoAwayFrame:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen.GoAways[f.ErrCode]++
	case *http2.PushPromiseFrame:
		return faultf("a client sent %v", f.Header())
	}
	return nil
}

func (c *Conn) onHeaders(f *http2.HeadersFrame, dec *hpack.Decoder) error {
	block := bytes.Clone(f.HeaderBlockFragment())
	for ended := f.HeadersEnded(); !ended; {
		next, err := c.in.ReadFrame() // refuses everything but CONTINUATION
		if err != nil {
			return c.readFault(err)
		}
		more := next.(*http2.ContinuationFrame)
		block, ended = append(block, more.HeaderBlockFragment()...), more.HeadersEnded()
	}
	c.mu.Lock()
	err := c.may.Block(block)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	fields, err := dec.DecodeFull(block)
	if err != nil {
		return faultf("stream %d: the header block: %v", f.StreamID, err)
	}
	r := &Request{N: c.server.number(), ID: f.StreamID, Conn: c.N, Header: fields, Ended: f.StreamEnded()}
	if err := errors.Join(r.read(), c.begin(r)); err != nil {
		return fmt.Errorf("stream %d: %w", r.ID, err)
	}
	if open := c.server.script.Open; open != nil {
		open(c, r)
	}
	c.complete(r)
	return nil
}

// begin opens the stream of r.
func (c *Conn) begin(r *Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.may.Begin(r.ID); err != nil {
		return err
	}
	if r.Ended {
		c.may.Ended(r.ID)
	}
	if c.away && c.seen.PingAcks > c.before {
		return faultf("a new stream after GOAWAY")
	}
	c.seen.Streams++
	c.seen.Highest = r.ID
	c.streams[r.ID] = &stream{r: r, credit: int64(c.theirs[http2.SettingInitialWindowSize])}
	c.seen.MaxOpen = max(c.seen.MaxOpen, c.may.Open)
	if int64(c.may.Open) > c.may.Streams {
		return faultf("%d streams are open, %d are allowed", c.may.Open, c.may.Streams)
	}
	return nil
}

// complete calls the script if the request has come completely.
func (c *Conn) complete(r *Request) {
	switch {
	case !r.Ended:
	case c.server.script.Request != nil:
		c.server.script.Request(c, r)
	default:
		c.Answer(r)
	}
}

func (c *Conn) onData(f *http2.DataFrame) error {
	r, err := c.receive(f)
	if err != nil || r == nil {
		return err
	}
	if n := int(f.Length); n > 0 && c.server.script.Data != nil {
		c.server.script.Data(c, r, n)
	} else if n > 0 {
		c.Return(r, n)
	}
	c.complete(r)
	return nil
}

// receive notes the bytes of a body. Without a request the server has ended the stream.
func (c *Conn) receive(f *http2.DataFrame) (*Request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Body += len(f.Data())
	wanted, err := c.may.Data(f.StreamID, int(f.Length))
	if err != nil {
		return nil, err
	}
	r := c.streams[f.StreamID].r
	if f.StreamEnded() {
		r.Ended = true
		c.may.Ended(r.ID)
		c.changed.Broadcast()
	}
	if !wanted {
		return nil, nil
	}
	if r.Body += len(f.Data()); r.Ended {
		return r, r.complete()
	}
	return r, nil
}

func (c *Conn) onSettings(f *http2.SettingsFrame, dec *hpack.Decoder) error {
	if f.IsAck() {
		return c.onAck(dec)
	}
	c.mu.Lock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if s.ID == http2.SettingInitialWindowSize {
			for _, st := range c.streams {
				st.credit += int64(s.Val) - int64(c.theirs[s.ID])
			}
		}
		c.theirs[s.ID] = s.Val
		return s.Valid()
	})
	size, given := c.theirs[http2.SettingHeaderTableSize]
	c.changed.Broadcast()
	c.mu.Unlock()
	if given {
		c.write.Lock()
		c.enc.SetMaxDynamicTableSizeLimit(size)
		c.write.Unlock()
	}
	c.Raw(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
	return err
}

func (c *Conn) onAck(dec *hpack.Decoder) error {
	c.mu.Lock()
	c.seen.SettingsAcks++
	err := c.may.Acknowledged()
	dec.SetAllowedMaxDynamicTableSize(c.may.Table())
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if ack := c.server.script.Ack; ack != nil {
		ack(c)
	}
	return nil
}

func (c *Conn) onWindow(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Windows++
	credit := &c.credit
	if f.StreamID != 0 {
		s := c.streams[f.StreamID]
		if s == nil {
			return faultf("WINDOW_UPDATE of stream %d, which is idle", f.StreamID)
		}
		credit = &s.credit
	}
	*credit += int64(f.Increment)
	c.changed.Broadcast()
	if *credit > maxWindow {
		return faultf("the window of stream %d is %d", f.StreamID, *credit)
	}
	return nil
}

func (c *Conn) onReset(f *http2.RSTStreamFrame) error {
	r, err := c.forget(f)
	if err != nil {
		return err
	}
	if reset := c.server.script.Reset; reset != nil {
		reset(c, r)
	}
	return nil
}

func (c *Conn) forget(f *http2.RSTStreamFrame) (*Request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Resets[f.ErrCode]++
	if err := c.may.Reset(f.StreamID); err != nil {
		return nil, err
	}
	c.changed.Broadcast()
	return c.streams[f.StreamID].r, nil
}

func (c *Conn) onPing(f *http2.PingFrame) error {
	if !f.IsAck() {
		c.Raw(http2.FramePing, http2.FlagPingAck, 0, string(f.Data[:]))
		return nil
	}
	if err := c.pong(string(f.Data[:])); err != nil {
		return err
	}
	if pong := c.server.script.Pong; pong != nil {
		pong(c)
	}
	return nil
}

func (c *Conn) pong(payload string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = c.synced || payload == syncPing
	c.changed.Broadcast()
	if c.seen.PingAcks++; c.seen.PingAcks > c.pings {
		return faultf("an acknowledgment of no PING")
	}
	return nil
}

// perConnection are names that HTTP/2 does not have: RFC 9113, 8.2.2.
var perConnection = []string{"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"}

// read checks the fields of a request and notes what scripts want to know.
func (r *Request) read() error {
	pseudo := map[string]string{}
	for i, f := range r.Header {
		_, twice := pseudo[f.Name]
		switch {
		case f.Name != strings.ToLower(f.Name), slices.Contains(perConnection, f.Name), f.Name == "te" && f.Value != "trailers":
			return faultf("the field %q", f.Name)
		case !f.IsPseudo():
		case twice, i != len(pseudo):
			return faultf("%s is there twice, or after another field", f.Name)
		default:
			pseudo[f.Name] = f.Value
		}
	}
	r.Method, r.Path = pseudo[":method"], pseudo[":path"]
	if r.Method == "" || r.Path == "" || pseudo[":scheme"] == "" || pseudo[":authority"] == "" || len(pseudo) != 4 {
		return faultf("the pseudo-fields %v", pseudo)
	}
	if r.Ended {
		return r.complete()
	}
	return nil
}

// complete compares the content-length with the body.
func (r *Request) complete() error {
	for _, f := range r.Header {
		if f.Name == "content-length" && f.Value != strconv.Itoa(r.Body) {
			return faultf("content-length is %s, the body has %d bytes", f.Value, r.Body)
		}
	}
	return nil
}
