package http

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/value"
)

// maxSteps limits the steps of a scenario.
const maxSteps = 1000

// step is one request of a scenario.
type step struct {
	name     string
	text     *message // before anything is filled in
	target   *payload.Template
	header   []*payload.Template // the values of text.Header
	body     *payload.Template
	captures []session.Capture
	think    time.Duration // before the step
}

// scenarioReader reads a scenario: targets in vegeta's http format, with the lines @capture, @think,
// @name and @body.
type scenarioReader struct {
	o     *Options
	env   *payload.Env
	lines *bufio.Scanner
	name  string
	line  int
	again bool // the current line has not been used
	known []string
}

// readScenario reads the whole file.
func (o *Options) readScenario() (*scenario, error) {
	f, err := os.Open(o.Scenario)
	if err != nil {
		return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
	}
	defer f.Close()
	sum := sha256.New()
	r := &scenarioReader{o: o, env: &payload.Env{Seed: o.seed}, name: o.Scenario, lines: bufio.NewScanner(io.TeeReader(f, sum))}
	r.lines.Buffer(nil, maxTargetLine)
	s := &scenario{o: o, name: o.Scenario}
	for {
		at, err := r.step(len(s.steps) + 1)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", r.name, r.line, err)
		}
		if s.steps = append(s.steps, at); len(s.steps) > maxSteps {
			return nil, fmt.Errorf("%s: more than %d steps; a long list of independent requests is for --targets", r.name, maxSteps)
		}
	}
	if err := r.lines.Err(); err != nil {
		return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("%s: %w", r.name, errNoTargets)
	}
	s.sum = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// next is the next line without blanks around it, comments left out; false at the end.
func (r *scenarioReader) next() (string, bool) {
	for r.again || r.lines.Scan() {
		if !r.again {
			r.line++
		}
		r.again = false
		text := strings.TrimSpace(strings.TrimPrefix(r.lines.Text(), "\ufeff"))
		if !strings.HasPrefix(text, "#") {
			return text, true
		}
	}
	return "", false
}

// step reads the next step; io.EOF after the last one.
func (r *scenarioReader) step(number int) (*step, error) {
	text, more := r.next()
	for more && text == "" {
		text, more = r.next()
	}
	if !more {
		return nil, io.EOF
	}
	method, at, ok := startOfStep(text)
	if !ok {
		return nil, fmt.Errorf("%s does not begin a step; write METHOD URL such as POST /login", begin(text))
	}
	s := &step{name: fmt.Sprintf("%s %s", method, at)}
	var header []http1.Field
	var body []byte
	for {
		text, more := r.next()
		if !more || text == "" {
			break
		}
		if _, _, ok := startOfStep(text); ok {
			r.again = true
			break
		}
		var err error
		if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "@") {
			body, err = s.directive(word, strings.TrimSpace(rest), text, body)
		} else if name, v, ok := strings.Cut(text, ":"); ok {
			header = append(header, http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(v)})
		} else {
			err = fmt.Errorf("%s is neither a header nor @FILE nor the next step", begin(text))
		}
		if err != nil {
			return nil, err
		}
	}
	return s, r.finish(s, number, method, at, header, body)
}

// startOfStep takes METHOD URL apart, where the URL may begin with a value.
func startOfStep(line string) (method, at string, ok bool) {
	if method, at, ok = startOfTarget(line); ok {
		return method, at, true
	}
	method, at, _ = strings.Cut(line, " ")
	at = strings.TrimSpace(at)
	return method, at, method == strings.ToUpper(method) && !strings.ContainsAny(method, ":@") && strings.HasPrefix(at, placeholder)
}

// directive reads a line that begins with @.
func (s *step) directive(word, rest, text string, body []byte) ([]byte, error) {
	switch word {
	case "@capture":
		c, err := session.ParseCapture(rest)
		s.captures = append(s.captures, c)
		return body, err
	case "@think":
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("think time %.30q is not a duration; write @think 500ms or @think 2s", rest)
		}
		s.think = d
		return body, nil
	case "@name":
		s.name = rest
		if rest == "" {
			return nil, errors.New("@name without a name; write @name log in")
		}
		return body, nil
	}
	if body != nil {
		return nil, fmt.Errorf("%.60q is a second body; a step has one", text)
	}
	if word == "@body" {
		return []byte(rest), nil
	}
	b, err := readFile(strings.TrimPrefix(text, "@"), maxBody)
	if err != nil {
		err = fmt.Errorf("cannot read the body: %w", err)
	}
	return b, err
}

// finish completes a step with the flags, and reads its placeholders.
func (r *scenarioReader) finish(s *step, number int, method, at string, header []http1.Field, body []byte) error {
	u, target := r.o.url, at
	if i := strings.Index(at, "://"); i >= 0 {
		base, rest := splitTarget(at)
		var err error
		if u, err = ParseURL(base); err != nil {
			return err
		}
		if target = rest; rest == "" {
			target = "/"
		}
	}
	if u == nil || r.o.url != nil && (u.Host != r.o.url.Host || u.Scheme != r.o.url.Scheme) {
		return fmt.Errorf("%.60q: all steps of a scenario are on the host of the url argument; give takt http --scenario FILE http://HOST:PORT and write paths in the file", at)
	}
	s.text = r.o.newMessage(method, &url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}, target, header, body)
	prefix := fmt.Sprintf("step %d ", number)
	var faults []error
	parse := func(name, text string) *payload.Template {
		t, err := r.env.Parse(prefix+name, text)
		if err != nil {
			faults = append(faults, err)
			return payload.Literal("")
		}
		for _, n := range t.Names() {
			if !r.captured(n) {
				faults = append(faults, fmt.Errorf("%s%s: {{%s}} is captured only by a later step; an earlier one must have it", prefix, name, n))
			}
		}
		return t
	}
	if s.target = parse("url", target); strings.Contains(s.text.Host, placeholder) {
		faults = append(faults, errors.New("a placeholder in the Host header is not filled in; write the host itself"))
	}
	for _, f := range s.text.Header {
		s.header = append(s.header, parse("header "+f.Name, f.Value))
	}
	s.body = parse("body", string(s.text.Body))
	for _, c := range s.captures {
		if !r.captured(c.Name) {
			r.known, r.env.Values = append(r.known, c.Name), append(r.env.Values, c.Name)
		}
	}
	return cmp.Or(errors.Join(faults...), s.checkFixed())
}

func (r *scenarioReader) captured(name string) bool {
	for _, k := range r.known {
		if k == name {
			return true
		}
	}
	return false
}

// checkFixed finds faults of the request that do not depend on values.
func (s *step) checkFixed() error {
	if !s.target.Fixed() {
		return nil
	}
	for _, h := range s.header {
		if !h.Fixed() {
			return nil
		}
	}
	_, err := s.text.AppendTo(nil)
	return err
}
