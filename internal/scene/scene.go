// Package scene writes files of scenarios, for commands that make them of something else.
package scene

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/session"
)

// File is a scenario.
type File struct {
	Notes []string // comments at its beginning, a line each
	Heads []Field  // headers of all steps
	Steps []Step
}

// Step is one request. What is no Text is written as it is, but never as more than one line.
type Step struct {
	Comment  string // before the step
	Name     string // Append makes names unique; "": METHOD URL
	Journey  string // that begins with the step; "": none does
	Weight   float64
	Method   string
	URL      Text // whole, or a path; URLText makes it
	Header   []Field
	Form     []Field  // of a body that takt encodes; with a File it is multipart/form-data
	Body     Text     // "": none
	BodyFile string   // instead of Body
	Lines    []string // with @, such as Capture, Check and Think make them
}

// Field is a header line, or a field of a form.
type Field struct {
	Name  string
	Value Text
	File  string // of a form, instead of Value
}

// reserved are the headers that takt makes of the request, so that a step cannot have them.
var reserved = []string{"content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "upgrade", "http2-settings"}

// AddHeader adds a header line. It leaves out what takt makes of the request itself, and pseudo headers of HTTP/2, and
// returns an error for what no file can have.
func (s *Step) AddHeader(name string, value Text) error {
	name = strings.TrimSpace(name)
	if slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(name, ":") {
		return nil
	}
	if err := http1.CheckField(http1.Field{Name: name, Value: string(value)}); err != nil && !strings.EqualFold(name, "host") {
		return err
	}
	if controls().MatchString(string(value)) {
		return fmt.Errorf("the header %s has a control character, such as a line break", name)
	}
	if name[0] == '#' {
		return fmt.Errorf("a line that begins with %.30q would be a comment", name)
	}
	s.Header = append(s.Header, Field{Name: name, Value: value})
	return nil
}

// AddField adds a field of a form, or returns an error for a name that no file can have.
func (s *Step) AddField(f Field) error {
	if f.Name == "" || strings.ContainsFunc(f.Name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("the field %.30q of a form has no name, or one with a blank", f.Name)
	}
	if f.File == "" && f.Value == "" && strings.Contains(f.Name, "=") {
		return fmt.Errorf("the field %.30q of a form has a = and no value, which a scenario reads as a slip", f.Name)
	}
	if f.File != strings.TrimSpace(foreign.Text(f.File)) {
		return fmt.Errorf("the file %.60q of a form has a name that no line can have", f.File)
	}
	s.Form = append(s.Form, f)
	return nil
}

// HasHeader reports whether the step has a header of this name.
func (s *Step) HasHeader(name string) bool {
	return slices.ContainsFunc(s.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// Origin is the scheme and host of a URL; "": it has none, or one with a placeholder.
func Origin(at Text) string {
	scheme, rest, ok := strings.Cut(string(at), "://")
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	if scheme = strings.ToLower(scheme); !ok || host == "" || scheme != "http" && scheme != "https" || strings.Contains(host, "{{") {
		return ""
	}
	host = strings.ToLower(host[strings.LastIndex(host, "@")+1:])
	return scheme + "://" + strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
}

// Home is the origin of most steps, which is the URL argument of takt http; "": no step has one.
func (f *File) Home() (home string) {
	most, count := 0, map[string]int{}
	for _, s := range f.Steps {
		if o := Origin(s.URL); o != "" {
			if count[o]++; count[o] > most {
				home, most = o, count[o]
			}
		}
	}
	return home
}

// ShareHeads makes headers that all of several steps have headers of the file. Those stay in their steps that depend on them,
// and those with a name that a step has twice.
func (f *File) ShareHeads() {
	if len(f.Steps) < 2 {
		return
	}
	count, twice := map[Field]int{}, map[string]bool{}
	for _, s := range f.Steps {
		names := map[string]bool{}
		for _, h := range s.Header {
			name := strings.ToLower(h.Name)
			twice[name] = twice[name] || names[name]
			names[name] = true
			count[h]++
		}
	}
	shared := func(h Field) bool {
		name := strings.ToLower(h.Name)
		return count[h] == len(f.Steps) && !twice[name] && !slices.Contains(stepHeaders, name) && !strings.ContainsAny(name, "@/{")
	}
	for _, h := range f.Steps[0].Header {
		if shared(h) {
			f.Heads = append(f.Heads, h)
		}
	}
	for i := range f.Steps {
		f.Steps[i].Header = slices.DeleteFunc(f.Steps[i].Header, shared)
	}
}

// stepHeaders are headers that depend on the step, or on its host.
var stepHeaders = []string{"content-type", "host", "authorization", "cookie"}

// Text is the file. Steps on the host of Home have paths, others whole URLs.
func (f *File) Text() []byte {
	var b []byte
	for _, n := range f.Notes {
		b = comment(b, n)
	}
	for i, h := range f.Heads {
		if i == 0 && b != nil {
			b = append(b, '\n')
		}
		b = fmt.Appendf(b, "%s\n", oneLine(h.Name+": "+string(h.Value)))
	}
	home, names := f.Home(), map[string]bool{}
	for i := range f.Steps {
		if i > 0 || b != nil {
			b = append(b, '\n')
		}
		b = f.Steps[i].append(b, home, names)
	}
	return b
}

func comment(b []byte, text string) []byte {
	for line := range strings.Lines(text) {
		b = fmt.Appendf(b, "%s\n", strings.TrimRight("# "+foreign.Text(strings.TrimRight(line, "\r\n")), " "))
	}
	return b
}

func (s *Step) append(b []byte, home string, names map[string]bool) []byte {
	line := func(format string, args ...any) {
		b = append(b, oneLine(fmt.Sprintf(format, args...))...)
		b = append(b, '\n')
	}
	b = comment(b, s.Comment)
	line("%s %s", s.Method, s.URL.on(home))
	if name := unique(names, foreign.Line(s.Name)); name != "" {
		line("@name %s", name)
	}
	if s.Journey != "" {
		line("@journey %s %s", foreign.Line(s.Journey), strconv.FormatFloat(s.Weight, 'f', -1, 64))
	}
	for _, h := range s.Header {
		line("%s: %s", h.Name, h.Value)
	}
	for _, f := range s.Form {
		if f.File != "" {
			line("@file %s %s", f.Name, f.File)
		} else {
			line("@form %s %s", f.Name, f.Value.edged())
		}
	}
	switch {
	case s.BodyFile != "" && strings.ContainsAny(s.BodyFile, "/."):
		line("@%s", s.BodyFile)
	case s.BodyFile != "":
		line("@./%s", s.BodyFile) // else it could be the name of a line
	case s.Body != "":
		line("@body %s", s.Body.edged())
	}
	for _, l := range s.Lines {
		line("%s", l)
	}
	return b
}

// oneLine keeps a line what it is, whatever a name or a path in it has.
func oneLine(s string) string {
	return strings.TrimRight(strings.NewReplacer("\r", " ", "\n", " ").Replace(s), " ")
}

// unique is a name that no step before has.
func unique(names map[string]bool, name string) string {
	if name == "" {
		return ""
	}
	for one, n := name, 2; ; n++ {
		if !names[one] {
			names[one] = true
			return one
		}
		one = fmt.Sprintf("%s (%d)", name, n)
	}
}

// on is the path of a URL on the home, else the URL.
func (t Text) on(home string) Text {
	o := Origin(t)
	if o == "" || o != home {
		return t
	}
	_, rest, _ := strings.Cut(string(t), "://")
	i := strings.IndexAny(rest+"/", "/?")
	switch host, target := rest[:i], rest[i:]; {
	case strings.Contains(host, "@"), strings.HasPrefix(target, "//"): // it would name a host
		return t
	case strings.HasPrefix(target, "/"):
		return Text(target)
	default:
		return Text("/" + target)
	}
}

// AddQuery is a URL with one more parameter.
func (t Text) AddQuery(name, value Text) Text {
	sep := Text("?")
	if strings.Contains(string(t), "?") {
		sep = "&"
	}
	return t + sep + name + "=" + value
}

// Query is a text as the name or value of a parameter in a URL.
func Query(s string) Text { return Text(url.QueryEscape(s)) }

// Capture is the line that keeps a value. The source is one such as json data.token.
func Capture(name, source string) string { return "@capture " + name + " " + Source(source) }

// Check is the line that asks an answer. is is a relation such as ==; "": the part only has to be there.
func Check(source, is string, value Text) string {
	switch source = Source(source); {
	case is == "":
		return "@check " + source
	case value == "" && (is == "==" || is == "!="):
		return "@check " + source + map[string]string{"==": " matches ^$", "!=": " matches ."}[is]
	}
	return "@check " + source + " " + is + " " + string(value.edged())
}

// taken are names of placeholders without arguments, which a value cannot have.
var taken = []string{"uuid", "now", "unixMilli", "traceparent"}

// Name is a name of a value like s.
func Name(s string) string {
	name := []byte(s)
	for i, c := range name {
		if !session.IsName("a" + string(rune(c))) {
			name[i] = '_'
		}
	}
	if s = string(name); !session.IsName(s) || slices.Contains(taken, s) {
		return "_" + s
	}
	return s
}
