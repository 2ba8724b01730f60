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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/value"
)

// maxSteps limits the steps of a scenario.
const maxSteps = 1000

// maxLines limits the @ lines of a step, and the values of a scenario, whose names takt compares one by one: 100,000 of
// them took minutes.
const maxLines = 1000

// step is one request of a scenario.
type step struct {
	name     string
	text     *httpreq.Message // before anything is filled in
	own      int              // number of header lines in text that the step itself has
	target   *payload.Template
	header   []*payload.Template // the values of text.Header
	body     *payload.Template
	captures []session.Capture
	checks   []*check
	asks     []*check  // checks, and what the step polls for as the last one
	form     form      // body; nil: it is no form
	sets     []setting // values that are made before it
	think    dist.Time // before the step
	rest     dist.Time // of a user before its next round begins with the step
	said     []said    // its @ lines, as they are written
	line     int       // where it begins
	rules
}

// scenarioReader reads a scenario: targets in vegeta's http format, with the lines @capture, @think,
// @name and @body.
type scenarioReader struct {
	o     *Options
	hosts httpreq.Hosts // so far
	env   *payload.Env
	lines *bufio.Scanner
	name  string
	line  int
	again bool           // the current line has not been used
	lists []string       // of env.Values, those that are captured lists
	names map[string]int // lines of the @name lines
	heads []head         // of all steps
	phases
}

// head is a header line before the first step, for all steps that have its values and no such header themselves.
type head struct {
	http1.Field
	line int
	used bool
}

