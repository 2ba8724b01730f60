package exchange

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/foreign"
)

// What is shown of an exchange.
const (
	searched    = 64 << 10 // bytes of a body in which secrets are looked for
	shownBody   = 2000     // bytes of a body
	shownLines  = 40       // of a body
	shownHex    = 32       // bytes of a body that is no text
	shownField  = 300      // characters of a header, or of another line
	shownFields = 100
	shownParts  = 20 // of a body, the first and the last ones
	shownPart   = 200
)

// Shown is an exchange as people and programs see it: without secrets, without what a terminal would execute, and cut.
type Shown struct {
	Number  int           `json:"number,omitempty"`
	Title   string        `json:"title,omitempty"`
	Request *ShownMessage `json:"request,omitempty"` // nil: nothing was sent
	Answer  *ShownMessage `json:"answer,omitempty"`  // nil: nothing came
	Status  int           `json:"status,omitempty"`
	Class   string        `json:"class,omitempty"` // of the failure; "": it is ok
	Error   string        `json:"error,omitempty"`
	Follows bool          `json:"follows_redirect,omitempty"` // the next exchange follows the redirect of the answer
	Again   bool          `json:"again,omitempty"`            // the same request follows: a retry, a poll or a repetition
	Times   Times         `json:"times"`
	Facts   []Fact        `json:"facts,omitempty"`
}

// Times are how long an exchange took, in milliseconds. 0: it did not happen. FirstByte and Total count from the start of
// the request, with its connection.
type Times struct {
	DNS       float64 `json:"dns_ms,omitempty"`
	Connect   float64 `json:"connect_ms,omitempty"`
	TLS       float64 `json:"tls_ms,omitempty"`
	FirstByte float64 `json:"first_byte_ms,omitempty"`
	Total     float64 `json:"total_ms"`
}

// ShownMessage is a message as it is shown.
type ShownMessage struct {
	Line    string      `json:"line,omitempty"`
	Header  []string    `json:"header,omitempty"`
	Body    string      `json:"body,omitempty"`   // beginning of it
	Binary  string      `json:"binary,omitempty"` // the first bytes of a body that is no text, in hex
	Bytes   int         `json:"body_bytes"`       // of the body as it went over the connection
	Parts   []ShownPart `json:"parts,omitempty"`
	Trailer []string    `json:"trailer,omitempty"`
	Note    string      `json:"note,omitempty"`

	cut  bool // Body is not all
	left int  // number of parts between those that are shown
}

// ShownPart is a part of a body as it is shown.
type ShownPart struct {
	AtMS float64 `json:"at_ms,omitempty"`
	Text string  `json:"text"`
}

// Show prepares an exchange for people and programs. hide removes secrets from a text.
func (x *Exchange) Show(number int, hide func(string) string) *Shown {
	line := func(text string) string { return foreign.Cut(hide(foreign.Lines(text)), shownField) }
	s := &Shown{
		Number: number, Title: line(x.Title), Request: x.Request.show(hide, line), Answer: x.Answer.show(hide, line),
		Status: x.Result.Status, Class: x.Result.Class, Follows: x.Follows, Again: x.Again, Times: timesOf(x),
	}
	if x.Result.Err != nil {
		s.Error = line(x.Result.Err.Error())
	}
	for _, f := range x.Facts {
		s.Facts = append(s.Facts, Fact{f.What, line(f.Text)})
	}
	return s
}

