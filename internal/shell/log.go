package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/live"
)

// maxLog limits the stored output of a job: half a day of a line a second.
const maxLog = 4 << 20

// log stores the newest output of a job: between about half of maxLog and maxLog bytes if
// there was more. Every reader has its own position, so a slow reader delays nobody.
type log struct {
	mu      sync.Mutex
	kept    []byte
	from    int64         // position of kept[0] in the whole output
	closed  bool          // the job writes no more
	live    live.Board    // the run of the job at this moment
	changed chan struct{} // closed, and replaced, by a write or close
	path    string        // file of what is kept; "": none
	file    *os.File      // nil: not written yet
}

// newLog returns the log of a job that begins. The file at path, if there is one, is replaced.
func newLog(path string) *log { return &log{changed: make(chan struct{}), path: path} }

// Write implements io.Writer. It replaces control characters, which a target's error may
// contain: sessions show the log on terminals.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := []byte(foreign.Lines(string(b)))
	l.kept = append(l.kept, text...)
	if err := l.append(text); err != nil {
		l.kept = fmt.Appendf(l.kept, "takt: the output of this job cannot be saved: %v; it ends with the server\n", withoutPath(err))
	}
	if len(l.kept) > maxLog { // drop the older half, up to the end of a line
		cut := len(l.kept) - maxLog/2
		if i := bytes.IndexByte(l.kept[cut:], '\n'); i >= 0 {
			cut += i + 1
		}
		l.kept = append([]byte(nil), l.kept[cut:]...)
		l.from += int64(cut)
		l.rewrite()
	}
	l.wake()
	return len(b), nil
}

// append appends text to the file. After an error nothing more is saved. The lock is held.
func (l *log) append(text []byte) (err error) {
	if l.path == "" {
		return nil
	}
	if l.file == nil {
		l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	}
	if err == nil {
		_, err = l.file.Write(text)
	}
	if err != nil {
		l.unsave()
	}
	return err
}

// rewrite replaces the file by what is kept, so that it stays as small. The lock is held.
func (l *log) rewrite() {
	if l.path == "" {
		return
	}
	if replaceFile(l.path, l.kept) != nil { // the older and longer file is as good
		return
	}
	old := l.file
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		l.unsave()
	}
	_ = old.Close() // its file is replaced
}

// withoutPath is the cause of an error of a file, for users who see no paths of the server.
func withoutPath(err error) error {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		return file.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// unsave ends saving. The lock is held.
func (l *log) unsave() {
	if l.file != nil {
		_ = l.file.Close() // the error was told already
	}
	l.file, l.path = nil, ""
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file != nil {
		_ = l.file.Sync() // costs the output only if the machine fails now, too
		_ = l.file.Close()
		l.file = nil
	}
	l.wake()
}

func (l *log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// piece is a part of a log.
type piece struct {
	text    []byte
	next    int64         // position of the next piece
	skipped int64         // bytes before text that were dropped from the log
	ended   bool          // the log is closed and read to its end
	more    chan struct{} // closed when the log changes
}

// maxPiece limits a piece: read copies it while the job cannot write, and a client has
// writeTime to read it.
const maxPiece = 32 << 10

// read returns the piece at the position.
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

// end is the position after the whole output.
func (l *log) end() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from + int64(len(l.kept))
}
