package parse

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// The load format is the predecessor's: words separated by one blank, # begins a
// comment line.
//
//	date time latency xfertime sleeptime bytes path rc op [expected|body] [expectedRC=NNN]
//
// date and time are when sending began, latency the seconds up to the answer's head,
// xfertime the seconds of its body. expected is the offered rate.

var errColumns = errors.New("fewer than the 9 columns of the load format, or no status and method in the 8th and 9th")

// LoadFile reads the load format. It remembers what the comments say about the rows.
type LoadFile struct {
	Guessed bool // nobody said that it is the format: a row without a date needs a path in the 7th column, and numbers before

	words   [][]byte
	offered float64 // requests per second, from the last "#request/second = N"
	results bool    // the head says that the tenth column is the offered rate, whatever the method
}

// Parse reads one line.
func (p *LoadFile) Parse(line []byte, f *Line) error {
	if line[0] == '#' {
		p.comment(line)
		return ErrComment
	}
	p.split(line)
	at := p.status()
	if at < 0 {
		return errColumns
	}
	w, r := p.words, f.Rec
	dated, err := p.times(f)
	if p.Guessed && r.At.IsZero() && !p.isRow(at) {
		return errColumns
	}
	if err != nil {
		if !f.NoTimes {
			return fmt.Errorf("%w; a replay at a rate, as with --tps, does not need it", err)
		}
		r.At, r.Second, r.Latency, r.Transfer = time.Time{}, false, trace.Unknown, trace.Unknown
	}
	if err := Size(AnswerBytes, false)(f, w[5]); err != nil {
		return err
	}
	status, err := strconv.Atoi(string(w[at]))
	if err != nil || status < -9 || status > 999 { // 444: no answer, -1: not sent
		return ErrStatus
	}
	r.Status, r.Expected, r.Method, r.Offered = status, max(status, 0), w[at+1], p.offered
	if !IsReading(r.Method) {
		r.RequestBytes = r.Bytes
	}
	if err := p.rest(r, w[at+2:]); err != nil {
		return err
	}
	return p.path(f, w[6:at], dated)
}

// comment reads the two comments about rows: the head, and the rate of a step ("#TPS=N" in
// old files).
func (p *LoadFile) comment(line []byte) {
	if bytes.HasPrefix(line, []byte("#yyy")) || bytes.HasPrefix(line, []byte("#date")) {
		words := bytes.Fields(line)
		p.results = len(words) > 9 && string(words[9]) == "expected"
		return
	}
	name, n, ok := bytes.Cut(line[1:], []byte("="))
	switch string(bytes.TrimSpace(name)) {
	case "request/second", "TPS":
		if rate := rateOf(bytes.TrimSpace(n)); ok && rate > 0 {
			p.offered = rate
		}
	}
}

// rateOf reads a rate per second; 0: it is none.
func rateOf(v []byte) float64 {
	rate, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		return 0
	}
	return rate
}

// split cuts the line at blanks. A word from a quote to a quote before a blank contains the
// blanks between them, as in CSV.
func (p *LoadFile) split(line []byte) {
	p.words = p.words[:0]
	for rest := line; ; {
		end := -1
		if len(rest) > 0 && rest[0] == '"' {
			end = quotedWord(rest)
		}
		if end < 0 {
			end = bytes.IndexByte(rest, ' ')
		}
		if end < 0 || end == len(rest) {
			p.words = append(p.words, rest)
			return
		}
		p.words, rest = append(p.words, rest[:end]), rest[end+1:]
	}
}

// quotedWord is the length of the quoted word at the start of v, or -1 if its end is
// missing: the quote is then an ordinary character. Two quotes inside are one.
func quotedWord(v []byte) int {
	for i := 1; i < len(v); i++ {
		if v[i] != '"' {
			continue
		}
		if i+1 == len(v) || v[i+1] == ' ' {
			return i + 1
		}
		if v[i+1] == '"' {
			i++
		}
	}
	return -1
}

// status is the index of the status: the eighth word, or a later one if the path has blanks.
func (p *LoadFile) status() int {
	for i := 7; i+1 < len(p.words); i++ {
		if v := bytes.TrimPrefix(p.words[i], []byte("-")); len(v) > 0 && len(v) <= 3 && Digits(v) >= 0 && IsMethod(p.words[i+1]) {
			return i
		}
	}
	return -1
}

// times reads the columns of times. A bare 0 is an unknown time. dated: the row has a date.
func (p *LoadFile) times(f *Line) (dated bool, err error) {
	r := f.Rec
	at := r.Join(p.words[0], " ", p.words[1])
	if dated = string(at) != "- -"; dated {
		if err := Start(f, at); err != nil {
			return dated, err
		}
	}
	head, ok := Decimal(p.words[2], time.Second)
	body, bodyOK := Decimal(p.words[3], time.Second)
	if !ok || !bodyOK {
		return true, ErrTaken
	}
	if string(p.words[2]) != "0" || string(p.words[3]) != "0" {
		r.Latency = head + body
	}
	if string(p.words[3]) != "0" {
		r.Transfer = body
	}
	return dated, nil
}

// isRow reports whether a row without a date is one of the format.
func (p *LoadFile) isRow(at int) bool {
	_, body := Decimal(p.words[3], time.Second)
	_, sleep := Decimal(p.words[4], time.Second)
	return at == 7 && body && sleep && Digits(p.words[5]) >= 0
}

// rest reads what follows the method: the offered rate or a body, and expectedRC=.
func (p *LoadFile) rest(r *trace.Record, w [][]byte) error {
	if len(w) == 0 {
		return nil
	}
	for _, word := range w {
		if code, ok := bytes.CutPrefix(word, []byte("expectedRC=")); ok {
			if r.Expected = Digits(code); r.Expected < 0 || len(code) > 3 {
				return ErrStatus
			}
		}
	}
	if IsReading(r.Method) || p.results {
		if rate := rateOf(w[0]); rate > 0 {
			r.Offered = rate
		}
		return nil
	}
	r.Body = unquote(r, w[0])
	if len(r.Body) > 0 {
		r.RequestBytes = int64(len(r.Body))
	}
	return nil
}

// IsReading reports whether a method has no body: its size is the answer's, and its tenth column
// the offered rate.
func IsReading(method []byte) bool { return string(method) == "GET" || string(method) == "HEAD" }

// path joins the words of a path that had blanks.
func (p *LoadFile) path(f *Line, w [][]byte, dated bool) error {
	r := f.Rec
	uri := unquote(r, w[0])
	if len(uri) == 0 || uri[0] != '/' && (len(w) > 1 || string(uri) != "*" && !bytes.Contains(uri, []byte("://"))) {
		uri = r.Join(nil, "/", uri)
	}
	if len(w) > 1 {
		uri = r.Join(uri, " ", bytes.Join(w[1:], []byte(" ")))
	}
	if err := f.SetURI(uri); err != nil {
		return err
	}
	return f.Finish(dated)
}

// unquote removes the quotes of a quoted word.
func unquote(r *trace.Record, v []byte) []byte {
	if len(v) < 2 || v[0] != '"' || quotedWord(v) != len(v) {
		return v
	}
	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, '"') < 0 {
		return v
	}
	return r.Join(bytes.ReplaceAll(v, []byte(`""`), []byte(`"`)), "", nil)
}
