package http

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/value"
)

// keepBodies bounds the body files that are kept for the next target, in bytes.
const keepBodies = 64 << 20

// targetReader reads the formats of vegeta (github.com/tsenart/vegeta, README,
// "-format"). http: METHOD URL, then header lines and at most one @FILE with the
// body, until a blank line or the next METHOD URL; # begins a comment. A URL alone is a
// GET, so that a list of them is read, too. json: an object a line with method, url,
// body (base64) and header. The first character tells which.
type targetReader struct {
	o      *Options
	name   string
	lines  *bufio.Scanner
	line   int  // that was read last
	at     int  // the line that a fault is in
	again  bool // the current line has not been used
	ended  bool
	bodies map[string][]byte
	kept   int // bytes in bodies
}

func newTargetReader(o *Options, name string, r io.Reader) *targetReader {
	t := &targetReader{o: o, name: name, lines: bufio.NewScanner(files.Text(r)), bodies: map[string][]byte{}}
	t.lines.Buffer(nil, httpreq.MaxLine)
	return t
}

func (t *targetReader) where() string { return fmt.Sprintf("%s:%d", t.name, t.at) }

// next is the next target; io.EOF after the last one.
func (t *targetReader) next() (*httpreq.Fixed, error) {
	for t.scan() {
		text := t.text()
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		f, err := t.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.where(), err)
		}
		return f, nil
	}
	switch err := t.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d MiB; write the target as METHOD URL, with its body in a file: @FILE", t.name, t.line+1, httpreq.MaxLine>>20)
	case err != nil:
		return nil, value.Faultf("cannot read the targets: %w; check --targets", err)
	}
	return nil, io.EOF
}

func (t *targetReader) scan() bool {
	if t.ended {
		return false // asked again, the scanner gives the beginning of a line that was too long
	}
	if !t.again {
		if t.ended = !t.lines.Scan(); t.ended {
			return false
		}
		t.line++
	}
	t.again, t.at = false, t.line
	return true
}

// text is the line without blanks around it.
func (t *targetReader) text() string { return strings.TrimSpace(t.lines.Text()) }

func (t *targetReader) parse(text string) (*httpreq.Fixed, error) {
	first := t.line
	if text[0] == '{' {
		return t.parseJSON(text)
	}
	method, at, ok := httpreq.Start(text)
	if !ok {
		return nil, fmt.Errorf("%s is not a target; write a URL, or METHOD URL such as GET http://127.0.0.1:8080/", httpreq.Beginning(text))
	}
	header, body, err := t.parseRest()
	if err != nil {
		return nil, err
	}
	t.at = first
	return t.target(method, at, header, body)
}

// parseRest reads header lines and the body's file.
func (t *targetReader) parseRest() (header []http1.Field, body []byte, err error) {
	for t.scan() {
		line := t.text()
		if line == "" {
			break
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		if path, ok := strings.CutPrefix(line, "@"); ok {
			if body != nil {
				return nil, nil, fmt.Errorf("%.60q is a second body; a target has one", line)
			}
			if body, err = t.bodyFile(path); err != nil {
				return nil, nil, err
			}
			continue
		}
		if _, _, ok := httpreq.Start(line); ok {
			t.again = true
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, nil, fmt.Errorf("%s is neither a header nor @FILE nor the next target", httpreq.Beginning(line))
		}
		f := http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
		if !strings.EqualFold(f.Name, "host") { // which newMessage takes apart
			if err := http1.CheckField(f); err != nil {
				return nil, nil, err
			}
		}
		header = append(header, f)
	}
	return header, body, nil
}

// bodyFile reads a body, or takes the one that was read before.
func (t *targetReader) bodyFile(path string) ([]byte, error) {
	if b, ok := t.bodies[path]; ok {
		return b, nil
	}
	b, err := httpreq.ReadFile(path, httpreq.MaxBody)
	if err != nil {
		return nil, fmt.Errorf("cannot read the body: %w", err)
	}
	if t.kept+len(b) <= keepBodies {
		t.bodies[path] = b
		t.kept += len(b)
	}
	return b, nil
}

// jsonTarget is an object of the json format.
type jsonTarget struct {
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Body   []byte              `json:"body"`
	Header map[string][]string `json:"header"`
}

func (t *targetReader) parseJSON(text string) (*httpreq.Fixed, error) {
	var j jsonTarget
	if err := decode(text, &j); err != nil {
		return nil, fmt.Errorf("%w; a target is an object such as {\"method\": \"GET\", \"url\": \"http://127.0.0.1:8080/\"}, with body in base64 and header", err)
	}
	if j.Method == "" || j.URL == "" {
		return nil, errors.New("a target needs method and url")
	}
	if upper := strings.ToUpper(j.Method); j.Method != upper {
		return nil, fmt.Errorf("method %q is not in capitals; write %s", j.Method, upper)
	}
	var header []http1.Field
	for _, name := range slices.Sorted(maps.Keys(j.Header)) {
		for _, value := range j.Header[name] {
			header = append(header, http1.Field{Name: name, Value: value})
		}
	}
	return t.target(j.Method, j.URL, header, j.Body)
}

// decode reads the one object that text is, and nothing that takt does not know.
func decode(text string, j *jsonTarget) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(j); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the object on its line")
	}
	return nil
}

// target completes what was read with the flags.
func (t *targetReader) target(method, at string, header []http1.Field, body []byte) (*httpreq.Fixed, error) {
	if i := strings.Index(at, httpreq.Placeholder); i >= 0 && strings.ContainsAny(at[i:], " \t") {
		return nil, fmt.Errorf("url %q has a placeholder, and a list has none; write the target as a step of --scenario, or its URL as the argument", at)
	}
	if strings.ContainsAny(at, " \t") {
		return nil, fmt.Errorf("url %q has a space; write %%20 for it, and nothing behind the url", at)
	}
	u, err := httpreq.RequestURL(t.o.url, at)
	if err != nil {
		return nil, err
	}
	hosts := 0
	for _, f := range header {
		if strings.EqualFold(f.Name, "host") {
			hosts++
		}
	}
	if hosts > 1 {
		return nil, fmt.Errorf("the target has %d Host headers; a request has one", hosts)
	}
	if body == nil {
		body = t.o.body
	}
	return httpreq.NewFixed(t.o.newMessage(method, u, httpreq.Verbatim(t.o.url, u, at), header, body))
}
