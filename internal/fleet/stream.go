package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// stream is a connection that carries lines of JSON in both directions.
type stream struct {
	raw   net.Conn
	lines *bufio.Reader
	began time.Time
	heard atomic.Int64 // when a byte came last, since began
	busy  atomic.Bool  // this process works on what came, and reads nothing meanwhile

	writing chan struct{} // has room for the one who writes
}

func newStream(raw net.Conn, lines *bufio.Reader) *stream {
	return &stream{raw: raw, lines: lines, began: time.Now(), writing: make(chan struct{}, 1)}
}

// errLong is the error of a line that no member and no gatherer writes.
var errLong = errors.New("a line is too long")

// read decodes the next line. most is its largest size in bytes, which is asked again as the line grows.
func (s *stream) read(to any, most func() int) error {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		s.heard.Store(int64(time.Since(s.began)))
		line = append(line, part...)
		switch {
		case len(line) > maxShort && len(line) > most():
			return errLong
		case err == nil:
			return json.Unmarshal(line, to)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// send writes a line. patience is the most time for it.
func (s *stream) send(line any, patience time.Duration) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	_ = s.raw.SetWriteDeadline(time.Now().Add(patience)) // a closed connection fails at Write, too
	_, err = s.raw.Write(append(text, '\n'))
	return err
}

// handle does what a line asks for. The other side is not silent meanwhile: a report of 60 MB costs seconds.
func (s *stream) handle(do func()) {
	s.busy.Store(true)
	do()
	s.excuse()
	s.busy.Store(false)
}

// silent is how long nothing came.
func (s *stream) silent() time.Duration {
	if s.busy.Load() {
		return 0
	}
	return time.Since(s.began) - time.Duration(s.heard.Load())
}

// excuse forgives the silence so far: this process itself stood still.
func (s *stream) excuse() { s.heard.Store(int64(time.Since(s.began))) }

// silentFor is the reason to give up a connection.
func silentFor(d time.Duration) string {
	return fmt.Sprintf("nothing came from it for %v", d.Round(100*time.Millisecond))
}
