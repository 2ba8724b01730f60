package http

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/http1"
)

// maxTargetLine bounds a line, and so a body that stands in one as JSON.
const maxTargetLine = 16 << 20

// keepBodies bounds the body files that are kept for the next target, in bytes.
const keepBodies = 64 << 20

// targetReader reads the formats of vegeta (github.com/tsenart/vegeta, README,
// "-format"). http: METHOD URL, then header lines and at most one @FILE with the
// body, until a blank line or the next METHOD URL; # begins a comment. json: an
// object a line with method, url, body (base64) and header. The first character
// tells which.
type targetReader struct {
	o      *Options
	name   string
	lines  *bufio.Scanner
	line   int
	again  bool // the current line has not been used
	bodies map[string][]byte
	kept   int // bytes in bodies
}

func newTargetReader(o *Options, name string, r io.Reader) *targetReader {
	t := &targetReader{o: o, name: name, lines: bufio.NewScanner(r), bodies: map[string][]byte{}}
	t.lines.Buffer(nil, maxTargetLine)
	return t
}

func (t *targetReader) where() string { return fmt.Sprintf("%s:%d", t.name, t.line) }

// next is the next target; io.EOF after the last one.
func (t *targetReader) next() (*fixed, error) {
	for t.scan() {
		text := t.text()
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		at := t.where()
		f, err := t.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return f, nil
	}
	if err := t.lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w; a line has at most %d MiB", t.where(), err, maxTargetLine>>20)
	}
	return nil, io.EOF
}

func (t *targetReader) scan() bool {
	if t.again {
		t.again = false
		return true
	}
	if !t.lines.Scan() {
		return false
	}
	t.line++
	return true
}

func (t *targetReader) text() string { return strings.TrimSpace(t.lines.Text()) }

func (t *targetReader) parse(text string) (*fixed, error) {
	if text[0] == '{' {
		return t.parseJSON(text)
	}
	method, at, ok := startOfTarget(text)
	if !ok {
		return nil, fmt.Errorf("%.60q is no target; write METHOD URL, such as GET http://127.0.0.1:8080/", text)
	}
	header, body, err := t.parseRest()
	if err != nil {
		return nil, err
	}
	return t.target(method, at, header, body)
}

// startOfTarget takes METHOD URL apart.
func startOfTarget(line string) (method, at string, ok bool) {
	method, at, _ = strings.Cut(line, " ")
	at = strings.TrimSpace(at)
	ok = method == strings.ToUpper(method) && !strings.ContainsAny(method, ":@") && (strings.Contains(at, "://") || strings.HasPrefix(at, "/"))
	return method, at, ok
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
			if body, err = t.bodyFile(path); err != nil {
				return nil, nil, err
			}
			continue
		}
		if _, _, ok := startOfTarget(line); ok {
			t.again = true
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, nil, fmt.Errorf("line %d: %.60q is neither a header nor @FILE nor the next target", t.line, line)
		}
		header = append(header, http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	return header, body, nil
}

// bodyFile reads a body, or takes the one that was read before.
func (t *targetReader) bodyFile(path string) ([]byte, error) {
	if b, ok := t.bodies[path]; ok {
		return b, nil
	}
	b, err := os.ReadFile(path)
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

func (t *targetReader) parseJSON(text string) (*fixed, error) {
	var j jsonTarget
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return nil, fmt.Errorf("%w; a target is an object such as {\"method\": \"GET\", \"url\": \"http://127.0.0.1:8080/\"}, its body in base64", err)
	}
	if j.Method == "" || j.URL == "" {
		return nil, errors.New("a target needs method and url")
	}
	var header []http1.Field
	for _, name := range slices.Sorted(maps.Keys(j.Header)) {
		for _, value := range j.Header[name] {
			header = append(header, http1.Field{Name: name, Value: value})
		}
	}
	return t.target(j.Method, j.URL, header, j.Body)
}

// target completes what was read with the flags.
func (t *targetReader) target(method, at string, header []http1.Field, body []byte) (*fixed, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	if t.o.url != nil {
		u = t.o.url.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q has no http:// or https:// scheme and host; write it whole, or give the url that it is relative to", at)
	}
	if body == nil {
		body = t.o.body
	}
	return newFixed(t.o.newMessage(method, u, u.RequestURI(), header, body))
}
