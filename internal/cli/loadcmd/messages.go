package loadcmd

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
)

// maxHeld limits the messages of a run that wait until the view has ended.
const maxHeld = 64 << 10

// console is standard error, and what it can show.
type console struct {
	messages messages
	terminal *os.File // nil: it is not a terminal
	colours  bool
	busy     bool // an output writes to the terminal during the run
}

// messages is standard error, whose text waits while the view uses the terminal.
type messages struct {
	w io.Writer

	mu      sync.Mutex
	holding bool
	held    bytes.Buffer
	skipped int // bytes without room in held
	newest  string
}

// Write implements io.Writer.
func (m *messages) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.holding {
		return m.w.Write(b)
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			m.newest = line
		}
	}
	if n := maxHeld - m.held.Len(); len(b) > n {
		m.skipped += len(b) - n
		m.held.Write(b[:n])
		return len(b), nil
	}
	return m.held.Write(b)
}

// hold makes texts wait.
func (m *messages) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding, m.newest = true, ""
}

// release writes what waited.
func (m *messages) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = false
	_, _ = m.held.WriteTo(m.w)
	if m.skipped > 0 {
		_, _ = io.WriteString(m.w, "\ntakt: warning: further messages of the run had no room here; --progress line shows them all\n")
	}
	m.held.Reset()
	m.skipped = 0
}

// last is the newest line that waits.
func (m *messages) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest
}
