// Package answer reads what the parts of a stream of a language model say: output, usage, the reason of the end,
// errors. It has a reader for each API, and allocates nothing for a part without an error.
package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/parts"
)

// API is the form of requests and answers. The zero value is none.
type API uint8

// The APIs.
const (
	Chat      API = iota + 1 // OpenAI's chat completions
	Text                     // OpenAI's completions
	Anthropic                // Anthropic's messages
	Ollama                   // Ollama's chat and generate: lines of JSON
)

// table has the name of each API, how its paths end, and its reader.
var table = [...]struct {
	name  string
	paths []string
	read  func(s *Stream, p parts.Part) Said
}{
	Chat:      {"openai-chat", []string{"/chat/completions"}, readOpenAI},
	Text:      {"openai", []string{"/completions"}, readOpenAI},
	Anthropic: {"anthropic", []string{"/messages"}, readAnthropic},
	Ollama:    {"ollama", []string{"/api/chat", "/api/generate"}, readOllama},
}

// Names are the names of the APIs.
func Names() (names []string) {
	for _, row := range table[1:] {
		names = append(names, row.name)
	}
	return names
}

// String is the name of a.
func (a API) String() string { return table[a].name }

// Parse is the API of that name.
func Parse(name string) (API, error) {
	for a := range table {
		if name != "" && table[a].name == name {
			return API(a), nil
		}
	}
	return 0, fmt.Errorf("unknown API %q; use %s", name, strings.Join(Names(), ", "))
}

// OfPath is the API whose paths end as path does; 0: none.
func OfPath(path string) API {
	path = strings.TrimRight(path, "/")
	for a := range table {
		for _, end := range table[a].paths {
			if strings.HasSuffix(path, end) {
				return API(a)
			}
		}
	}
	return 0
}

// Channel is what a token is for.
type Channel uint8

// The channels. A part may have tokens of several.
const (
	Content   Channel = 1 << iota
	Reasoning         // what the model thinks before its answer
	Tool              // calls of tools
)

// Said is what a part says.
type Said struct {
	Output   Channel // channels with a token; 0: the part has no output
	Terminal bool    // the part ends the answer, or one of its choices
}

// Failures of an answer with a good status. A server's own error is an *EventError.
var (
	ErrCut       = errors.New("the stream ended without a finish reason and without [DONE]")
	ErrNoChoices = errors.New("the answer has no choices")
)

// EventError is an error that a server sent within a stream.
type EventError struct{ Text string }

func (e *EventError) Error() string { return "the server sent an error in its stream: " + e.Text }

// mostError is how much of an error's text is kept, in bytes.
const mostError = 300

// Stream is the state of one answer. It is not safe for concurrent use.
type Stream struct {
	api      API
	done     bool   // the event that ends all choices came
	seen     uint64 // choices by their index, modulo 64
	finished uint64
	length   bool   // a choice ended because of the limit of tokens
	reason   []byte // why the last choice ended, as JSON, cut
	input    int
	cached   int
	most     int // largest number of output tokens that usage had
	sum      int // of all such numbers, for servers that send differences
	outputs  int // parts with output
	err      *EventError
	take     func(text []byte) // nil: nobody wants the text
}

// Reset prepares s for another answer.
func (s *Stream) Reset(api API) { *s = Stream{api: api, take: s.take, reason: s.reason[:0]} }

// Gather lets s pass on the text of answers: that of the first choice, without reasoning and calls of tools, piece by piece
// as the inside of a JSON string. A piece changes after the call.
func (s *Stream) Gather(take func(text []byte)) { s.take = take }

// gather passes on a text, if value is one.
func (s *Stream) gather(value []byte) {
	if s.take != nil && len(value) > 2 && value[0] == '"' && json.Valid(value) {
		s.take(value[1 : len(value)-1])
	}
}

// gatherIn passes on the member of an object.
func (s *Stream) gatherIn(object []byte, member string) {
	if s.take == nil {
		return
	}
	for name, value := range members(object) {
		if string(name) == member {
			s.gather(value)
		}
	}
}

// Read reads a part.
func (s *Stream) Read(p parts.Part) Said {
	said := table[s.api].read(s, p)
	if said.Output != 0 {
		s.outputs++
	}
	return said
}

// Tokens is the number of output tokens: of usage, if counted is true, else of parts with output. Usage comes as
// totals, or as differences, which are fewer than the parts.
func (s *Stream) Tokens() (n int, counted bool) {
	switch {
	case s.most >= s.outputs && s.most > 0:
		return s.most, true
	case s.sum >= s.outputs && s.sum > 0:
		return s.sum, true
	}
	return s.outputs, false
}

// Input is the number of tokens of the prompt by usage; 0: not known.
func (s *Stream) Input() int { return s.input }

// Cached is the number of tokens that the server had in its cache of prefixes, by usage; 0: none, or not known. Anthropic
// does not count them as input.
func (s *Stream) Cached() int { return s.cached }

// Length reports whether a choice ended at the limit of tokens.
func (s *Stream) Length() bool { return s.length }

// mostReason is how much of a reason is kept, in bytes.
const mostReason = 100

// Reason is why the last choice ended, in the server's words; "": not known.
func (s *Stream) Reason() string { return text(s.reason) }

// Err is why an answer that has ended as HTTP wants it failed nevertheless; nil: it did not.
func (s *Stream) Err() error {
	switch {
	case s.err != nil:
		return s.err
	case s.seen == 0 && s.outputs == 0 && (s.done || s.finished != 0):
		return ErrNoChoices
	case s.done || s.seen != 0 && s.seen&^s.finished == 0:
		return nil
	}
	return ErrCut
}

// Failed reports whether the server sent an error.
func (s *Stream) Failed() bool { return s.err != nil }

// fail notes the first error of the stream.
func (s *Stream) fail(value []byte) {
	if s.err != nil {
		return
	}
	for name, inner := range members(value) {
		if string(name) == "message" && filled(inner) {
			value = inner
			break
		}
	}
	b := value[:min(len(value), mostError)]
	if len(b) < len(value) && b[0] == '"' {
		b = b[1:] // its end is missing
	}
	s.err = &EventError{strings.ToValidUTF8(text(b), "")}
}

// usage notes the numbers of tokens of a usage object, by the names of the API. It reports whether the number of
// output tokens grew.
func (s *Stream) usage(value []byte, input, output string) (grew bool) {
	for name, n := range members(value) {
		switch string(name) {
		case input:
			s.input = max(s.input, number(n))
		case output:
			grew = s.count(number(n))
		case "cache_read_input_tokens": // of Anthropic
			s.cached = max(s.cached, number(n))
		case "prompt_tokens_details":
			for name, n := range members(n) {
				if string(name) == "cached_tokens" {
					s.cached = max(s.cached, number(n))
				}
			}
		}
	}
	return grew
}

// count notes a number of output tokens.
func (s *Stream) count(n int) (grew bool) {
	if n <= 0 {
		return false
	}
	grew = n > s.most
	s.most, s.sum = max(s.most, n), min(s.sum+n, mostNumber)
	return grew
}

// ends notes the reason why choice i ended.
func (s *Stream) ends(i int, reason []byte) bool {
	if !filled(reason) {
		return false
	}
	s.finished |= 1 << (i & 63)
	s.reason = append(s.reason[:0], reason[:min(len(reason), mostReason)]...)
	s.length = s.length || is(reason, "length") || is(reason, "max_tokens")
	return true
}
