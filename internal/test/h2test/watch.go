package h2test

import (
	"fmt"
	"sync"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/http2/allowed"
)

// maxWindow is the largest window.
const maxWindow = 1<<31 - 1

// watch is the state of a connection as the client has to see it.
type watch struct {
	mu      sync.Mutex
	changed *sync.Cond
	seen    Seen
	streams map[uint32]*stream

	may    *allowed.Client // what the client may send
	pings  int
	synced bool // the client has seen the PING of Sync

	// What the client lets the server send.
	theirs map[http2.SettingID]uint32
	credit int64 // of the connection
	gone   bool  // the connection
	away   bool  // the server sent GOAWAY
	before int   // pings before that
}

// stream is one request and its answer.
type stream struct {
	r      *Request
	credit int64
	headed bool // the server has answered with HEADERS
}

func (w *watch) init() {
	w.changed = sync.NewCond(&w.mu)
	w.seen = newSeen()
	w.streams = map[uint32]*stream{}
	w.may = allowed.New(1 << 40)
	w.theirs = map[http2.SettingID]uint32{http2.SettingInitialWindowSize: allowed.FirstWindow, http2.SettingMaxFrameSize: allowed.FirstFrame}
	w.credit = allowed.FirstWindow
}

// announce notes the SETTINGS that the server sends.
func (w *watch) announce(list []http2.Setting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var changes []allowed.Setting
	for _, s := range list {
		changes = append(changes, allowed.Setting{ID: uint16(s.ID), Value: s.Val})
	}
	w.may.Announce(changes...)
}

// grant notes a WINDOW_UPDATE that the server sends.
func (w *watch) grant(id uint32, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.may.Grant(id, n)
}

// endStream notes that the server ends its half of a stream, before the client can know.
func (w *watch) endStream(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.may.Answered(id)
	w.changed.Broadcast()
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
	return w.streams[id].headed, w.may.IsAnswered(id)
}

// wanted reports whether the client still waits for the answer of a stream.
func (w *watch) wanted(id uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.gone && !w.may.IsReset(id)
}

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
	for !w.gone && !w.may.IsReset(id) && min(s.credit, w.credit) <= 0 {
		w.changed.Wait()
	}
	if w.gone || w.may.IsReset(id) {
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
