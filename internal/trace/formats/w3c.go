package formats

import (
	"bufio"
	"bytes"
	"errors"
	"time"

	"github.com/taktload/takt/internal/trace/fill"
)

// w3cParser reads the W3C Extended Log File Format (w3.org/TR/WD-logfile). The line #Fields
// names the columns; a blank separates them, or a tab in CloudFront's logs. Stamps are in
// UTC, at the end of a request.
type w3cParser struct {
	columns []fill.Setter // nil: the column is ignored
	date    int           // index of the column date; -1: missing
	time    int           // index of the column time; -1: missing
}

var (
	errFields = errors.New("no line #Fields before it that names date, time, cs-uri-stem and the other columns")
	errW3CRow = errors.New("not as many columns as the line #Fields names")
)

const w3cTag = "#Fields:"

func w3c(h Hints) (Parser, error) {
	p := &w3cParser{date: -1, time: -1}
	p.directive(h.Columns)
	return p, nil
}

// w3cColumns lists the columns that takt uses. time-taken is in milliseconds (IIS), or with
// a fraction in seconds (CloudFront).
func w3cColumns() map[string]fill.Setter {
	return map[string]fill.Setter{
		"cs-method": fill.Method, "cs-uri-stem": fill.URI, "cs-uri-query": fill.Query, "cs-uri": fill.URI,
		"sc-status": fill.Status, "sc-bytes": fill.Size(fill.AnswerBytes, true), "cs-bytes": fill.Size(fill.RequestBytes, false),
		"c-ip": fill.Client, "cs-host": fill.Host, "cs(Host)": fill.Host, "x-host-header": fill.Host, "cs-protocol": fill.Scheme,
		"cs(Referer)": fill.Referer, "cs(User-Agent)": fill.Agent, "time-taken": setTimeTaken,
	}
}

func setTimeTaken(f *fill.Line, v []byte) error {
	if bytes.IndexByte(v, '.') >= 0 {
		return f.Latency(v, time.Second)
	}
	return f.Latency(v, time.Millisecond)
}

// directive reads a line that begins with #.
func (p *w3cParser) directive(line []byte) {
	names, ok := bytes.CutPrefix(line, []byte(w3cTag))
	if !ok {
		return
	}
	known := w3cColumns()
	p.columns, p.date, p.time = p.columns[:0], -1, -1
	for i, name := range bytes.Fields(names) {
		p.columns = append(p.columns, known[string(name)])
		switch string(name) {
		case "date":
			p.date = i
		case "time":
			p.time = i
		}
	}
}

// LastFields is the last line #Fields in the buffered part of a log.
func LastFields(in *bufio.Reader) (last []byte) {
	sample, _ := in.Peek(in.Buffered()) // no error: the bytes are buffered
	for line := range bytes.Lines(sample) {
		if bytes.HasPrefix(line, []byte(w3cTag)) {
			last = bytes.TrimSpace(bytes.Clone(line))
		}
	}
	return last
}

// Parse implements Parser.
func (p *w3cParser) Parse(line []byte, f *fill.Line) error {
	if line[0] == '#' {
		p.directive(line)
		return fill.ErrComment
	}
	if p.date < 0 || p.time < 0 {
		return errFields
	}
	var date, clock []byte
	rest, n := line, 0
	for ; n < len(p.columns) && rest != nil; n++ {
		word, behind := cutWord(rest)
		rest = behind
		switch {
		case n == p.date:
			date = word
		case n == p.time:
			clock = word
		case p.columns[n] != nil && !fill.Absent(word):
			if err := p.columns[n](f, word); err != nil {
				return err
			}
		}
	}
	if n < len(p.columns) || len(bytes.TrimSpace(rest)) > 0 {
		return errW3CRow
	}
	if err := fill.End(f, f.Rec.Join(date, " ", f.Rec.Join(clock, "Z", nil))); err != nil {
		return err
	}
	return f.Finish(true)
}

// cutWord cuts off the first column; rest is nil after the last.
func cutWord(v []byte) (word, rest []byte) {
	if i := bytes.IndexAny(v, " \t"); i >= 0 {
		return v[:i], v[i+1:]
	}
	return v, nil
}
