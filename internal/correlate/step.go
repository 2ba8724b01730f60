package correlate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/scene"
)

// step is an exchange as a step.
func (b *builder) step(i int) scene.Step {
	e, q := b.exchanges[i], b.requests[i]
	s := scene.Step{Method: e.Method, URL: b.write(q.url, i, false, scene.URLText)}
	if name, plain := stepName(s.Method, s.URL); !plain || b.stepNames[name] {
		s.Name = name
	} else {
		b.stepNames[name] = true // the name that a step has anyway
	}
	for _, h := range q.header {
		if err := s.AddHeader(h.name, b.write(h.chunks, i, h.name == "Referer", scene.Literal)); err != nil {
			b.out.Notes = append(b.out.Notes, fmt.Sprintf("step %d is without the header %.40q: %v", i+1, h.name, err))
		}
	}
	for _, f := range q.form {
		_ = s.AddField(scene.Field{Name: f.name, Value: b.write(f.chunks, i, false, scene.Literal)}) // formFields has asked for the error
	}
	s.Body = b.write(q.body, i, false, scene.Literal)
	if e.Lacks != "" {
		b.out.Notes = append(b.out.Notes, fmt.Sprintf("step %d is without a part of its body: %s", i+1, e.Lacks))
	}
	q.places(func(p *place, _ bool) {
		if p.value != "" && p.in != inPath && secret(p.name) {
			b.comments[i] = append(b.comments[i], fmt.Sprintf("%s has what was typed; for a user each, write {{file \"users.csv\" 2}}", p))
		}
	})
	s.Lines = append(s.Lines, fmt.Sprintf("@check status %d", expected(e.Status)))
	return s
}

// expected is the status of the answer to a request without the condition that a browser's cache added.
func expected(status int) int {
	if status == http.StatusNotModified {
		return http.StatusOK
	}
	return status
}

// filled is a placeholder in a URL.
var filled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{(?:url )?(.*?)\}\}`) })

// stepName is METHOD and path, with names instead of values; plain: METHOD URL is the same.
func stepName(method string, at scene.Text) (name string, plain bool) {
	_, rest, _ := strings.Cut(string(at), "://")
	path, _, query := strings.Cut(rest[strings.Index(rest, "/"):], "?")
	name = filled().ReplaceAllString(path, "{$1}")
	return method + " " + name, name == path && !query
}

// write writes chunks, with placeholders for what differs from user to user.
func (b *builder) write(list []chunk, i int, repeats bool, literal func(string) scene.Text) (t scene.Text) {
	for _, c := range list {
		if c.at == nil {
			t += literal(c.text)
			continue
		}
		pieces := b.pieces(c.at, i, repeats)
		if !slices.ContainsFunc(pieces, piece.fills) {
			t += literal(c.at.raw)
			continue
		}
		for _, p := range pieces {
			t += c.at.fill(p, literal)
		}
	}
	return t
}

// fill is a piece as its place has it.
func (p *place) fill(one piece, literal func(string) scene.Text) scene.Text {
	if one.fill == "" {
		return literal(p.encode(one.text))
	}
	t := scene.Value(one.fill)
	switch {
	case (p.in == inPath || p.in == inQuery) && (!one.safe || p.raw != p.value):
		return t.In("url")
	case p.in == inString && !one.safe:
		return t.In("json")
	}
	return t
}

// encode is a text as its place has it.
func (p *place) encode(text string) string {
	switch p.in {
	case inPath:
		return url.PathEscape(text)
	case inQuery:
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	case inString:
		var out strings.Builder
		to := json.NewEncoder(&out)
		to.SetEscapeHTML(false)
		_ = to.Encode(text) // a string can be encoded
		return strings.TrimSuffix(strings.TrimPrefix(out.String(), `"`), "\"\n")
	}
	return text
}

// pause writes the think times: from the end of the answers so far to the next request, static files included.
func (b *builder) pause(all []*Exchange) {
	var end time.Time
	step := 0
	for _, e := range all {
		if step < len(b.exchanges) && b.exchanges[step] == e {
			if pause := e.Began.Sub(end); step > 0 && !end.IsZero() && pause > shortPause {
				s := &b.out.Scene.Steps[step]
				s.Lines = slices.Insert(s.Lines, 0, "@think "+min(pause, longestPause).Round(10*time.Millisecond).String())
			}
			step++
		}
		if e.Status > 0 && e.Ended.After(end) {
			end = e.Ended
		}
	}
}

// overlaps says that requests were sent side by side.
func (b *builder) overlaps() []string {
	n := 0
	var end time.Time
	for _, e := range b.exchanges {
		if e.Began.Before(end) {
			n++
		}
		if e.Ended.After(end) {
			end = e.Ended
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s began before the answer to an earlier one was there; the scenario sends them one behind the other", figure.Plural(n, "request"))}
}

// browsers says that several were recorded at once, whose requests are mixed.
func (b *builder) browsers() []string {
	agents := map[string]bool{}
	for _, e := range b.exchanges {
		agents[e.Header.Get("User-Agent")] = true
	}
	if len(agents) < 2 {
		return nil
	}
	return []string{fmt.Sprintf("%d clients were recorded (by their User-Agent), whose requests are mixed in one scenario; record one at a time", len(agents))}
}

// countCookies says which cookies takt will not have: no answer set them.
func (b *builder) countCookies() {
	set, told := map[string]bool{}, map[string]bool{}
	for _, e := range b.exchanges {
		for _, line := range e.Header["Cookie"] {
			list, _ := http.ParseCookie(line)
			for _, c := range list {
				if !set[c.Name] && !told[c.Name] {
					told[c.Name] = true
					b.out.Notes = append(b.out.Notes, fmt.Sprintf("the cookie %.60q is not sent: no recorded answer set it; if the server needs it, record from a browser that begins without cookies", c.Name))
				}
			}
		}
		for _, line := range e.Answer["Set-Cookie"] {
			if c, err := http.ParseSetCookie(line); err == nil {
				set[c.Name] = true
			}
		}
	}
}

// Head are the comments at the beginning of the file. verb is what was done, such as Recorded.
func (m *Made) Head(verb string) (notes []string) {
	first := fmt.Sprintf("%s on %s from %s: %s.", verb, m.Sent[0].Began.UTC().Format(time.DateTime+" MST"), m.Scene.Home(), figure.Plural(len(m.Scene.Steps), "step"))
	notes = append(notes, first)
	for _, n := range m.Notes {
		notes = append(notes, "- "+n)
	}
	for _, u := range m.Unknown {
		notes = append(notes, "- not known where from: "+u)
	}
	return notes
}
