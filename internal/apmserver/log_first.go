package apmserver

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// firsts are what a server said first, since it was started, of what explains its end or
// the loss of events. A ring of the last lines has neither: a crash of Go ends with the
// registers, below hundreds of lines of stacks, and a cluster that refuses everything
// makes a line of each event.
type firsts struct {
	fatal   []string // the first fatal line and those after it, without empty ones
	after   int      // lines since the first fatal one
	refused string   // the first line about an event that the cluster refused
	failed  string   // the first error
}

// fatalLines are kept: the panic, its goroutine, and where it happened.
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
	case f.failed == "" && levelOf(line) == Error && !isRefusal(line):
		f.failed = line
	}
}

// isFatal knows what the Go runtime, cgo and libbeat write when a process ends.
func isFatal(line string) bool {
	if signal, _, ok := strings.Cut(line, ": "); ok && len(signal) > 3 && strings.HasPrefix(signal, "SIG") && !strings.Contains(signal, " ") {
		return true
	}
	begins := func(with string) bool { return strings.HasPrefix(line, with) }
	has := func(level string) bool { return strings.Contains(line[:min(len(line), 200)], level) } // a message may quote them
	return slices.ContainsFunc([]string{"panic: ", "fatal error: ", "runtime: ", "runtime/cgo: ", "unexpected fault address ", "Exiting: "}, begins) ||
		slices.ContainsFunc([]string{"\tFATAL\t", "\tPANIC\t", `"log.level":"fatal"`, `"log.level":"panic"`}, has)
}

// isRefusal knows libbeat's words, a warning, and those of go-docappender, which is in
// apm-server from version 8 on.
func isRefusal(line string) bool {
	return strings.Contains(line, "annot index event") || strings.Contains(line, "ailed to index document")
}

// started forgets what another server said first.
func (l *Log) started() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = firsts{}
}

// Fatal gives the first fatal line since the server was started and a few lines behind
// it, and how many lines followed the first; none if it said no such line.
func (l *Log) Fatal() (lines []Line, after int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range l.first.fatal {
		lines = append(lines, Line{text, Error})
	}
	return lines, l.first.after
}

// firstError is what the server said first of why events are lost, shortened; "": nothing.
// A refusal says more than another error, if events were refused.
func (l *Log) firstError(refused bool) string {
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

// gistBytes are quoted of a line at most.
const gistBytes = 500

// Of a line of libbeat's: what stands before the message, and the event in it.
var (
	logHead   = regexp.MustCompile(`^\S+\t[A-Z]+\t(\[[^]]*\]\t)?\S+:\d+\t`)
	eventDump = regexp.MustCompile(` publisher\.Event\{.*\} \(status=`)
)

// gist is the message of a line, without the event in it, and no longer than it may be.
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
	line = strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(line, "·"))), " ")
	if len(line) > gistBytes {
		line = strings.ToValidUTF8(line[:gistBytes], "") + " …"
	}
	return line
}
