package formats

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// w3cParser reads the W3C Extended Log File Format (w3.org/TR/WD-logfile). The line #Fields
// names the columns; a blank separates them, or a tab in CloudFront's logs. Stamps are in
// UTC, at the end of a request.
type w3cParser struct {
	columns []parse.Setter // nil: the column is ignored
	date    int            // index of the column date; -1: missing
	time    int            // index of the column time; -1: missing
	stamp   bool           // a column has the whole stamp, as in Zeek's logs
	local   bool           // date and time are local
	zone    string         // from the line #GMT-Offset
}

var (
	errFields = errors.New("no line #Fields before it that names date, time, cs-uri-stem and the other columns")
	errW3CRow = errors.New("not as many columns as the line #Fields names")
)

const (
	w3cTag  = "#Fields:"
	zoneTag = "#GMT-Offset:"
	zeekTag = "#fields\t" // docs.zeek.org, http.log
)

func w3c(h Hints) (Parser, error) {
	p := &w3cParser{date: -1, time: -1}
	p.directive(h.Columns)
	return p, nil
}

// cloudFrontFields are the columns of CloudFront's standard log (docs.aws.amazon.com, standard log
// file fields). Parts of such a log lack the line #Fields.
const cloudFrontFields = ` date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query
cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher
x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type
sc-content-type sc-content-len sc-range-start sc-range-end`

// w3cColumns lists the columns that takt uses. time-taken is in milliseconds (IIS), or with
// a fraction in seconds (CloudFront).
func w3cColumns() map[string]parse.Setter {
	return map[string]parse.Setter{
		"cs-method": parse.Method, "cs-uri-stem": parse.URI, "cs-uri-query": parse.Query, "cs-uri": setCSURI,
		"sc-status": parse.Status, "sc-bytes": parse.Size(parse.AnswerBytes, true), "cs-bytes": parse.Size(parse.RequestBytes, false),
		"c-ip": parse.Client, "cs-host": parse.Host, "cs(Host)": parse.Host, "x-host-header": parse.Host, "cs-protocol": parse.Scheme,
		"bytes": parse.Size(parse.AnswerBytes, false), "TimeTakenMS": parse.Latency(time.Millisecond),
		"cs(Referer)": parse.Referer, "cs(Referrer)": parse.Referer, "cs(User-Agent)": parse.Agent, "time-taken": setTimeTaken,
	}
}

// zeekColumns lists the columns of Zeek's http.log that takt uses.
func zeekColumns() map[string]parse.Setter {
	return map[string]parse.Setter{
		"ts": parse.Start, "method": parse.Method, "host": parse.Host, "uri": parse.URI, "referrer": parse.Referer, "user_agent": parse.Agent, "id.orig_h": parse.Client,
		"status_code": parse.Status, "response_body_len": parse.Size(parse.AnswerBytes, false), "request_body_len": parse.Size(parse.RequestBytes, false),
	}
}

// setCSURI stores a path, a URL, or a URL without its scheme, as Imperva writes it.
func setCSURI(f *parse.Line, v []byte) error {
	if n := bytes.IndexByte(v, '/'); n > 0 && v[n-1] != ':' {
		if err := parse.Host(f, v[:n]); err != nil {
			return err
		}
		v = v[n:]
	}
	return parse.URI(f, v)
}

func setTimeTaken(f *parse.Line, v []byte) error {
	if bytes.IndexByte(v, '.') >= 0 {
		return f.Latency(v, time.Second)
	}
	return f.Latency(v, time.Millisecond)
}

// directive reads a line that begins with #.
func (p *w3cParser) directive(line []byte) {
	if offset, ok := bytes.CutPrefix(line, []byte(zoneTag)); ok {
		p.zone = string(bytes.TrimSpace(offset))
		return
	}
	known, zeek := w3cColumns(), false
	names, ok := bytes.CutPrefix(line, []byte(w3cTag))
	if !ok {
		if names, zeek = bytes.CutPrefix(line, []byte(zeekTag)); !zeek {
			return
		}
		known = zeekColumns()
	}
	p.stamp = zeek
	p.columns, p.date, p.time, p.local = p.columns[:0], -1, -1, false
	for i, name := range bytes.Fields(names) {
		p.columns = append(p.columns, known[string(name)])
		switch string(name) {
		case "date", "date-local":
			p.date, p.local = i, len(name) > 4
		case "time", "time-local":
			p.time = i
		}
	}
}

