package http

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/journey"
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
	checks   []*check
	asks     []*check  // checks, and what the step polls for as the last one
	form     form      // body; nil: it is no form
	think    dist.Time // before the step
	said     []said    // its @ lines, as they are written
	line     int       // of the file
	rules
}

// scenarioReader reads a scenario: targets in vegeta's http format, with the lines @capture, @think,
// @name and @body.
type scenarioReader struct {
	o     *Options
	env   *payload.Env
	lines *bufio.Scanner
	name  string
	line  int
	again bool           // the current line has not been used
	lists []string       // of env.Values, those that are captured lists
	names map[string]int // lines of the @name lines
}

// lines are the line numbers of a step's parts, for errors.
type lines struct {
	start, body, name, think int
	until                    int
	checks                   []int
	header                   map[string]int // by name; 0: a header of the flags
}

// headerOf is the line of a header.
func (l *lines) headerOf(name string) int {
	for n, line := range l.header {
		if strings.EqualFold(n, name) {
			return line
		}
	}
	return 0
}

// of is the line of a part. What the step itself does not have begins with it.
func (l *lines) of(line int) int { return cmp.Or(line, l.start) }

// at puts the place into an error.
func (r *scenarioReader) at(line int, err error) error {
	return fmt.Errorf("%s:%d: %w", r.name, line, err)
}

// readScenario reads the whole file.
func (o *Options) readScenario() (*scenario, error) {
	f, err := files.Open(o.Scenario)
	if err != nil {
		return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
	}
	defer f.Close()
	return o.readScenarioOf(f)
}

// CheckScenario reports what is wrong with the text of a scenario. home is the url argument; "": the file has paths only.
func CheckScenario(name string, text []byte, home string) error {
	o := New()
	var err error
	if o.url, err = parseWhole(cmp.Or(home, "http://localhost/")); err != nil {
		return err
	}
	o.Scenario = name
	_, err = o.readScenarioOf(bytes.NewReader(text))
	return err
}

func (o *Options) readScenarioOf(f io.Reader) (*scenario, error) {
	sum := sha256.New()
	r := &scenarioReader{o: o, env: &payload.Env{Seed: o.seed, Ends: true, Lends: true}, name: o.Scenario, names: map[string]int{}, lines: bufio.NewScanner(files.Text(io.TeeReader(f, sum)))}
	r.lines.Buffer(nil, maxTargetLine)
	s := &scenario{o: o, name: o.Scenario}
	for {
		at, err := r.step(len(s.steps) + 1)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.steps = append(s.steps, at); len(s.steps) > maxSteps {
			return nil, fmt.Errorf("%s: more than %d steps; a long list of independent requests is for --targets", r.name, maxSteps)
		}
	}
	if err := r.lines.Err(); err != nil {
		return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("%s: no step in it; a step begins with METHOD URL such as POST /login, and its header and @ lines follow", r.name)
	}
	s.sum = hex.EncodeToString(sum.Sum(nil))
	if err := s.buildTracks(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	s.limit, s.leases, s.files = r.env.Limit(), r.env.Leases(), r.env.Files()
	s.draws = slices.ContainsFunc(s.steps, func(at *step) bool { return slices.ContainsFunc(at.captures, session.Capture.Draws) })
	return s, nil
}

// buildTracks makes the journeys of the steps.
func (s *scenario) buildTracks() error {
	for i, at := range s.steps {
		if i > 0 && at.journey != "" && s.steps[0].journey == "" {
			return fmt.Errorf("step %d begins the journey %s, but the first step begins none; write @journey NAME WEIGHT there, too", i+1, at.journey)
		}
		if at.journey != "" && slices.ContainsFunc(s.tracks, func(t *track) bool { return t.name == at.journey }) {
			return fmt.Errorf("two journeys have the name %s; give each a name of its own", at.journey)
		}
		if i == 0 || at.journey != "" {
			s.tracks = append(s.tracks, &track{name: at.journey, weight: at.weight, from: i})
		}
		t := s.tracks[len(s.tracks)-1]
		t.rules = append(t.rules, at.rules.of(at.think, s.holds))
		s.reacts = s.reacts || !journey.Fixed(t.rules) || len(s.tracks) > 1
	}
	return nil
}

// holds asks a condition of a step for a round.
func (s *scenario) holds(c *condition, v *visit) bool {
	is := v.session.Value(c.name)
	return is != nil && c.Holds([][]byte{is}, s.fill(v, c.want)) == nil
}

// next is the next line without blanks around it, comments left out; false at the end.
func (r *scenarioReader) next() (string, bool) {
	for r.again || r.lines.Scan() {
		if !r.again {
			r.line++
		}
		r.again = false
		text := strings.TrimSpace(r.lines.Text())
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
		return nil, r.at(r.line, fmt.Errorf("%s does not begin a step; write METHOD URL such as POST /login", begin(text)))
	}
	s := &step{name: fmt.Sprintf("%s %s", method, at), line: r.line}
	where := &lines{start: r.line, header: map[string]int{}}
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
			body, err = s.directive(word, strings.TrimSpace(rest), text, body, where, r.line)
		} else if name, v, ok := strings.Cut(text, ":"); ok {
			header = append(header, http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(v)})
			where.header[header[len(header)-1].Name] = r.line
		} else {
			err = fmt.Errorf("%s is neither a header nor @FILE nor the next step", begin(text))
		}
		if err != nil {
			return nil, r.at(r.line, err)
		}
	}
	if err := s.rules.check(); err != nil {
		return nil, r.at(where.start, err)
	}
	if where.think > 0 && number == 1 {
		return nil, r.at(where.think, errors.New("@think before the first step has no effect, nobody waits before it; put it at the step before which users wait, or leave it out"))
	}
	if other := r.names[s.name]; other > 0 && where.name > 0 {
		return nil, r.at(where.name, fmt.Errorf("the step of line %d has the name %.60q, too; give each step a name of its own", other, s.name))
	}
	if where.name > 0 {
		r.names[s.name] = where.name
	}
	return s, r.finish(s, where, number, method, at, header, body)
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