// timesOf are the times of an exchange.
func timesOf(x *Exchange) Times {
	of := func(name string) float64 {
		return milliseconds(x.Result.Phases[slices.Index(engine.NetPhases, name)])
	}
	return Times{of("dns"), of("connect"), of("tls"), of("first_byte"), milliseconds(x.Took)}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (m *Message) show(hide, line func(string) string) *ShownMessage {
	if m.Line == "" && m.Size == 0 && m.Note == "" {
		return nil
	}
	s := &ShownMessage{Line: line(m.Line), Bytes: m.Size, Note: line(m.Note)}
	fields := func(list []string) (shown []string) {
		for _, f := range list[:min(len(list), shownFields)] {
			shown = append(shown, line(f))
		}
		if n := len(list) - shownFields; n > 0 {
			shown = append(shown, fmt.Sprintf("… (%s more)", figure.Plural(n, "header")))
		}
		return shown
	}
	s.Header, s.Trailer = fields(m.Header), fields(m.Trailer)
	switch {
	case len(m.Parts) > 0:
		s.parts(m.Parts, hide)
	case isText(m.Body):
		s.Body, s.cut = cutText(hide(foreign.Lines(string(m.Body[:min(len(m.Body), searched)]))))
		s.cut = s.cut || len(m.Body) > searched || len(m.Body) == mostBytes && m.Size > mostBytes
	default:
		s.Binary = hex.EncodeToString(m.Body[:min(len(m.Body), shownHex)])
	}
	return s
}

// parts takes the first parts and the last ones.
func (s *ShownMessage) parts(list []Part, hide func(string) string) {
	s.left = max(0, len(list)-shownParts)
	for i, p := range list {
		if s.left == 0 || i < shownParts/2 || i >= len(list)-shownParts/2 {
			text := hide(foreign.Lines(p.Text[:min(len(p.Text), searched)]))
			s.Parts = append(s.Parts, ShownPart{milliseconds(p.At), foreign.Cut(text, shownPart)})
		}
	}
}

// isText reports whether a body is a text for people, which may have some characters that a terminal does not show.
func isText(b []byte) bool {
	b = b[:min(len(b), searched)]
	odd, all := 0, 0
	for rest := b; len(rest) > 0; all++ {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 && !utf8.FullRune(rest) {
			break // it is cut
		}
		if r != '\n' && r != '\r' && r != '\t' && !foreign.Shows(r) {
			odd++
		}
		rest = rest[n:]
	}
	return bytes.IndexByte(b, 0) < 0 && odd*8 <= all
}

// cutText is the beginning of a text.
func cutText(text string) (beginning string, cut bool) {
	whole := len(text)
	text = strings.ToValidUTF8(text[:min(len(text), shownBody)], "")
	lines := strings.SplitAfterN(text, "\n", shownLines+1)
	text = strings.Join(lines[:min(len(lines), shownLines)], "")
	return text, len(text) < whole
}

// Failed reports whether what was asked for failed. A request that is sent again did not yet.
func (s *Shown) Failed() bool { return s.Class != "" && !s.Again }

// WriteText writes s for people.
func (s *Shown) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if s.Number > 0 || s.Title != "" {
		fmt.Fprintf(&b, "\n%3d  %s\n", s.Number, cmp.Or(s.Title, s.Request.title()))
	}
	s.Request.write(&b, "> ", "nothing was sent")
	s.Answer.write(&b, "< ", "no answer came")
	for _, f := range s.Facts {
		fmt.Fprintf(&b, "     %-12s %s\n", f.What, f.Text)
	}
	fmt.Fprintf(&b, "     %-12s %s\n", "times", s.Times)
	switch {
	case s.Class != "":
		fmt.Fprintf(&b, "     %-12s class %s: %s\n", "failed", s.Class, cmp.Or(s.Error, fmt.Sprintf("status %d", s.Status)))
	case s.Follows:
		fmt.Fprintf(&b, "     %-12s %d, the redirect is followed\n", "ok", s.Status)
	case s.Status == 0:
		fmt.Fprintf(&b, "     ok\n")
	default:
		fmt.Fprintf(&b, "     %-12s %d\n", "ok", s.Status)
	}
	if s.Again {
		fmt.Fprintf(&b, "     %-12s the same request follows\n", "again")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// String is the times for people.
func (t Times) String() string {
	var list []string
	add := func(name string, ms float64) {
		if ms > 0 {
			list = append(list, name+" "+figure.Micros(ms*1000))
		}
	}
	add("dns", t.DNS)
	add("connect", t.Connect)
	add("TLS", t.TLS)
	add("first byte", t.FirstByte)
	return strings.Join(append(list, "total "+figure.Micros(t.Total*1000)), ", ")
}

func (m *ShownMessage) title() string {
	if m == nil {
		return "not sent"
	}
	return strings.TrimSuffix(strings.TrimSuffix(m.Line, " HTTP/1.1"), " HTTP/2")
}

// write writes a message, each line behind a mark.
func (m *ShownMessage) write(b *bytes.Buffer, mark, none string) {
	if m == nil {
		fmt.Fprintf(b, "     %s(%s)\n", mark, none)
		return
	}
	line := func(text string) { fmt.Fprintf(b, "     %s\n", strings.TrimRight(mark+text, " ")) }
	if m.Line != "" {
		line(m.Line)
	}
	for _, f := range m.Header {
		line(f)
	}
	if m.Line != "" && (len(m.Parts) > 0 || m.Body != "" || m.Binary != "") {
		line("")
	}
	for i, p := range m.Parts {
		if i == shownParts/2 && m.left > 0 {
			line(fmt.Sprintf("… (%s more)", figure.Plural(m.left, "part")))
		}
		text := p.Text
		if p.AtMS > 0 {
			text = fmt.Sprintf("%9s  %s", figure.Micros(p.AtMS*1000), text)
		}
		line(text)
	}
	for text := range strings.Lines(strings.TrimRight(m.Body, "\n")) {
		line(strings.TrimRight(text, "\n"))
	}
	switch {
	case m.Binary != "":
		line(fmt.Sprintf("(%s, no text: %s…)", figure.Plural(m.Bytes, "byte"), m.Binary))
	case m.cut:
		line(fmt.Sprintf("… (%s)", figure.Plural(m.Bytes, "byte")))
	}
	for _, f := range m.Trailer {
		line("trailer " + f)
	}
	if m.Note != "" {
		line("(" + m.Note + ")")
	}
}
