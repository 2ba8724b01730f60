package h2test

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/net/http2"
)

// The values of RFC 9113 before any SETTINGS.
const (
	initialWindow = 65535
	maxFrame      = 16384
	maxWindow     = 1<<31 - 1
	tableSize     = 4096
)

// watch is the state of a connection as the client has to see it.
type watch struct {
	mu      sync.Mutex
	changed *sync.Cond
	seen    Seen
	streams map[uint32]*stream
	open    int

	// What the client may send.
	mayOpen  int64 // streams at once
	mayFrame uint32
	window   int64 // of the connection
	initial  int64 // window of a new stream
	table    uint32
	tables   []uint32   // sizes of the table: the acknowledged one, and those after it
	told     uint32     // size of the table that the client told last
	least    uint32     // smallest size that it acknowledged since then
	unacked  [][]func() // what each SETTINGS changes once the client has acknowledged it
	pings    int
	synced   bool // the client has seen the PING of Sync

	// What the client lets the server send.
	theirs map[http2.SettingID]uint32
	credit int64 // of the connection
	gone   bool  // the connection
	away   bool  // the server sent GOAWAY
	before int   // pings before that
}

// stream is one request and its answer.
type stream struct {
	r              *Request
	window, credit int64
	headed         bool // the server has answered with HEADERS
	done           bool // the server has ended it
	dead           bool // the client has reset it
}

func (w *watch) init() {
	w.changed = sync.NewCond(&w.mu)
	w.seen = newSeen()
	w.streams = map[uint32]*stream{}
	w.mayOpen, w.mayFrame, w.window, w.initial, w.table = 1<<40, maxFrame, initialWindow, initialWindow, tableSize
	w.tables, w.told, w.least = []uint32{tableSize}, tableSize, 1<<32-1
	w.theirs = map[http2.SettingID]uint32{http2.SettingInitialWindowSize: initialWindow, http2.SettingMaxFrameSize: maxFrame}
	w.credit = initialWindow
}

// announce notes the SETTINGS that the server sends: what rises is true at once, what falls when
// the client has acknowledged it. What rose may have fallen by an earlier one meanwhile, and rises
// again then.
func (w *watch) announce(list []http2.Setting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var later []func()
	for _, s := range list {
		v, now := int64(s.Val), false
		var change func()
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			now, change = v > w.mayOpen, func() { w.mayOpen = v }
		case http2.SettingMaxFrameSize:
			now, change = v > int64(w.mayFrame), func() { w.mayFrame = uint32(v) }
		case http2.SettingInitialWindowSize:
			now, change = v > w.initial, func() { w.moveWindows(v) }
		case http2.SettingHeaderTableSize:
			w.tables = append(w.tables, uint32(v))
			change = w.changeTable
		}
		if now {
			change()
		}
		if change != nil {
			later = append(later, change)
		}
	}
	w.unacked = append(w.unacked, later)
}

// changeTable notes that the client has acknowledged the next size of the table. It may know of
// later ones as well.
func (w *watch) changeTable() {
	w.tables = w.tables[1:]
	w.least = min(w.least, w.tables[0])
	w.table = slices.Max(w.tables)
}

// resize checks that a header block begins with the smallest size of the table that the client
// has acknowledged, if that is below the size which it told last (RFC 7541, 4.2).
func (w *watch) resize(block []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	least := w.told
	for len(block) > 0 && block[0]&0xe0 == 0x20 {
		w.told, block = prefixed(block)
		least = min(least, w.told)
	}
	if w.least < least {
		return faultf("the header block does not begin with the smaller size of the dynamic table")
	}
	w.least = 1<<32 - 1
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

func (w *watch) moveWindows(to int64) {
	for _, s := range w.streams {
		s.window += to - w.initial
	}
	w.initial = to
}

// grant notes a WINDOW_UPDATE that the server sends.
func (w *watch) grant(id uint32, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.streams[id]; s != nil {
		s.window += n
	} else if id == 0 {
		w.window += n
	}
}

// endStream notes that the server ends its half of a stream, before the client can know.
func (w *watch) endStream(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.streams[id]; s != nil {
		w.over(s, &s.done)
	}
}

// head notes that the server begins to answer.
func (w *watch) head(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.streams[id]; s != nil {
		s.headed = true
	}
}

func (w *watch) progress(id uint32) (headed, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[id]
	return s.headed, s.done
}

// wanted reports whether the client still waits for the answer of a stream.
func (w *watch) wanted(id uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.gone && !w.streams[id].dead
}

// over ends one half of s. The stream is open until both have ended.
func (w *watch) over(s *stream, half *bool) {
	was := s.open()
	*half = true
	if was && !s.open() {
		w.open--
	}
	w.changed.Broadcast()
}

func (s *stream) open() bool { return !s.dead && !(s.done && s.r.Ended) }

func (w *watch) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Answered++
}

// reserve waits until the client lets the server send on a stream, and takes up to n bytes of
// that. 0: the client has ended the stream or the connection.
func (w *watch) reserve(id uint32, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[id]
	for !w.gone && !s.dead && min(s.credit, w.credit) <= 0 {
		w.changed.Wait()
	}
	if w.gone || s.dead {
		return 0
	}
	n = int(min(int64(n), s.credit, w.credit, int64(w.theirs[http2.SettingMaxFrameSize])))
	s.credit -= int64(n)
	w.credit -= int64(n)
	return n
}

// Theirs is a setting of the client.
func (w *watch) Theirs(id http2.SettingID) uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.theirs[id]
}

// Unused is what is left of the client's window for a stream, and for the connection.
func (w *watch) Unused(id uint32) (stream, conn int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams[id].credit, w.credit
}

func (w *watch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	w.changed.Broadcast()
}

// clientFault is what a client did against RFC 9113.
type clientFault string

func faultf(format string, a ...any) error { return clientFault(fmt.Sprintf(format, a...)) }

func (f clientFault) Error() string { return string(f) }