// LastFields is the last line #Fields in the buffered part of a log.
func LastFields(in *bufio.Reader) (last []byte) {
	sample, _ := in.Peek(in.Buffered()) // no error: the bytes are buffered
	for line := range bytes.Lines(sample) {
		if bytes.HasPrefix(line, []byte(w3cTag)) || bytes.HasPrefix(line, []byte(zeekTag)) {
			last = bytes.TrimSpace(bytes.Clone(line))
		}
	}
	return last
}

// Parse implements Parser.
func (p *w3cParser) Parse(line []byte, f *parse.Line) error {
	if line[0] == '#' {
		p.directive(line)
		return parse.ErrComment
	}
	tabbed := bytes.IndexByte(line, '\t') >= 0
	if p.columns == nil && tabbed && bytes.Count(line, []byte("\t"))+1 == len(strings.Fields(cloudFrontFields)) {
		p.directive([]byte(w3cTag + cloudFrontFields))
	}
	if !p.stamp && (p.date < 0 || p.time < 0) {
		return errFields
	}
	var date, clock []byte
	rest, n := line, 0
	for ; n < len(p.columns) && rest != nil; n++ {
		word, behind := cutWord(rest, tabbed)
		rest = behind
		switch {
		case n == p.date:
			date = word
		case n == p.time:
			clock = word
		case p.columns[n] != nil && !parse.Absent(word):
			if err := p.columns[n](f, word); err != nil {
				return err
			}
		}
	}
	if n < len(p.columns) || len(bytes.TrimSpace(rest)) > 0 {
		return errW3CRow
	}
	if !p.stamp {
		if err := parse.End(f, f.Rec.Join(date, " ", f.Rec.Join(clock, p.suffix(), nil))); err != nil {
			return err
		}
	}
	return f.Finish(true)
}

// suffix is the zone of date and time: UTC, unless the log says otherwise.
func (p *w3cParser) suffix() string {
	switch {
	case p.local:
		return ""
	case p.zone != "":
		return p.zone
	}
	return "Z"
}

// cutWord cuts off the first column; rest is nil after the last. Columns are between tabs, or between
// blanks, which may be several to align them. A column in quotes may have blanks.
func cutWord(v []byte, tabbed bool) (word, rest []byte) {
	if len(v) > 0 && v[0] == '"' {
		if word, rest, ok := cutQuoted(v); ok {
			return word, rest
		}
	}
	i := bytes.IndexByte(v, '\t')
	if !tabbed {
		i = bytes.IndexByte(v, ' ')
	}
	if i < 0 {
		return v, nil
	}
	return bytes.TrimRight(v[:i], " "), behindBlanks(v[i+1:])
}

// cutQuoted cuts off a column in quotes. A quote inside is doubled.
func cutQuoted(v []byte) (word, rest []byte, ok bool) {
	for from := 1; from < len(v); {
		n := bytes.IndexByte(v[from:], '"')
		if n < 0 {
			return nil, nil, false
		}
		n += from
		switch {
		case n+1 == len(v):
			return v[1:n], nil, true
		case v[n+1] == ' ' || v[n+1] == '\t':
			return v[1:n], behindBlanks(v[n+2:]), true
		case v[n+1] != '"':
			return nil, nil, false
		}
		from = n + 2
	}
	return nil, nil, false
}

// behindBlanks is v without blanks at its start; nil: nothing else follows.
func behindBlanks(v []byte) []byte {
	if v = bytes.TrimLeft(v, " "); len(v) == 0 {
		return nil
	}
	return v
}
