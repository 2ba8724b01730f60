package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// selector is a list of CSS selectors that finds elements while a document is read, in one pass. So its cost is that of the
// document, whatever a server sends: a tree would have 60 times the memory, and matching in it can take the square of
// the time.
type selector struct {
	compounds []compound // of all selectors of the list, one behind the other
	ends      uint64     // bit i: compound i is the last of its selector
	types     bool       // a compound counts the elements of a type
}

// maxCompounds is the number of compounds of a list: a bit for each.
const maxCompounds = 64

// compound is a part of a selector without blanks, such as input[name=csrf].
type compound struct {
	by    byte // what leads to it from the compound before: ' ', '>', '+' or '~'; 0: it is the first
	tests []func(e *element) bool
}

// element is an element that begins.
type element struct {
	html.Token
	child, typed int // its number among the children of its parent, from 1, and among those of its type
}

// attr is the value of an attribute.
func (e *element) attr(name string) (value string, ok bool) {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// open is an element that has begun and not ended. Bit i of the sets stands for compound i with all before it.
type open struct {
	name          string
	is, above     uint64 // what it matches, and what any of its ancestors matches
	last, earlier uint64 // what the last one of its children matches, and what any of them does
	children      int
	types         map[string]int
	value         int  // number of its value; -1: it has none
	foreign       bool // it is within svg or math, where a tag may end itself
}

// textOf is where the text of an element is.
type textOf struct{ from, to int }

// reading is a document that is being read.
type reading struct {
	by     *selector
	attr   string // whose value counts; "": the text does
	stack  []open
	text   []byte // of the document, without superfluous blanks
	texts  []textOf
	values [][]byte
}

// maxDepth bounds how deeply elements are nested, as other parsers do.
const maxDepth = 512

var errDeep = fmt.Errorf("its elements are nested more than %d deep", maxDepth)

// find returns the attribute of all elements that match, or their text if attr is "".
func (s *selector) find(body []byte, attr string) ([][]byte, error) {
	r := &reading{by: s, attr: attr, stack: []open{{value: -1}}}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			r.close(1)
			return r.found()
		case html.TextToken:
			if attr == "" && len(r.texts) > 0 {
				r.write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if err := r.begin(z.Token()); err != nil {
				return nil, err
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(string(name))
		}
	}
}

// found are the values.
func (r *reading) found() ([][]byte, error) {
	for _, t := range r.texts {
		r.values = append(r.values, bytes.TrimSpace(r.text[t.from:t.to]))
	}
	if r.values == nil {
		return nil, errMissing
	}
	return r.values, nil
}

// write adds text, with one blank for several.
func (r *reading) write(text []byte) {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		if c > ' ' && c != 0x7f && c != 0xa0 {
			r.text = append(r.text, text[:n]...)
		} else if k := len(r.text); k > 0 && r.text[k-1] != ' ' {
			r.text = append(r.text, ' ')
		}
		text = text[n:]
	}
}

// The elements that have no content, and those whose end HTML lets pages leave out: which begins ends which others, up to
// which.
var (
	empties = strings.Fields("area base br col embed hr img input link meta param source track wbr")
	blocks  = strings.Fields("address article aside blockquote details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main menu nav ol p pre section table ul")
	cells   = strings.Fields("td th caption table template")
	implied = map[string]struct{ ends, within []string }{
		"li": {strings.Fields("li"), strings.Fields("ul ol menu table")}, "option": {strings.Fields("option"), strings.Fields("select datalist")},
		"optgroup": {strings.Fields("option optgroup"), strings.Fields("select")},
		"dt":       {strings.Fields("dt dd"), strings.Fields("dl table")}, "dd": {strings.Fields("dt dd"), strings.Fields("dl table")},
		"td": {strings.Fields("td th"), strings.Fields("tr table")}, "th": {strings.Fields("td th"), strings.Fields("tr table")},
		"tr":    {strings.Fields("td th tr caption colgroup"), strings.Fields("table")},
		"tbody": {strings.Fields("td th tr tbody thead tfoot caption colgroup"), strings.Fields("table")},
		"tfoot": {strings.Fields("td th tr tbody thead tfoot caption colgroup"), strings.Fields("table")},
		"thead": {strings.Fields("caption colgroup"), strings.Fields("table")},
		"body":  {strings.Fields("head"), nil},
	}
)

