package script

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
)

// finish completes a step with the flags, and reads its placeholders.
func (r *scenarioReader) finish(s *Step, where *lines, number int, method, at string, header []http1.Field, body []byte) error {
	s.Own = len(header)
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
	for i := range s.Sets {
		one := &s.Sets[i]
		if one.Value = parse(one.line, "set "+one.Name, one.text); one.Value.MaxLen() > session.MaxValue {
			faults = append(faults, r.at(one.line, fmt.Errorf("%s can become longer than %d bytes, the most that a value has; shorten it", one.Name, session.MaxValue)))
		}
		know(one.line, one.Name)
	}
	if s.Target = parse(where.start, "url", target); strings.Contains(s.Text.Host, httpreq.Placeholder) {
		faults = append(faults, r.at(where.of(where.headerOf("Host")), errors.New("a placeholder in the Host header is not filled in; write the host itself")))
	}
	r.See(s.Target)
	for _, f := range s.Text.Header {
		s.Header = append(s.Header, parse(where.headerOf(f.Name), "header "+f.Name, f.Value))
	}
	if len(s.form) > 0 {
		s.Body = s.form.body(parse)
	} else {
		s.Body = parse(where.body, "body", string(s.Text.Body))
	}
	needs := func(line int, what string, names []string) {
		for _, name := range names {
			if !r.captured(name) {
				faults = append(faults, r.at(where.of(line), fmt.Errorf("%s needs {{%s}}, which is captured by no earlier step; write @capture %[2]s SOURCE there", what, name)))
			}
		}
	}
	for i, c := range s.Checks {
		needs(where.checks[i], fmt.Sprintf("check %d", i+1), c.Needs())
		c.Want = parse(where.checks[i], fmt.Sprintf("check %d", i+1), c.Value)
	}
	if s.asks = s.Checks; s.Until != nil {
		needs(where.until, "until", s.Until.Needs())
		s.Until.Want = parse(where.until, "until", s.Until.Value)
		s.asks = append(slices.Clone(s.Checks), s.Until)
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
	for _, c := range s.Captures {
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
func (r *scenarioReader) direct(s *Step, method, at string, header []http1.Field, body []byte) (target string, err error) {
	behind := "" // the host, if that is a value
	if m := hosted().FindStringSubmatch(at); m != nil {
		at, behind = m[1], m[2]
	}
	base := r.Home
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
	alias := r.Compose(method, cmp.Or(base, &url.URL{}), "", header, body).Host
	if err := r.hosts.Add(base, alias, w); err != nil {
		return "", err
	}
	u, server, target, err := r.hosts.Locate(base, alias, at)
	if err != nil {
		return "", err
	}
	target = cmp.Or(behind, target)
	s.Text = r.Compose(method, &url.URL{Scheme: server.Scheme, Host: server.Host, User: u.User}, target, header, body)
	hostLine := httpreq.Header(header[:s.Own]).Has("Host")
	if hostLine {
		s.Own--
	}
	if server == r.hosts[0] {
		return target, nil
	}
	if s.Text.Header = httpreq.WithoutCredentials(s.Text.Header, s.Own); u.User != nil && !httpreq.Header(s.Text.Header).Has("Authorization") {
		s.Text.Header = append(s.Text.Header, http1.Field{Name: "Authorization", Value: httpreq.BasicAuth(u.User)})
	}
	if !hostLine {
		s.Text.Host = httpreq.WithoutZone(server.Host)
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
