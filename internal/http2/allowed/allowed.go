// Package allowed is what a client may send on a connection over HTTP/2 (RFC 9113), for peers that judge clients: it
// reads what came by what the peer has allowed. It has no code in common with takt's own client.
package allowed

import (
	"errors"
	"fmt"
	"slices"
)

// Setting is one setting of a peer.
type Setting struct {
	ID    uint16
	Value uint32
}

// The settings that allow a client something.
const (
	Table   = 1 // size of the client's table of header compression, bytes
	Streams = 3 // streams at once
	Window  = 4 // window of each stream, bytes
	Frame   = 5 // largest frame, bytes
)

// The values before any SETTINGS.
const (
	FirstTable  = 4096
	FirstWindow = 65535
	FirstFrame  = 16384
)

// Client is one connection of a client, as its peer knows it.
type Client struct {
	Streams int64  // that may be open at once
	Frame   uint32 // bytes
	Highest uint32 // id of the newest stream
	Open    int    // streams that neither side has ended, or only one

	window  int64 // of the connection
	initial int64 // window of a new stream
	streams map[uint32]*stream
	tables  []uint32 // sizes of the table: the acknowledged one, and those after it
	told    uint32   // size that the client told last
	least   uint32   // smallest size that it acknowledged since then
	unacked [][]func()
}

type stream struct {
	window                         int64
	ended, reset, answered, closed bool // the first two by the client
}

func (s *stream) open() bool { return !s.reset && !s.closed && !(s.answered && s.ended) }

// none is above each size of a table.
const none = 1<<32 - 1

// New is a new connection. streams may be open at once before any SETTINGS.
func New(streams int64) *Client {
	return &Client{
		Streams: streams, Frame: FirstFrame, window: FirstWindow, initial: FirstWindow,
		streams: map[uint32]*stream{}, tables: []uint32{FirstTable}, told: FirstTable, least: none,
	}
}

// Announce notes SETTINGS that the peer sends. What rises is true at once, what falls when the client has
// acknowledged it. What rose may have fallen by an earlier one meanwhile, and rises again then.
func (c *Client) Announce(list ...Setting) {
	later := []func(){}
	for _, s := range list {
		v, now := int64(s.Value), false
		var change func()
		switch s.ID {
		case Streams:
			now, change = v > c.Streams, func() { c.Streams = v }
		case Frame:
			now, change = s.Value > c.Frame, func() { c.Frame = s.Value }
		case Window:
			now, change = v > c.initial, func() { c.moveWindows(v) }
		case Table:
			c.tables = append(c.tables, s.Value)
			change = c.nextTable
		default:
			continue
		}
		if now {
			change()
		}
		later = append(later, change)
	}
	c.unacked = append(c.unacked, later)
}

// moveWindows changes the windows of all streams, which may become negative.
func (c *Client) moveWindows(to int64) {
	for _, s := range c.streams {
		s.window += to - c.initial
	}
	c.initial = to
}

// nextTable notes that the client has acknowledged the next size of the table.
func (c *Client) nextTable() {
	c.tables = c.tables[1:]
	c.least = min(c.least, c.tables[0])
}

// Table is the largest table that the client may have: it may know of sizes that it has not acknowledged.
func (c *Client) Table() uint32 { return slices.Max(c.tables) }

// Acknowledged notes that the client has acknowledged the oldest SETTINGS.
func (c *Client) Acknowledged() error {
	if len(c.unacked) == 0 {
		return errors.New("an acknowledgment of no SETTINGS")
	}
	for _, change := range c.unacked[0] {
		change()
	}
	c.unacked = c.unacked[1:]
	return nil
}

// Grant notes a WINDOW_UPDATE that the peer sends; id 0: of the connection.
func (c *Client) Grant(id uint32, n int64) {
	if s := c.streams[id]; s != nil {
		s.window += n
	} else if id == 0 {
		c.window += n
	}
}

// Begin notes HEADERS that open a stream, whether or not more streams are open now than may be.
func (c *Client) Begin(id uint32) error {
	if id%2 == 0 || id <= c.Highest {
		return fmt.Errorf("stream %d was opened after stream %d", id, c.Highest)
	}
	c.Highest = id
	c.streams[id] = &stream{window: c.initial}
	c.Open++
	return nil
}

// Block notes a header block. It must begin with the smallest size of the table that the client has acknowledged, if
// that is below the size which it told last (RFC 7541, 4.2).
func (c *Client) Block(block []byte) error {
	least := c.told
	for len(block) > 0 && block[0]&0xe0 == 0x20 {
		c.told, block = prefixed(block)
		least = min(least, c.told)
	}
	if c.least < least {
		return errors.New("the header block does not begin with the smaller size of the dynamic table")
	}
	if c.least = none; c.told > c.Table() {
		return fmt.Errorf("the client's table has %d bytes, at most %d may be", c.told, c.Table())
	}
	return nil
}

// prefixed reads an integer with a prefix of five bits (RFC 7541, 5.1).
func prefixed(b []byte) (n uint32, rest []byte) {
	const most = 1<<5 - 1
	n, b = uint32(b[0]&most), b[1:]
	if n < most {
		return n, b
	}
	for shift := 0; len(b) > 0; shift += 7 {
		next := b[0]
		n += uint32(next&0x7f) << shift
		if b = b[1:]; next < 0x80 {
			break
		}
	}
	return n, b
}

// Data notes a DATA frame with n bytes. wanted: the peer has not ended the stream.
func (c *Client) Data(id uint32, n int) (wanted bool, err error) {
	if c.window -= int64(n); n > 0 && c.window < 0 {
		return false, fmt.Errorf("DATA: %d bytes beyond the window of the connection", -c.window)
	}
	s := c.streams[id]
	if s == nil || s.ended || s.reset {
		return false, fmt.Errorf("DATA on stream %d, which the client has not opened or has ended", id)
	}
	s.window -= int64(n)
	if s.answered || s.closed { // it was under way, perhaps before SETTINGS
		return false, nil
	}
	if n > 0 && s.window < 0 {
		return false, fmt.Errorf("DATA: %d bytes beyond the window of stream %d", -s.window, id)
	}
	return true, nil
}

// Ended notes END_STREAM of the client.
func (c *Client) Ended(id uint32) { c.end(id, func(s *stream) { s.ended = true }) }

// Reset notes RST_STREAM of the client.
func (c *Client) Reset(id uint32) error {
	if c.streams[id] == nil {
		return fmt.Errorf("RST_STREAM of stream %d, which is idle", id)
	}
	c.end(id, func(s *stream) { s.reset = true })
	return nil
}

// Answered notes that the peer has ended its half of a stream. It is open until the client has ended the other half.
func (c *Client) Answered(id uint32) { c.end(id, func(s *stream) { s.answered = true }) }

// Close notes that the peer has ended a stream, both halves. Bytes of it may be under way.
func (c *Client) Close(id uint32) { c.end(id, func(s *stream) { s.closed = true }) }

func (c *Client) end(id uint32, how func(*stream)) {
	s := c.streams[id]
	if s == nil {
		return
	}
	was := s.open()
	if how(s); was && !s.open() {
		c.Open--
	}
}

// IsReset reports whether the client has reset a stream.
func (c *Client) IsReset(id uint32) bool { return c.streams[id] != nil && c.streams[id].reset }

// IsAnswered reports whether the peer has ended its half of a stream.
func (c *Client) IsAnswered(id uint32) bool { return c.streams[id] != nil && c.streams[id].answered }

// Window is what the client may still send on a stream, bytes; negative: SETTINGS have taken it away.
func (c *Client) Window(id uint32) int64 { return c.streams[id].window }
