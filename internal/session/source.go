package session

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// Source is a part of an answer that has values.
type Source struct {
	kind kind
	name string         // of the header, in small letters, or of the cookie; the path in JSON
	re   *regexp.Regexp // of regexp; else the part of the value that counts; nil: all of it
	css  *selector      // of css, whose attribute is name; "": the text
	open string         // as written, if it has values of the round
}

// kind is where in an answer the values are.
type kind string

const (
	inHeader kind = "header"
	inCookie kind = "cookie"
	inJSON   kind = "json"
	inText   kind = "regexp"
	inHTML   kind = "css"
	inBody   kind = "body"
	inStatus kind = "status"
)

// sources is how a source is written.
const sources = "json PATH such as data.token, css SELECTOR such as title, header NAME, cookie NAME, regexp EXPRESSION, body or status"

// ParseSource reads json PATH, css SELECTOR, css SELECTOR attr NAME, header NAME, cookie NAME, regexp EXPRESSION, body or status. Behind NAME, regexp EXPRESSION
// takes a part of the value. A path, a selector and an expression may have values of the round.
func ParseSource(text string) (s Source, err error) {
	if strings.Contains(text, braces) {
		return parseOpen(text)
	}
	return parseFixed(text)
}

// parseFixed is ParseSource of a text whose braces are no values.
func parseFixed(text string) (s Source, err error) {
	word, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	arg = strings.TrimSpace(arg)
	if k := kind(word); (k == inBody || k == inStatus) && arg == "" {
		return Source{kind: k}, nil
	}
	if strings.HasPrefix(word, "$") {
		return s, fmt.Errorf("%.60q is a path in JSON; write json %.60s", text, text)
	}
	if word != "" && arg == "" {
		return s, fmt.Errorf("%.30q has nothing behind it; write %s", word, sources)
	}
	s.kind = kind(word)
	expression := ""
	switch s.kind {
	case inHeader, inCookie:
		name, rest, _ := strings.Cut(arg, " ")
		if s.name = name; s.kind == inHeader {
			s.name = strings.ToLower(strings.TrimSuffix(name, ":"))
		}
		if rest = strings.TrimSpace(rest); rest == "" {
			return s, nil
		}
		var found bool
		if expression, found = strings.CutPrefix(rest, "regexp "); !found {
			return s, fmt.Errorf("%.30q is behind the name of a %s; write %s %s regexp EXPRESSION for a part of its value", rest, word, word, name)
		}
	case inJSON:
		s.name = gjsonPath(arg)
		return s, nil
	case inHTML:
		selector := arg
		if i := strings.LastIndex(arg, " attr "); i >= 0 {
			selector, s.name = arg[:i], strings.ToLower(strings.TrimSpace(arg[i+len(" attr "):]))
		}
		s.css, err = parseSelector(selector)
		return s, err
	case inText:
		expression = arg
	default:
		return s, fmt.Errorf("%.30q is not a part of an answer; write %s", word, sources)
	}
	if s.re, err = regexp.Compile(strings.TrimSpace(expression)); err != nil {
		return s, fmt.Errorf("%w; Go's syntax is at https://pkg.go.dev/regexp/syntax", err)
	}
	return s, nil
}

// jsonPath are the parts of a path in JSONPath (RFC 9535) that GJSON writes in another way.
var jsonPath = sync.OnceValue(func() []jsonPart {
	return []jsonPart{
		{regexp.MustCompile(`\[\?\s*\(?\s*@\.(.*?)\)?\s*\]`), `.#($1)#`},
		{regexp.MustCompile(`\[\*\]$`), ``}, // the list; in GJSON # at the end is its length
		{regexp.MustCompile(`\[\*\]`), `.#`},
		{regexp.MustCompile(`\[(?:(\d+)|['"]([^'"]*)['"])\]`), `.$1$2`},
	}
})

type jsonPart struct {
	re *regexp.Regexp
	by string
}