// begin begins an element.
func (r *reading) begin(t html.Token) error {
	parent := &r.stack[len(r.stack)-1]
	foreign := parent.foreign || t.Data == "svg" || t.Data == "math"
	if !foreign {
		r.leave(t.Data)
		if t.Data == "tr" && r.stack[len(r.stack)-1].name == "table" { // as browsers have it
			r.push(&element{Token: html.Token{Data: "tbody"}}, false)
		}
	}
	r.push(&element{Token: t}, foreign)
	switch {
	case len(r.stack) > maxDepth:
		return errDeep
	case foreign && t.Type == html.SelfClosingTagToken, !foreign && slices.Contains(empties, t.Data):
		r.close(len(r.stack) - 1)
	}
	return nil
}

// leave ends the elements that end since one with this name begins.
func (r *reading) leave(name string) {
	if slices.Contains(blocks, name) {
		r.endWithin([]string{"p"}, cells)
	}
	if rule, is := implied[name]; is {
		for r.endWithin(rule.ends, rule.within) {
		}
	}
}

// end ends the newest element with this name, and all within it.
func (r *reading) end(name string) {
	within := cells
	if slices.Contains([]string{"table", "tbody", "thead", "tfoot", "tr", "td", "th"}, name) {
		within = []string{"table"}
	}
	r.endWithin([]string{name}, within)
}

// endWithin ends the newest element with one of these names, unless one of the others has begun later, and reports
// whether there was one.
func (r *reading) endWithin(names, within []string) bool {
	for i := len(r.stack) - 1; i > 0; i-- {
		switch {
		case slices.Contains(names, r.stack[i].name):
			r.close(i)
			return true
		case slices.Contains(within, r.stack[i].name):
			return false
		}
	}
	return false
}

// close ends the elements from number n on.
func (r *reading) close(n int) {
	for _, o := range r.stack[n:] {
		if o.value >= 0 {
			r.texts[o.value].to = len(r.text)
		}
	}
	r.stack = r.stack[:n]
}

// push adds an element to those that have begun, and takes its value if the selector finds it.
func (r *reading) push(e *element, foreign bool) {
	parent := &r.stack[len(r.stack)-1]
	parent.children++
	e.child = parent.children
	if r.by.types {
		if parent.types == nil {
			parent.types = map[string]int{}
		}
		parent.types[e.Data]++
		e.typed = parent.types[e.Data]
	}
	o := open{name: e.Data, above: parent.above | parent.is, value: -1, foreign: foreign && e.Data != "foreignobject" && e.Data != "foreignObject"}
	o.is = r.by.matches(e, parent, o.above)
	parent.last, parent.earlier = o.is, parent.earlier|o.is
	if o.is&r.by.ends != 0 {
		value, has := e.attr(r.attr)
		switch {
		case r.attr == "":
			o.value = len(r.texts)
			r.texts = append(r.texts, textOf{from: len(r.text)})
		case has:
			r.values = append(r.values, []byte(value))
		}
	}
	r.stack = append(r.stack, o)
}

// matches is the set of compounds, each with those before it, that an element matches.
func (s *selector) matches(e *element, parent *open, above uint64) (set uint64) {
	for i, c := range s.compounds {
		var before uint64
		switch c.by {
		case 0:
			before = ^uint64(0)
		case ' ':
			before = above
		case '>':
			before = parent.is
		case '+':
			before = parent.last
		case '~':
			before = parent.earlier
		}
		if c.by != 0 {
			before >>= i - 1
		}
		if before&1 != 0 && !slices.ContainsFunc(c.tests, func(is func(*element) bool) bool { return !is(e) }) {
			set |= 1 << i
		}
	}
	return set
}

// cssParser reads a list of selectors.
type cssParser struct {
	text string // that is left
	selector
}

// cssHint is what selectors may have.
const cssHint = "write elements, #id, .class, [attribute=value], :nth-child(2), :nth-of-type(2), :first-child, :first-of-type and :not(…), with blanks, >, + or ~ between them, and commas between selectors"

var errSelector = errors.New("it is not a selector of CSS")

