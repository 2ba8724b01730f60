package process

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/foreign"
)

// firsts are a server's first lines since its start that explain its end or the loss of
// events. A ring of the last lines has neither: a crash of Go ends with registers, below
// hundreds of lines of stacks, and a cluster that refuses everything causes a line per event.
type firsts struct {
	fatal   []string // first fatal line and the lines after it, without empty ones
	after   int      // number of lines since the first fatal one
	refused string   // first line about an event that the cluster refused
	failed  string   // first error that is no answer to a request
}

// fatalLines is the number of lines kept: the panic, its goroutine, and where it happened.
const fatalLines = 6

func (f *firsts) add(line string) {
	if len(f.fatal) > 0 {
		f.after++
	}
	switch {
	case len(f.fatal) == 0 && !isFatal(line), len(f.fatal) == fatalLines, strings.TrimSpace(line) == "":
	default:
		f.fatal = append(f.fatal, line)
	}
	switch {
	case f.refused == "" && isRefusal(line):
		f.refused = line
	case f.failed == "" && levelOf(line) == Error && !isRefusal(line) && !isAnswer(line):
		f.failed = line
	}
}

// isFatal recognises the lines that the Go runtime, cgo and libbeat write when a process
// ends.
func isFatal(line string) bool {
	if signal, _, ok := strings.Cut(line, ": "); ok && len(signal) > 3 && strings.HasPrefix(signal, "SIG") && !strings.Contains(signal, " ") {
		return true
	}
	begins := func(with string) bool { return strings.HasPrefix(line, with) }
	has := func(level string) bool { return strings.Contains(line[:min(len(line), 200)], level) } // a message may quote these words
	return slices.ContainsFunc([]string{"panic: ", "fatal error: ", "runtime: ", "runtime/cgo: ", "unexpected fault address ", "Exiting: "}, begins) ||
		slices.ContainsFunc([]string{"\tFATAL\t", "\tPANIC\t", `"log.level":"fatal"`, `"log.level":"panic"`}, has)
}

// isRefusal recognises libbeat's warning and the message of go-docappender, which is in
// apm-server from version 8 on.
func isRefusal(line string) bool {
	return strings.Contains(line, "annot index event") || strings.Contains(line, "ailed to index document")
}

// isAnswer recognises apm-server's log of requests: an answer such as 503 is a consequence, not the
// cause of a loss.
func isAnswer(line string) bool {
	return strings.Contains(line, "\tERROR\t[request]\t") || strings.Contains(line, `"log.logger":"request"`)
}

// Started clears the first lines of a previous server.
func (l *Log) Started() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = firsts{}
}

// Fatal returns the first fatal line since the server's start with a few lines after it, and
// how many lines followed; no lines if there was none.
func (l *Log) Fatal() (lines []Line, after int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range l.first.fatal {
		lines = append(lines, Line{text, Error})
	}
	return lines, l.first.after
}

// FirstError is the server's first explanation of lost events, shortened; "": none. If events
// were refused, a refusal has priority.
func (l *Log) FirstError(refused bool) string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.first.failed
	if l.first.refused != "" && (refused || line == "") {
		line = l.first.refused
	}
	return gist(line)
}

// gistBytes is the largest part of a line that is quoted.
const gistBytes = 500

// Parts of libbeat's lines: the text before the message, and the event within it.
var (
	logHead   = regexp.MustCompile(`^\S+\t[A-Z]+\t(\[[^]]*\]\t)?\S+:\d+\t`)
	eventDump = regexp.MustCompile(` publisher\.Event\{.*\} \(status=`)
)

// gist is the message of a line, shortened and without the event.
func gist(line string) string {
	var said struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(line), &said) == nil && said.Message != "" {
		line = said.Message
		if said.Error.Message != "" {
			line += ": " + said.Error.Message
		}
	}
	line = eventDump.ReplaceAllString(logHead.ReplaceAllString(line, ""), " (status=")
	line = foreign.Line(line)
	if len(line) > gistBytes {
		line = strings.ToValidUTF8(line[:gistBytes], "") + " …"
	}
	return line
}