// gjsonPath is a path in the syntax of GJSON, which is also that of k6. A path that begins with $ is one of JSONPath.
func gjsonPath(path string) string {
	rest, is := strings.CutPrefix(path, "$")
	if !is {
		return path
	}
	for _, p := range jsonPath() {
		rest = p.re.ReplaceAllString(rest, p.by)
	}
	return strings.TrimPrefix(rest, ".")
}

// String is how errors name s.
func (s *Source) String() string {
	switch s.kind {
	case inHeader, inCookie:
		return "the " + string(s.kind) + " " + s.name
	}
	return "the body"
}

// InBody reports whether the values are in the body of the answer.
func (s *Source) InBody() bool {
	return s.kind == inJSON || s.kind == inHTML || s.kind == inText || s.kind == inBody
}

// FromBody finds the values in a body. They are valid as long as body is.
func (s *Source) FromBody(body []byte) (values [][]byte, err error) {
	switch s.kind {
	case inJSON:
		return s.fromJSON(body)
	case inHTML:
		return s.css.find(body, s.name)
	case inBody:
		return [][]byte{bytes.TrimRight(body, "\r\n")}, nil // a line break at the end is that of the server's printer
	}
	for _, found := range s.re.FindAllSubmatch(body, maxFound+1) {
		values = append(values, group(found))
	}
	switch {
	case values == nil:
		return nil, errMissing
	case len(values) > maxFound:
		return nil, errManyFound
	}
	return values, nil
}

// part is the part of a value that counts; false: the value does not have it.
func (s *Source) part(value []byte) ([]byte, bool) {
	if s.re == nil {
		return value, true
	}
	found := s.re.FindSubmatch(value)
	if found == nil {
		return nil, false
	}
	return group(found), true
}

// group is the first group of a match, or all of it.
func group(found [][]byte) []byte { return found[min(1, len(found)-1)] }

// The bounds of a body. Without them a body of 1 MiB takes 280 MB and 0.4 s of CPU by 500,000 values, or 256 MB of stack
// by 1,000,000 brackets.
const (
	maxFound  = 100_000
	maxNested = 10_000 // as encoding/json
)

var (
	errNotJSON    = errors.New("the body is not JSON")
	errNull       = errors.New("it is null")
	errNullWithin = errors.New("an element of the list is null")
	errNested     = fmt.Errorf("the JSON in the body is nested more than %d deep", maxNested)
	errManyFound  = fmt.Errorf("the answer has more than %d values; write a source that finds fewer", maxFound)
)

// fromJSON finds strings, numbers and truth values in a JSON body, and those of a list.
func (s *Source) fromJSON(body []byte) (values [][]byte, err error) {
	if nests(body) {
		return nil, errNested
	}
	if !gjson.ValidBytes(body) {
		return nil, errNotJSON
	}
	found := gjson.GetBytes(body, s.name)
	switch {
	case !found.Exists():
		return nil, errMissing
	case found.Type == gjson.Null:
		return nil, errNull
	}
	if !found.IsArray() {
		v, err := ofJSON(found)
		return [][]byte{v}, err
	}
	found.ForEach(func(_, one gjson.Result) bool {
		var v []byte
		if v, err = ofJSON(one); len(values) == maxFound {
			err = errManyFound
		}
		values = append(values, v)
		return err == nil
	})
	if err == nil && values == nil {
		err = errMissing
	}
	return values, err
}

// ofJSON is the value of an element.
func ofJSON(one gjson.Result) ([]byte, error) {
	switch one.Type {
	case gjson.String:
		return []byte(one.Str), nil
	case gjson.Number, gjson.True, gjson.False:
		return []byte(one.Raw), nil
	case gjson.JSON: // an object, or a list within a list
		return []byte(one.Get("@ugly").Raw), nil
	}
	return nil, errNullWithin
}

// nests reports whether the brackets of a body are nested too deep for GJSON, whose functions call themselves for each.
func nests(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch b := body[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[' || b == '{':
			if depth++; depth > maxNested {
				return true
			}
		case b == ']' || b == '}':
			depth--
		}
	}
	return false
}