// parseSelector reads a list of selectors.
func parseSelector(text string) (*selector, error) {
	p := cssParser{text: strings.TrimSpace(text)}
	for by := byte(0); ; {
		c, err := p.compound()
		if err == nil && len(p.compounds) == maxCompounds {
			err = fmt.Errorf("it has more than %d parts", maxCompounds)
		}
		if err != nil {
			return nil, fmt.Errorf("%.60q: %w, at %.20q; %s", text, err, p.text, cssHint)
		}
		c.by = by
		p.compounds = append(p.compounds, c)
		rest := strings.TrimLeft(p.text, " \t")
		blank := len(rest) < len(p.text)
		p.text = rest
		if rest == "" || rest[0] == ',' {
			p.ends |= 1 << (len(p.compounds) - 1)
		}
		switch {
		case rest == "":
			return &p.selector, nil
		case rest[0] == ',':
			by = 0
		case strings.IndexByte(">+~", rest[0]) >= 0:
			by = rest[0]
		case blank:
			by = ' '
			continue
		default:
			return nil, fmt.Errorf("%.60q: %w, at %.20q; %s", text, errSelector, rest, cssHint)
		}
		p.text = strings.TrimLeft(rest[1:], " \t")
	}
}

// compound reads one compound.
func (p *cssParser) compound() (c compound, err error) {
	for first := true; ; first = false {
		var test func(e *element) bool
		switch next := p.peek(); {
		case next == '*' && first:
			p.text = p.text[1:]
			test = func(*element) bool { return true }
		case next == '#', next == '.':
			p.text = p.text[1:]
			test, err = p.named(next)
		case next == '[':
			test, err = p.attribute()
		case next == ':':
			test, err = p.pseudo()
		case first:
			var name string
			name, err = p.ident()
			test = func(e *element) bool { return strings.EqualFold(e.Data, name) }
		default:
			return c, nil
		}
		if err != nil {
			return c, err
		}
		c.tests = append(c.tests, test)
	}
}

// peek is the next character; 0: there is none.
func (p *cssParser) peek() byte {
	if p.text == "" {
		return 0
	}
	return p.text[0]
}

// take takes a character if it is the next one behind blanks.
func (p *cssParser) take(c byte) bool {
	rest := strings.TrimLeft(p.text, " \t")
	if rest == "" || rest[0] != c {
		return false
	}
	p.text = rest[1:]
	return true
}

// ident reads a name, with CSS's escapes.
func (p *cssParser) ident() (string, error) {
	var name []byte
	for p.text != "" {
		c := p.text[0]
		switch {
		case c == '\\' && len(p.text) > 1:
			name = p.escape(name)
			continue
		case c == '-' || c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' && len(name) > 0:
			name = append(name, c)
			p.text = p.text[1:]
			continue
		}
		break
	}
	if len(name) == 0 {
		return "", errSelector
	}
	return string(name), nil
}

// escape reads a backslash with a character, or with up to six hexadecimal digits and a blank.
func (p *cssParser) escape(dst []byte) []byte {
	p.text = p.text[1:]
	n := 0
	for n < min(6, len(p.text)) && strings.IndexByte("0123456789abcdefABCDEF", p.text[n]) >= 0 {
		n++
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(p.text)
		dst = append(dst, p.text[:n]...)
		p.text = p.text[n:]
		return dst
	}
	code, _ := strconv.ParseUint(p.text[:n], 16, 32)
	p.text = strings.TrimPrefix(p.text[n:], " ")
	return utf8.AppendRune(dst, rune(code))
}

// named reads what is behind # or a dot.
func (p *cssParser) named(by byte) (func(*element) bool, error) {
	name, err := p.ident()
	if by == '#' {
		return func(e *element) bool { id, _ := e.attr("id"); return id == name }, err
	}
	return func(e *element) bool { classes, _ := e.attr("class"); return hasField(classes, name) }, err
}

// hasField reports whether one of the words of a text is this.
func hasField(text, word string) bool {
	for one := range strings.FieldsSeq(text) {
		if one == word {
			return true
		}
	}
	return false
}