// lines are the line numbers of a step's parts, for errors.
type lines struct {
	file                     string // the scenario
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

// CheckScenario reports what is wrong with the text of a scenario. home is the url argument; "": the file has paths only.
func CheckScenario(name string, text []byte, home string) error {
	o := New()
	var err error
	if o.url, err = httpreq.ParseWhole(cmp.Or(home, "http://localhost/")); err != nil {
		return err
	}
	o.Scenario, o.ScenarioFile = name, bytes.NewReader(text)
	_, err = o.readScenario()
	return err
}

// readScenario reads the whole file.
func (o *Options) readScenario() (*scenario, error) {
	file := o.ScenarioFile
	if file == nil {
		f, err := files.Open(o.Scenario)
		if err != nil {
			return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
		}
		defer f.Close()
		file = f
	}
	sum := sha256.New()
	r := &scenarioReader{o: o, env: &payload.Env{Seed: o.seed, Run: &o.run, Open: o.openNear}, name: o.Scenario, names: map[string]int{}, phases: newPhases(), lines: bufio.NewScanner(files.Text(io.TeeReader(file, sum)))}
	r.lines.Buffer(nil, httpreq.MaxLine)
	if o.url != nil {
		r.hosts = httpreq.Hosts{o.url}
	}
	s := &scenario{o: o, name: o.Scenario}
	for number := 1; ; number++ {
		at, err := r.step(number)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.add(at); number > maxSteps {
			return nil, fmt.Errorf("%s: more than %d steps; a long list of independent requests is for --targets", r.name, maxSteps)
		}
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, r.at(r.line+1, fmt.Errorf("the line is longer than %d MiB; write the body into a file: @FILE", httpreq.MaxLine>>20))
	case err != nil:
		return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("%s: no step in it that users perform; a step begins with METHOD URL such as POST /login, and its header and @ lines follow", r.name)
	}
	if err := r.checkHeads(); err != nil {
		return nil, err
	}
	s.sum, s.hosts = hex.EncodeToString(sum.Sum(nil)), r.hosts
	o.url = s.hosts[0]
	if err := s.buildTracks(r.all); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	rounds := r.envOf(inRounds)
	s.limit, s.leases, s.files = rounds.Limit(), rounds.Leases(), append(r.files, r.env.Files()...)
	s.draws = slices.ContainsFunc(s.all(), func(at *step) bool { return slices.ContainsFunc(at.captures, session.Capture.Draws) })
	return s, nil
}

// all are the steps in the order of the file, and number is that of one of them, from 1.
func (s *scenario) all() []*step { return slices.Concat(s.before.steps, s.steps, s.after.steps) }

func (s *scenario) number(at *step) int { return slices.Index(s.all(), at) + 1 }

// buildTracks makes the journeys of the steps. lists are those of @setup.
func (s *scenario) buildTracks(lists []string) error {
	for i, at := range s.steps {
		if i > 0 && at.journey != "" && s.steps[0].journey == "" {
			return fmt.Errorf("the step of line %d begins the journey %s, but the first step begins none; write @journey NAME WEIGHT there, too", at.line, at.journey)
		}
		if at.journey != "" && slices.ContainsFunc(s.tracks, func(t *track) bool { return t.name == at.journey }) {
			return fmt.Errorf("two journeys have the name %s; give each a name of its own", at.journey)
		}
		if i == 0 || at.journey != "" {
			s.tracks = append(s.tracks, &track{name: at.journey, weight: at.weight, from: i})
		}
		s.tracks[len(s.tracks)-1].add(at, s.rulesOf(at))
		s.reacts = s.reacts || at.follow > 0
	}
	for _, t := range s.tracks {
		if s.lasts && !t.isNeverEmpty(lists) {
			return fmt.Errorf("no step of the journey from line %d on is performed in every round: each has @once, a condition, or a list that may be empty; add one that has none", t.steps[0].line)
		}
		s.reacts = s.reacts || !journey.Fixed(t.rules) || t.name != ""
	}
	return nil
}

// rulesOf are the rules of a step as a journey has them.
func (s *scenario) rulesOf(at *step) journey.Step {
	rules := at.rules.of(at.think, s.holds)
	if at.once && s.o.users > 0 {
		s.lasts = true
		s.lasting = append(s.lasting, at.values()...)
		rules.When = append(rules.When, journey.Condition{Not: true, Holds: func(u journey.User) bool { return slices.Contains(u.Self.(*visit).done, at) }})
	}
	return rules
}

// holds asks a condition of a step for a round.
func (s *scenario) holds(c *condition, v *visit) bool {
	is := v.session.Value(c.name)
	return is != nil && c.Holds([][]byte{is}, s.fill(v, c.want)) == nil
}

// next is the next line without blanks around it, comments left out; false at the end.
func (r *scenarioReader) next() (string, bool) {
	for r.again || r.lines.Err() == nil && r.lines.Scan() { // after an error Scan goes on with the rest of the line
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
	for more && number == 1 && r.takeHead(text) {
		for text, more = r.next(); more && text == ""; {
			text, more = r.next()
		}
	}
	if !more {
		return nil, io.EOF
	}
	method, at, ok := startOfStep(text)
	if !ok {
		if looksLikeBody(text) {
			return nil, r.at(r.line, errBodyLines)
		}
		if _, _, header := strings.Cut(text, ": "); number > 1 && (header || strings.HasPrefix(text, "@")) {
			return nil, r.at(r.line, errors.New("a blank line before it ended the step that this line is about; remove the blank line"))
		}
		return nil, r.at(r.line, fmt.Errorf("%s does not begin a step; write %s", httpreq.Beginning(text), stepLike(text)))
	}
	s := &step{name: fmt.Sprintf("%s %s", method, value.HidePassword(at)), line: r.line}
	where := &lines{file: r.name, start: r.line, header: map[string]int{}}
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
		} else if looksLikeBody(text) {
			err = errBodyLines
		} else if name, v, ok := strings.Cut(text, ":"); ok {
			header = append(header, http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(v)})
			where.header[header[len(header)-1].Name] = r.line
		} else {
			err = fmt.Errorf("%s is neither a header nor @FILE nor the next step", httpreq.Beginning(text))
		}
		if err != nil {
			return nil, r.at(r.line, err)
		}
	}
	if err := s.rules.check(); err != nil {
		return nil, r.at(where.start, err)
	}
	first, err := r.enter(s)
	if err != nil {
		return nil, err
	}
	switch first = first || s.journey != ""; {
	case first && s.phase == inRounds:
		if s.rest = s.think; s.repeat == (journey.Repeat{}) { // else it is the time before each further repetition, too
			s.think = dist.Time{}
		}
	case first && where.think > 0:
		return nil, r.at(where.think, errors.New("@think before the first step of @setup or @teardown has no effect, nobody waits before it; put it at a later step, or leave it out"))
	}
	if other := r.names[s.name]; other > 0 && where.name > 0 {
		return nil, r.at(where.name, fmt.Errorf("the step of line %d has the name %.60q, too; give each step a name of its own", other, s.name))
	}
	if where.name > 0 {
		r.names[s.name] = where.name
	}
	return s, r.finish(s, where, number, method, at, header, body)
}