// directives are the lines of a step with @. Another @ is a body in a file.
const directives = "@name, @think, @capture, @check, @form, @file, @body, @optional, @when, @unless, @repeat, @until, @poll, @retry, @journey"

// directive reads a line that begins with @.
func (s *step) directive(word, rest, text string, body []byte, where *lines, line int) ([]byte, error) {
	s.said = append(s.said, said{word, rest})
	if err := s.set(word, rest, line); err != errNoRule {
		if word == "@until" {
			where.until = line
		}
		return body, err
	}
	switch word {
	case "@capture":
		c, err := session.ParseCapture(rest)
		s.captures = append(s.captures, c)
		return body, err
	case "@check":
		c, err := parseCheck(rest)
		s.checks = append(s.checks, c)
		where.checks = append(where.checks, line)
		return body, err
	case "@form", "@file":
		f, err := readField(word, rest, line)
		s.form = append(s.form, f)
		return body, err
	case "@think":
		d, err := dist.Parse(rest)
		if err != nil || rest == "" {
			return nil, fmt.Errorf("think time %.30q is not a time; write @think 500ms, 2 for seconds, 1s..3s, exp(2s) or lognormal(2s,0.5), at most 1h", rest)
		}
		s.think, where.think = d, line
		return body, nil
	case "@name":
		s.name, where.name = rest, line
		if rest == "" {
			return nil, errors.New("@name without a name; write @name log in")
		}
		return body, nil
	}
	if word != "@body" && isMisspelt(word[1:]) {
		return nil, fmt.Errorf("unknown line %.30s; known are %s, and @FILE with a body, but there is no such file", word, directives)
	}
	if body != nil {
		return nil, fmt.Errorf("%.60q is a second body; a step has one", text)
	}
	where.body = line
	if word == "@body" {
		return []byte(rest), nil
	}
	b, err := readFile(strings.TrimPrefix(text, "@"), maxBody)
	if err != nil {
		err = fmt.Errorf("cannot read the body: %w", err)
	}
	return b, err
}

// isMisspelt reports whether a text looks like the name of a line, and is no file.
func isMisspelt(text string) bool {
	if text == "" || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	_, err := files.Stat(text)
	return errors.Is(err, os.ErrNotExist)
}

