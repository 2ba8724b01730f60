package process

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/foreign"
)

// Log keeps a server's last lines, and its first fatal line and first errors since the start.
// It is an io.Writer and never blocks: a server whose output is not read would stop.
type Log struct {
	mu    sync.Mutex
	lines []string // a ring
	next  int      // index for the next line
	begun longLine // incomplete line
	first firsts
	count [Error + 1]uint64 // lines of each level, since the log began
}

// LogLines is the number of lines in a log.
const LogLines = 1000

// NewLog makes an empty log of LogLines lines.
func NewLog() *Log { return &Log{} }

// Write implements io.Writer. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		l.begun.add(part)
		if ended {
			l.add(strings.TrimSuffix(l.begun.String(), "\r"))
			l.begun.reset()
		}
		rest = after
	}
	return len(p), nil
}

func (l *Log) add(line string) {
	l.first.add(line)
	l.count[levelOf(line)]++
	if len(l.lines) < LogLines {
		l.lines = append(l.lines, line)
		return
	}
	l.lines[l.next] = line
	l.next = (l.next + 1) % LogLines
}

// Tail returns the last n lines that contain the pattern, oldest first. Every line contains
// "".
func (l *Log) Tail(n int, pattern string) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append(append([]string{}, l.lines[l.next:]...), l.lines[:l.next]...)
	if text := l.begun.String(); text != "" { // a prompt, or the last output
		all = append(all, text)
	}
	var found []Line
	for i := len(all) - 1; i >= 0 && len(found) < n; i-- {
		if strings.Contains(all[i], pattern) {
			found = append(found, Line{all[i], levelOf(all[i])})
		}
	}
	slices.Reverse(found)
	return found
}

// Counts are the numbers of lines so far that are errors and warnings.
func (l *Log) Counts() (errors, warnings uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[Error], l.count[Warn]
}

// Line is a line of a log.
type Line struct {
	Text  string
	Level Level
}

// Level is the severity of a line.
type Level int

// The levels.
const (
	Plain Level = iota
	Warn
	Error
)

// levelOf recognises apm-server's lines up to 7, with WARN and ERROR between tabs, JSON
// lines, and those of a crash.
func levelOf(text string) Level {
	switch {
	case isFatal(text), strings.Contains(text, "ERROR"), strings.Contains(text, "Error:"), strings.Contains(text, `"log.level":"error"`):
		return Error
	case strings.Contains(text, "WARN"), strings.Contains(text, `"log.level":"warn"`):
		return Warn
	}
	return Plain
}

// colour is the ANSI colour: red, yellow or grey.
func (l Level) colour() int { return map[Level]int{Error: 31, Warn: 33, Plain: 37}[l] }

// Print writes the lines, in colours if colours.
func Print(to io.Writer, lines []Line, colours bool) {
	for _, line := range lines {
		text := foreign.Lines(line.Text)
		if colours {
			text = fmt.Sprintf("\x1b[%dm%s\x1b[0m", line.Level.colour(), text)
		}
		fmt.Fprintln(to, text)
	}
}

// PrintTail writes the lines of Tail. Without a pattern it first writes the first fatal line,
// if Tail does not include that line.
func (l *Log) PrintTail(to io.Writer, n int, pattern string, colours bool) {
	if lines, after := l.Fatal(); pattern == "" && len(lines) > 0 && after >= n {
		fmt.Fprintf(to, "the first fatal line, %d lines before the last one:\n", after)
		Print(to, lines, colours)
		fmt.Fprintln(to, "…")
	}
	Print(to, l.Tail(n, pattern), colours)
}