// stepLike is how a line that does not begin a step would begin one.
func stepLike(text string) string {
	method, at, _ := strings.Cut(text, " ")
	if at = strings.TrimSpace(at); at == "" || strings.Contains(at, " ") || len(at) > 60 || !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}, strings.ToUpper(method)) {
		return "METHOD URL such as POST /login"
	}
	if !strings.HasPrefix(at, "/") && httpreq.Whole(nil, at) == "" {
		at = "/" + at
	}
	return strings.ToUpper(method) + " " + at
}

var errBodyLines = errors.New("the line looks like a part of a body; write the whole body in one line, @body TEXT, or into a file, @FILE")

// looksLikeBody reports whether a line that is not empty begins as one of JSON or XML does, and as no header does.
func looksLikeBody(line string) bool {
	return strings.IndexByte(`{}[]"<`, line[0]) >= 0 && !strings.HasPrefix(line, httpreq.Placeholder)
}

// takeHead takes a header line before the first step.
func (r *scenarioReader) takeHead(text string) bool {
	name, v, ok := strings.Cut(text, ":")
	if _, _, starts := startOfStep(text); starts || !ok || name == "" || strings.ContainsAny(name, " @/{") {
		return false
	}
	r.heads = append(r.heads, head{Field: http1.Field{Name: name, Value: strings.TrimSpace(v)}, line: r.line})
	return true
}

// addHeads adds the headers of all steps to those of a step.
func (r *scenarioReader) addHeads(header []http1.Field, s *step, body bool, where *lines) []http1.Field {
	for i := range r.heads {
		h := &r.heads[i]
		if httpreq.Header(header).Has(h.Name) || strings.EqualFold(h.Name, "Content-Type") && !body || !r.canFill(h.Value, s) {
			continue
		}
		h.used, where.header[h.Name] = true, h.line
		header = append(header, h.Field)
	}
	return header
}

// canFill reports whether a step has the values in a text.
func (r *scenarioReader) canFill(text string, s *step) bool {
	env := *r.env
	env.Values = append(slices.Clone(env.Values), s.repeat.Name)
	for _, one := range s.sets {
		env.Values = append(env.Values, one.name)
	}
	_, err := env.Parse("", text)
	return !errors.Is(err, payload.ErrUnknown)
}

// checkHeads finds headers of all steps that no step has.
func (r *scenarioReader) checkHeads() error {
	for _, h := range r.heads {
		if !h.used {
			return r.at(h.line, fmt.Errorf("no step has the header %s: none has the values in it, or each has such a header of its own; correct the header, or leave it out", h.Name))
		}
	}
	return nil
}

// startOfStep takes METHOD URL apart, where the URL may begin with a value.
func startOfStep(line string) (method, at string, ok bool) {
	if method, at, ok = httpreq.Start(line); ok {
		return method, at, true
	}
	method, at, _ = strings.Cut(line, " ")
	at = strings.TrimSpace(at)
	return method, at, method == strings.ToUpper(method) && !strings.ContainsAny(method, ":@") && strings.HasPrefix(at, httpreq.Placeholder)
}

