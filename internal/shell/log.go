package shell

import (
	"bytes"
	"sync"
)

// maxLog bounds what is kept of a job's output: half a day of a line a second.
const maxLog = 4 << 20

// log is what a job has written: the newest maxLog bytes. Readers have a position of
// their own, so that a slow one holds up nobody.
type log struct {
	mu      sync.Mutex
	kept    []byte
	from    int64         // position of kept[0] in all that was written
	closed  bool          // nothing more comes
	changed chan struct{} // closed when there is more to read
}

func newLog() *log { return &log{changed: make(chan struct{})} }

// Write implements io.Writer. Control characters, which an error of a target may hold,
// do not get to anybody's terminal.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, bytes.Map(harmless, b)...)
	if len(l.kept) > maxLog { // the older half goes, up to the end of a line
		cut := len(l.kept) - maxLog/2
		if i := bytes.IndexByte(l.kept[cut:], '\n'); i >= 0 {
			cut += i + 1
		}
		l.kept = append([]byte(nil), l.kept[cut:]...)
		l.from += int64(cut)
	}
	l.wake()
	return len(b), nil
}

func harmless(r rune) rune {
	switch {
	case r == '\r':
		return -1
	case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0:
		return '?'
	}
	return r
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

func (l *log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// piece is a part of a log.
type piece struct {
	text    []byte
	next    int64         // where the next one begins
	skipped int64         // bytes that are no longer there
	ended   bool          // the log is closed and read to its end
	more    chan struct{} // closed when there is more
}

// maxPiece is how much a reader gets at once, so that what was typed meanwhile has its
// turn.
const maxPiece = 32 << 10

// read gives what follows the position.
func (l *log) read(at int64) piece {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := piece{more: l.changed, skipped: max(0, l.from-at)}
	at += p.skipped
	rest := l.kept[at-l.from:]
	p.text = bytes.Clone(rest[:min(len(rest), maxPiece)])
	p.next = at + int64(len(p.text))
	p.ended = l.closed && len(p.text) == len(rest)
	return p
}

// end is the position behind all that was written.
func (l *log) end() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from + int64(len(l.kept))
}
