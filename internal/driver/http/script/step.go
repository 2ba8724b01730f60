package script

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
)

// maxLines limits the @ lines of a step, and the values of a scenario, whose names takt compares one by one: 100,000 of
// them took minutes.
const maxLines = 1000

// Step is one request of a scenario.
type Step struct {
	Name     string
	Text     *httpreq.Message // before anything is filled in
	Own      int              // number of header lines in text that the step itself has
	Target   *payload.Template
	Header   []*payload.Template // the values of text.Header
	Body     *payload.Template
	Captures []session.Capture
	Checks   []*Check
	asks     []*Check  // checks, and what the step polls for as the last one
	form     form      // body; nil: it is no form
	Sets     []setting // values that are made before it
	Think    dist.Time // before the step
	Rest     dist.Time // of a user before its next round begins with the step
	said     []said    // its @ lines, as they are written
	Line     int       // where it begins
	rules
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
func (s *Step) directive(word, rest, text string, body []byte, where *lines, line int) ([]byte, error) {
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
		s.Captures = append(s.Captures, c)
		return body, err
	case "@check":
		c, err := parseCheck(rest)
		s.Checks = append(s.Checks, c)
		where.checks = append(where.checks, line)
		return body, err
	case "@set":
		one, err := parseSetting(rest, line)
		s.Sets = append(s.Sets, one)
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
		s.Think, where.think = d, line
		return body, nil
	case "@name":
		s.Name, where.name = rest, line
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

// isMisspelt reports whether a text looks like the name of a line, and is no file.
func isMisspelt(text string) bool {
	if text == "" || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	_, err := files.Stat(text)
	return errors.Is(err, os.ErrNotExist)
}

// checkFixed finds faults of the request that do not depend on values.
func (s *Step) checkFixed() error {
	if !s.Target.Fixed() {
		return nil
	}
	q := s.Text.Request
	q.Target, q.Header = string(s.Target.Append(nil, 0)), slices.Clone(q.Header)
	for i, h := range s.Header {
		if !h.Fixed() {
			return nil
		}
		q.Header[i].Value = string(h.Append(nil, 0))
	}
	_, err := q.AppendTo(nil)
	return err
}