// directives are the lines of a step with @. Another @ is a body in a file.
const directives = "@name, @think, @capture, @check, @form, @file, @body, @set, @optional, @when, @unless, @repeat, @group, @until, @poll, @retry, @follow, @once, @pace, @journey, @setup, @teardown"

// single are the lines with a value of which a step has one.
var single = []string{"@name", "@think", "@repeat", "@group", "@until", "@poll", "@retry", "@follow", "@pace", "@journey"}

// others are words that other tools have for a line.
var others = map[string]string{
	"@sleep": "@think 500ms", "@pause": "@think 500ms", "@wait": "@think 500ms", "@delay": "@think 500ms",
	"@if": "@when NAME == VALUE", "@loop": "@repeat 3", "@foreach": "@repeat NAME in LIST", "@for": "@repeat NAME in 1..5", "@while": "@repeat 50 with @when NAME, or @until CHECK with @poll",
	"@assert": "@check SOURCE == VALUE", "@expect": "@check SOURCE == VALUE", "@test": "@check SOURCE == VALUE", "@status": "@check status 200",
	"@extract": "@capture NAME SOURCE", "@save": "@capture NAME SOURCE", "@var": "@set NAME TEXT", "@let": "@set NAME TEXT",
	"@json": "a line Content-Type: application/json, and @body TEXT", "@data": "@body TEXT", "@header": "the header itself, NAME: VALUE", "@redirect": "@follow",
}

