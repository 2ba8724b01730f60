// Package screen draws full pictures on the terminal of a process, reads its keys, and restores
// the terminal.
package screen

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// ErrNoTerminal says that there is no terminal to draw on, or that another process uses it.
var ErrNoTerminal = errors.New("standard error is not a terminal that takt can use")

// The sequences of a terminal that every emulator since the VT220 knows. Without automatic line
// breaks no text can leave its line, whatever width the terminal thinks it has.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

const escape = 0x1b

// writeTime is the longest wait for a terminal that does not accept output, such as after Ctrl-S.
const writeTime = time.Second

// Screen is the terminal in the hands of takt. Its methods are for one goroutine, except Leave.
type Screen struct {
	tty  *os.File
	fd   int      // of file: File.Fd would make tty block
	file *os.File // standard error, the same terminal
	keys chan byte

	// Guarded starts a process that restores the terminal if this one dies: the program, and the
	// argument with which it calls Guard; nil: nobody does.
	Guarded func() (program, word string)

	mu     sync.Mutex // guards what Leave restores
	saved  *mode      // nil: not entered
	guard  *guard     // nil: none
	closed chan struct{}

	alternate     bool     // the terminal has accepted enter
	shown         []string // lines on the screen; nil: unknown
	width, height int
}

// Open prepares the terminal f, which is standard error. It fails if f is not the terminal that
// controls this process, or if the process runs in the background.
func Open(f *os.File) (*Screen, error) {
	if !term.IsTerminal(int(f.Fd())) || !owns(int(f.Fd())) {
		return nil, ErrNoTerminal
	}
	// A description of its own: nobody else sees that it does not block, and closing it ends a
	// read that waits.
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &Screen{tty: tty, file: f, fd: int(f.Fd()), keys: make(chan byte, 16), closed: make(chan struct{})}, nil
}

// Enter makes the terminal pass on keys one by one, and the next Draw switch to the alternate
// screen. Ctrl-C and the other keys of
// signals work as before.
func (s *Screen) Enter() error {
	if !s.Foreground() {
		return ErrNoTerminal
	}
	m, err := keyByKey(s.fd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.saved = &m.Before
	if s.Guarded != nil {
		program, word := s.Guarded()
		s.guard = startGuard(program, word, s.file, m)
	}
	s.mu.Unlock()
	s.shown, s.alternate = nil, false
	return nil
}

// Leave restores the terminal. A second call does nothing. Leave may be called by any goroutine.
func (s *Screen) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saved == nil {
		return
	}
	err := s.write(leave) // fails if the terminal is gone, or accepts nothing, as after Ctrl-S
	if s.Foreground() {   // in the background this would stop the process, and the shell has set its own mode
		_ = s.saved.restore(s.fd)
	}
	s.saved = nil
	if s.guard != nil {
		s.guard.release(err == nil) // else the guard waits until the terminal accepts output
		s.guard = nil
	}
}

// Close restores the terminal and ends the reader of keys.
func (s *Screen) Close() {
	s.Leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
		_ = s.tty.Close()
	}
}

// Size is the present size, at least 1.
func (s *Screen) Size() (width, height int) {
	width, height, err := term.GetSize(s.fd)
	if err != nil || width < 1 || height < 1 {
		return 80, 24 // a serial line has no size
	}
	return width, height
}

// Foreground reports whether the process may use the terminal: one in the background would be
// stopped.
func (s *Screen) Foreground() bool { return owns(s.fd) }

// Keys returns the keys that somebody presses. The first call starts to read.
func (s *Screen) Keys() <-chan byte {
	go func() {
		for b := make([]byte, 16); ; {
			n, err := s.tty.Read(b)
			if !s.pass(keysOf(b[:n])) {
				return
			}
			if n == 0 || err != nil { // nothing came within the terminal's time, or it is gone
				time.Sleep(50 * time.Millisecond)
			}
		}
	}()
	return s.keys
}

// keysOf are the keys of what one read returned, without escape sequences such as those of arrows.
func keysOf(b []byte) (keys []byte) {
	for i := 0; i < len(b); i++ {
		if b[i] != escape {
			keys = append(keys, b[i])
			continue
		}
		if i++; i < len(b) && (b[i] == '[' || b[i] == 'O') {
			for i++; i < len(b) && (b[i] < '@' || b[i] > '~'); i++ {
			}
		}
	}
	return keys
}

func (s *Screen) pass(keys []byte) (goOn bool) {
	for _, k := range keys {
		select {
		case s.keys <- k:
		case <-s.closed:
			return false
		default: // nobody reads them fast enough
		}
	}
	select {
	case <-s.closed:
		return false
	default:
		return true
	}
}

// Draw shows lines, which are as many as the screen is high and not wider. It writes only those
// that changed.
func (s *Screen) Draw(lines []string, width, height int) error {
	if width != s.width || height != s.height {
		s.shown, s.width, s.height = nil, width, height
	}
	var b strings.Builder
	switch {
	case !s.alternate:
		b.WriteString(enter)
	case s.shown == nil:
		b.WriteString("\x1b[?7l\x1b[0m\x1b[2J")
	}
	for y, line := range lines {
		if y < len(s.shown) && s.shown[y] == line {
			continue
		}
		b.WriteString("\x1b[" + strconv.Itoa(y+1) + ";1H\x1b[K" + line) // erased first: after the last column, K would erase that
	}
	s.shown = lines
	if b.Len() == 0 {
		return nil
	}
	err := s.write("\x1b[?2026h" + b.String() + "\x1b[?2026l") // both together: no half picture
	s.alternate = s.alternate || err == nil
	return err
}

// Forget makes the next Draw write all lines: another program may have written to the terminal.
func (s *Screen) Forget() { s.shown = nil }

// write writes text within writeTime. After a partial write the screen is unknown.
func (s *Screen) write(text string) error {
	_ = s.tty.SetWriteDeadline(time.Now().Add(writeTime)) // not every system can
	_, err := s.tty.WriteString(text)
	if err != nil {
		s.shown = nil
	}
	return err
}