// finish completes a step with the flags, and reads its placeholders.
func (r *scenarioReader) finish(s *step, where *lines, number int, method, at string, header []http1.Field, body []byte) error {
	u := r.o.url
	if u == nil {
		return r.at(where.start, fmt.Errorf("%.60q: all steps of a scenario are on the host of the url argument; give takt http --scenario FILE http://HOST:PORT and write paths in the file", at))
	}
	if host, target := splitTarget(whole(u, at)); host != "" && target == "" && strings.Contains(host, placeholder) {
		return r.at(where.start, errors.New("the url has a placeholder in its host; write a path, since all steps of a scenario are on the host of the url argument"))
	}
	if len(s.form) > 0 {
		if body != nil {
			return r.at(s.form[0].line, errFormAndBody)
		}
		if s.form.uploads() && Header(header).Has("Content-Type") {
			return r.at(where.of(where.headerOf("Content-Type")), errors.New("a step with @file has the Content-Type multipart/form-data, with a boundary that takt chooses; drop the header"))
		}
		if !Header(header).Has("Content-Type") {
			header = append(header, http1.Field{Name: "Content-Type", Value: s.form.contentType()})
		}
		body = []byte("form") // s.form makes it
	}
	named := r.o.newMessage(method, u, "", header, body).Host
	mine, target, err := targetOn(u, named, at)
	if err != nil {
		return r.at(where.start, fmt.Errorf("%w; write a path", err))
	}
	s.text = r.o.newMessage(method, &url.URL{Scheme: u.Scheme, Host: u.Host, User: mine.User}, target, header, body)
	prefix := fmt.Sprintf("step %d ", number)
	if s.repeat.Name != "" {
		r.know(s.repeat.Name)
	}
	var faults []error
	parse := func(line int, name, text string) *payload.Template {
		t, err := r.env.Parse(prefix+name, text)
		if errors.Is(err, payload.ErrUnknown) {
			err = fmt.Errorf("%w; a value from an answer must be captured by an earlier step, with a line such as @capture NAME json PATH", err)
		}
		if err != nil {
			faults = append(faults, r.at(where.of(line), err))
			return payload.Literal("")
		}
		return t
	}
	if s.target = parse(where.start, "url", target); strings.Contains(s.text.Host, placeholder) {
		faults = append(faults, r.at(where.of(where.headerOf("Host")), errors.New("a placeholder in the Host header is not filled in; write the host itself")))
	}
	r.o.noteOdd(s.target)
	for _, f := range s.text.Header {
		s.header = append(s.header, parse(where.headerOf(f.Name), "header "+f.Name, f.Value))
	}
	if len(s.form) > 0 {
		s.body = s.form.body(parse)
	} else {
		s.body = parse(where.body, "body", string(s.text.Body))
	}
	for i, c := range s.checks {
		c.want = parse(where.checks[i], fmt.Sprintf("check %d", i+1), c.Value)
	}
	if s.asks = s.checks; s.until != nil {
		s.until.want = parse(where.until, "until", s.until.Value)
		s.asks = append(slices.Clone(s.checks), s.until)
	}
	for i, c := range s.conditions {
		c.want = parse(c.line, fmt.Sprintf("condition %d", i+1), c.Value)
		if !r.captured(c.name) {
			faults = append(faults, r.at(c.line, fmt.Errorf("%s is captured by no earlier step; write @capture %[1]s SOURCE there", c.name)))
		}
	}
	if list := s.repeat.List; list != "" && !slices.Contains(r.lists, list) {
		faults = append(faults, r.at(where.start, fmt.Errorf("no earlier step captures the list %s; write @capture %[1]s all SOURCE there", list)))
	}
	for _, c := range s.captures {
		r.know(c.Name)
		if c.IsList() {
			r.lists = append(r.lists, c.Name)
		}
	}
	if err := s.checkFixed(); err != nil && len(faults) == 0 {
		return r.at(where.start, err)
	}
	return errors.Join(faults...)
}

// know adds a value that later steps may use.
func (r *scenarioReader) know(name string) {
	if !r.captured(name) {
		r.env.Values = append(r.env.Values, name)
	}
}

// captured reports whether a step before, or the repetition, has a value of this name.
func (r *scenarioReader) captured(name string) bool { return slices.Contains(r.env.Values, name) }

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