// directive reads a line that begins with @.
func (s *step) directive(word, rest, text string, body []byte, where *lines, line int) ([]byte, error) {
	if slices.Contains(single, word) && slices.ContainsFunc(s.said, func(one said) bool { return one.word == word }) {
		return nil, fmt.Errorf("a second %s in the step, which would replace the first; keep one", word)
	}
	if len(s.said) == maxLines {
		return nil, fmt.Errorf("more than %d lines with @ in the step; split it", maxLines)
	}
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
	case "@set":
		one, err := parseSetting(rest, line)
		s.sets = append(s.sets, one)
		return body, err
	case "@form", "@file":
		f, err := readField(word, rest, where.file, line)
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
	if meant := others[word]; meant != "" && isMisspelt(word[1:]) {
		return nil, fmt.Errorf("unknown line %s; write %s", word, meant)
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
	b, err := httpreq.ReadOpened(near(where.file, strings.TrimPrefix(text, "@")), httpreq.MaxBody, files.OpenRegular)
	if err != nil {
		err = fmt.Errorf("cannot read the body: %w", err)
	}
	return b, err
}

// near is the path of a file that a scenario names: from the working directory, or else beside the scenario.
func near(scenario, path string) string {
	if _, err := files.Stat(path); !errors.Is(err, os.ErrNotExist) || filepath.IsAbs(path) {
		return path
	}
	beside := filepath.Join(filepath.Dir(scenario), path)
	if _, err := files.Stat(beside); err != nil {
		return path
	}
	return beside
}

// openNear opens a file that the scenario names.
func (o *Options) openNear(path string) (io.ReadCloser, error) {
	f, err := files.OpenRegular(near(o.Scenario, path))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w, and it is not beside the scenario", err)
	}
	return f, err
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
	s.own = len(header)
	header = r.addHeads(header, s, body != nil, where)
	if len(s.form) > 0 {
		if body != nil {
			return r.at(s.form[0].line, errFormAndBody)
		}
		if s.form.uploads() && httpreq.Header(header).Has("Content-Type") {
			return r.at(where.of(where.headerOf("Content-Type")), errors.New("a step with @file has the Content-Type multipart/form-data, with a boundary that takt chooses; drop the header"))
		}
		if !httpreq.Header(header).Has("Content-Type") {
			header = append(header, http1.Field{Name: "Content-Type", Value: s.form.contentType()})
		}
		body = []byte("form") // s.form makes it
	}
	target, err := r.direct(s, method, at, header, body)
	if err != nil {
		return r.at(where.start, err)
	}
	if s.journey != "" { // each round is one journey, and has no values of another one
		r.env.Values, r.lists = slices.Clone(r.values), slices.Clone(r.all)
	}
	prefix := fmt.Sprintf("step %d ", number)
	var faults []error
	know := func(line int, name string) {
		if err := r.know(name); err != nil {
			faults = append(faults, r.at(where.of(line), err))
		}
	}
	if s.repeat.Name != "" {
		know(0, s.repeat.Name)
	}
	parse := func(line int, name, text string) *payload.Template {
		t, err := r.env.Parse(prefix+name, text)
		if errors.Is(err, payload.ErrUnknown) {
			hint := ""
			if name == "url" && strings.HasPrefix(text, httpreq.Placeholder) {
				hint = "; if it should be the host, write the path only, which is on the host of the url argument"
			}
			err = fmt.Errorf("%w; a value from an answer must be captured by an earlier step, with a line such as @capture NAME json PATH; values here: %s%s", err, r.valuesHere(), hint)
		}
		if err != nil {
			faults = append(faults, r.at(where.of(line), err))
			return payload.Literal("")
		}
		return t
	}
	for i := range s.sets {
		one := &s.sets[i]
		if one.value = parse(one.line, "set "+one.name, one.text); one.value.MaxLen() > session.MaxValue {
			faults = append(faults, r.at(one.line, fmt.Errorf("%s can become longer than %d bytes, the most that a value has; shorten it", one.name, session.MaxValue)))
		}
		know(one.line, one.name)
	}
	if s.target = parse(where.start, "url", target); strings.Contains(s.text.Host, httpreq.Placeholder) {
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
	needs := func(line int, what string, names []string) {
		for _, name := range names {
			if !r.captured(name) {
				faults = append(faults, r.at(where.of(line), fmt.Errorf("%s needs {{%s}}, which is captured by no earlier step; write @capture %[2]s SOURCE there", what, name)))
			}
		}
	}
	for i, c := range s.checks {
		needs(where.checks[i], fmt.Sprintf("check %d", i+1), c.Needs())
		c.want = parse(where.checks[i], fmt.Sprintf("check %d", i+1), c.Value)
	}
	if s.asks = s.checks; s.until != nil {
		needs(where.until, "until", s.until.Needs())
		s.until.want = parse(where.until, "until", s.until.Value)
		s.asks = append(slices.Clone(s.checks), s.until)
	}
	for i, c := range s.conditions {
		c.want = parse(c.line, fmt.Sprintf("condition %d", i+1), c.Value)
		if !r.captured(c.name) {
			faults = append(faults, r.at(c.line, fmt.Errorf("%s is captured by no earlier step; write @capture %[1]s SOURCE there, in the same journey", c.name)))
		}
	}
	if list := s.repeat.List; list != "" && !slices.Contains(r.lists, list) {
		faults = append(faults, r.at(where.start, fmt.Errorf("no earlier step captures the list %s; write @capture %[1]s all SOURCE there", list)))
	}
	for _, c := range s.captures {
		needs(0, "the capture "+c.Name, c.Needs())
		know(0, c.Name)
		if c.IsList() {
			r.lists = append(r.lists, c.Name)
		}
	}
	if err := s.checkFixed(); err != nil && len(faults) == 0 {
		return r.at(where.start, err)
	}
	return errors.Join(faults...)
}

// mostNames is how many values an error names.
const mostNames = 10

// valuesHere are the values that a step may use, the newest ones of many.
func (r *scenarioReader) valuesHere() string {
	names := r.env.Values
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > mostNames:
		return "…, " + strings.Join(names[n-mostNames:], ", ")
	}
	return strings.Join(names, ", ")
}