// relationsOfCSS are how an attribute is compared.
var relationsOfCSS = map[string]func(value, want string) bool{
	"=":  func(value, want string) bool { return value == want },
	"~=": hasField,
	"|=": func(value, want string) bool { return value == want || strings.HasPrefix(value, want+"-") },
	"^=": func(value, want string) bool { return want != "" && strings.HasPrefix(value, want) },
	"$=": func(value, want string) bool { return want != "" && strings.HasSuffix(value, want) },
	"*=": func(value, want string) bool { return want != "" && strings.Contains(value, want) },
}

// attribute reads [name], [name=value] and the like.
func (p *cssParser) attribute() (func(*element) bool, error) {
	p.take('[')
	p.text = strings.TrimLeft(p.text, " \t")
	name, err := p.ident()
	if err != nil {
		return nil, err
	}
	name = strings.ToLower(name)
	if p.take(']') {
		return func(e *element) bool { _, has := e.attr(name); return has }, nil
	}
	p.text = strings.TrimLeft(p.text, " \t")
	n := strings.IndexByte(p.text, '=') + 1
	holds := relationsOfCSS[p.text[:n]]
	if holds == nil {
		return nil, errSelector
	}
	p.text = strings.TrimLeft(p.text[n:], " \t")
	want, err := p.value()
	if err != nil || !p.take(']') {
		return nil, errSelector
	}
	return func(e *element) bool { value, has := e.attr(name); return has && holds(value, want) }, nil
}

// value reads the value of an attribute: a name, digits too, or a text in quotes.
func (p *cssParser) value() (string, error) {
	quote := p.peek()
	if quote != '"' && quote != '\'' {
		n := strings.IndexAny(p.text, "] \t\"'")
		if n <= 0 {
			return "", errSelector
		}
		value := p.text[:n]
		p.text = p.text[n:]
		return value, nil
	}
	p.text = p.text[1:]
	var value []byte
	for p.text != "" && p.text[0] != quote {
		if p.text[0] == '\\' && len(p.text) > 1 {
			value = p.escape(value)
			continue
		}
		value = append(value, p.text[0])
		p.text = p.text[1:]
	}
	if !p.take(quote) {
		return "", errSelector
	}
	return string(value), nil
}

// pseudo reads a colon with the name of a class, and what is in its brackets.
func (p *cssParser) pseudo() (func(*element) bool, error) {
	p.text = p.text[1:]
	name, err := p.ident()
	if err != nil {
		return nil, err
	}
	switch name {
	case "first-child":
		return func(e *element) bool { return e.child == 1 }, nil
	case "first-of-type":
		p.types = true
		return func(e *element) bool { return e.typed == 1 }, nil
	case "nth-child", "nth-of-type", "not":
	default:
		return nil, fmt.Errorf("takt does not know :%.30s", name)
	}
	if !p.take('(') {
		return nil, errSelector
	}
	p.text = strings.TrimLeft(p.text, " \t")
	if name == "not" {
		c, err := p.compound()
		if err != nil || !p.take(')') {
			return nil, cmp.Or(err, errSelector)
		}
		return func(e *element) bool {
			return slices.ContainsFunc(c.tests, func(is func(*element) bool) bool { return !is(e) })
		}, nil
	}
	inside, rest, closed := strings.Cut(p.text, ")")
	step, offset, ok := parseNth(inside)
	if !closed || !ok {
		return nil, errSelector
	}
	p.text = rest
	typed := name == "nth-of-type"
	p.types = p.types || typed
	return func(e *element) bool {
		n := e.child
		if typed {
			n = e.typed
		}
		if n -= offset; step == 0 {
			return n == 0
		}
		return n%step == 0 && n/step >= 0
	}, nil
}

// parseNth reads 3, odd, even or an+b, all with or without blanks.
func parseNth(text string) (step, offset int, ok bool) {
	text = strings.Join(strings.Fields(strings.ToLower(text)), "")
	switch text {
	case "odd":
		return 2, 1, true
	case "even":
		return 2, 0, true
	}
	before, after, nth := strings.Cut(text, "n")
	if !nth {
		n, err := strconv.Atoi(text)
		return 0, n, err == nil
	}
	if before == "" || before == "+" || before == "-" {
		before += "1"
	}
	if after == "" {
		after = "0"
	}
	step, err := strconv.Atoi(before)
	offset, err2 := strconv.Atoi(after)
	return step, offset, err == nil && err2 == nil
}
