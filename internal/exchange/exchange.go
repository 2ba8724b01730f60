// Package exchange shows single requests with their answers, as they went over the connection: for --debug and
// takt scenario check.
package exchange

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/parts"
	"github.com/taktload/takt/pkg/takt"
)

// mostBytes is how much of a request, and of an answer, is kept.
const mostBytes = 1 << 20

// Exchange is a request and what came of it.
type Exchange struct {
	Title   string // "": the request says it
	Request Message
	Answer  Message
	Result  takt.Result // as takt counts it; its phases are those of engine.NetPhases
	Took    time.Duration
	Follows bool   // the answer is a redirect, and the next exchange follows it
	Again   bool   // the same request follows: a retry, a poll or a repetition
	Facts   []Fact // what else is known, in order
}

// Fact is something about an exchange that is in none of its bytes.
type Fact struct {
	What string `json:"what"`
	Text string `json:"text"`
}

// Message is a request or an answer. The zero value: there is none.
type Message struct {
	Line    string   // request line, or status line
	Header  []string // "NAME: VALUE"
	Trailer []string
	Body    []byte // decoded, up to 1 MiB
	Size    int    // of the body as it came, in bytes
	Parts   []Part // of the body; nil: it is one
	Note    string // why Body is not all of the body; "": it is

	pieces []piece // of Body, if it is as it came
}

// Part is a part of a body: an event of a stream, or a message.
type Part struct {
	At   time.Duration // since the request began; 0: not known
	Text string
}

// piece is a part of a body that came at once.
type piece struct {
	end int // offset in the body
	at  time.Duration
}

// Field is the first value of a header; "": there is none.
func (m *Message) Field(name string) string {
	for _, f := range m.Header {
		if n, v, _ := strings.Cut(f, ": "); strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}

// Text is the message as text, its lines ended by CRLF.
func (m *Message) Text() string {
	if m.Line == "" && len(m.Body) == 0 {
		return ""
	}
	lines := append([]string{m.Line}, m.Header...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + string(m.Body)
}

// EachPart calls each for the parts of a streamed body, in order, with the instant at which the part was complete. It
// reports whether the body is such a stream.
func (m *Message) EachPart(kind parts.Kind, each func(p parts.Part, at time.Duration)) bool {
	if len(m.pieces) == 0 || kind == parts.Chunks {
		return false
	}
	r := parts.NewReader(kind, parts.Most)
	from := 0
	for _, p := range m.pieces {
		r.Feed(m.Body[from:p.end])
		for one, ok := r.Next(); ok; one, ok = r.Next() {
			each(one, p.at)
		}
		from = p.end
	}
	r.End()
	for one, ok := r.Next(); ok; one, ok = r.Next() {
		each(one, m.pieces[len(m.pieces)-1].at)
	}
	return true
}

// SplitEvents makes parts of a body that is a stream by its Content-Type.
func (m *Message) SplitEvents() {
	m.EachPart(parts.KindOf(m.Field("Content-Type")), m.AddPart)
}

// AddPart adds a part of a stream.
func (m *Message) AddPart(p parts.Part, at time.Duration) {
	text := string(p.Data)
	if len(p.Name) > 0 {
		text = string(p.Name) + ": " + text
	}
	m.Parts = append(m.Parts, Part{at, text})
}

// add adds a piece of the body.
func (m *Message) add(b []byte, at time.Duration) {
	m.Size += len(b)
	b = b[:min(len(b), mostBytes-len(m.Body))]
	if len(b) == 0 {
		return
	}
	m.Body = append(m.Body, b...)
	m.pieces = append(m.pieces, piece{len(m.Body), at})
}

// decode undoes the content coding of the body, as far as takt knows it.
func (m *Message) decode() {
	var values []string
	for _, f := range m.Header {
		if n, v, _ := strings.Cut(f, ": "); strings.EqualFold(n, "Content-Encoding") {
			values = append(values, v)
		}
	}
	coding := http1.CodingOf(values)
	if coding == "" || len(m.Body) == 0 {
		return
	}
	var k http1.Kept
	k.Add(m.Body, mostBytes, nil)
	c, release := http1.ContentOf(&k, coding)
	defer release()
	m.pieces = nil // their offsets are those of the coded body
	if c.Why != nil && len(c.Bytes) == 0 {
		m.Note = c.Why.Error()
		return
	}
	m.Body = slices.Clone(c.Bytes[:min(len(c.Bytes), mostBytes)])
}

// field is a header line with one space after the colon.
func field(name, value []byte) string {
	return string(bytes.TrimSpace(name)) + ": " + string(bytes.TrimSpace(value))
}

// At is when the byte before an offset of the body came; 0: not known.
func (m *Message) At(offset int) time.Duration {
	for _, p := range m.pieces {
		if offset <= p.end {
			return p.at
		}
	}
	return 0
}