// hosted matches the URL of a request with a value right behind its host.
var hosted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://[^/?#{]*[^/?#{.:@-])(\{\{[^{}]*\}\}(?:[/?#{].*)?)$`)
})

// direct completes a step with the server that it is sent to, and says what the step asks this server for. Credentials
// of the flags, and --host, are for the first server.
func (r *scenarioReader) direct(s *step, method, at string, header []http1.Field, body []byte) (target string, err error) {
	behind := "" // the host, if that is a value
	if m := hosted().FindStringSubmatch(at); m != nil {
		at, behind = m[1], m[2]
	}
	base := r.o.url
	if host, path, _ := strings.Cut(strings.TrimPrefix(at, "//"), "/"); strings.HasPrefix(at, "//") {
		return "", fmt.Errorf("%.60q is a path of the host %s, as in a browser; write /%s for a path, or the whole url of the other host", at, host, strings.Trim(host+"/"+path, "/"))
	}
	w := httpreq.Whole(base, at)
	if host, target := httpreq.SplitTarget(w); target == "" && strings.Contains(host, httpreq.Placeholder) {
		return "", errors.New("the url has a placeholder in its host; write the host itself, and give --connect-to to send its requests elsewhere")
	}
	if path, isHTTP := strings.CutSuffix(at, " HTTP/1.1"); isHTTP {
		return "", fmt.Errorf("the request line ends with HTTP/1.1; write %s %.60s", method, path)
	}
	if w == "" && base == nil {
		return "", fmt.Errorf("%.60q has no host, and there is no url argument; write the whole url, or give takt http --scenario FILE http://HOST:PORT", at)
	}
	alias := r.o.newMessage(method, cmp.Or(base, &url.URL{}), "", header, body).Host
	if err := r.hosts.Add(base, alias, w); err != nil {
		return "", err
	}
	u, server, target, err := r.hosts.Locate(base, alias, at)
	if err != nil {
		return "", err
	}
	target = cmp.Or(behind, target)
	s.text = r.o.newMessage(method, &url.URL{Scheme: server.Scheme, Host: server.Host, User: u.User}, target, header, body)
	hostLine := httpreq.Header(header[:s.own]).Has("Host")
	if hostLine {
		s.own--
	}
	if server == r.hosts[0] {
		return target, nil
	}
	if s.text.Header = httpreq.WithoutCredentials(s.text.Header, s.own); u.User != nil && !httpreq.Header(s.text.Header).Has("Authorization") {
		s.text.Header = append(s.text.Header, http1.Field{Name: "Authorization", Value: httpreq.BasicAuth(u.User)})
	}
	if !hostLine {
		s.text.Host = httpreq.WithoutZone(server.Host)
	}
	return target, nil
}

// know adds a value that later steps may use.
func (r *scenarioReader) know(name string) error {
	if payload.IsPlaceholder(name) {
		return fmt.Errorf("{{%s}} is a placeholder, which no value can replace; give the value another name", name)
	}
	if r.captured(name) {
		return nil
	}
	if len(r.env.Values) == maxLines {
		return fmt.Errorf("%s is value %d of the scenario, and takt has room for %d; capture fewer", name, maxLines+1, maxLines)
	}
	r.env.Values = append(r.env.Values, name)
	return nil
}

// captured reports whether a step before, or the repetition, has a value of this name.
func (r *scenarioReader) captured(name string) bool { return slices.Contains(r.env.Values, name) }

// checkFixed finds faults of the request that do not depend on values.
func (s *step) checkFixed() error {
	if !s.target.Fixed() {
		return nil
	}
	q := s.text.Request
	q.Target, q.Header = string(s.target.Append(nil, 0)), slices.Clone(q.Header)
	for i, h := range s.header {
		if !h.Fixed() {
			return nil
		}
		q.Header[i].Value = string(h.Append(nil, 0))
	}
	_, err := q.AppendTo(nil)
	return err
}
