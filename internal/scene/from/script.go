package from

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/scene/from/js"
	"github.com/taktload/takt/internal/scene/from/taken"
	"github.com/taktload/takt/internal/session"
)

// script follows the statements of a script, as far as their values are known without running it.
type script struct {
	*taken.Taken
	place   func(line int) string
	builtin func(y *script, name string, n *js.Node, s *jsScope) (v jsValue, known bool) // calls of functions that the tool provides
	depth   int                                                                          // of calls
	pending []string                                                                     // @ lines for the next step
	comment string                                                                       // of the next step
	reached map[*js.Node]bool                                                            // calls that were followed
	untold  map[*js.Node]bool                                                            // calls that are not taken over, which nobody has said yet
	names   map[string]string                                                            // names of captures by step and source
	used    map[string]bool                                                              // names of captures
}

func newScript(t *taken.Taken, place func(line int) string) *script {
	return &script{Taken: t, place: place, reached: map[*js.Node]bool{}, untold: map[*js.Node]bool{}, names: map[string]string{}, used: map[string]bool{}}
}

// notTaken says that a call is not taken over.
func (y *script) notTaken(n *js.Node, src string) {
	y.Omit(y.place(n.Line), "%.60s is not taken over", src)
	y.tell(n)
}

// tell notes that it was said of n, and so of its parts, that it is not taken over.
func (y *script) tell(n *js.Node) { n.Walk(func(p *js.Node) { delete(y.untold, p) }) }

// tellRest says which calls are not taken over, of those whose values nobody used.
func (y *script) tellRest() {
	list := slices.SortedFunc(maps.Keys(y.untold), func(a, b *js.Node) int {
		return cmp.Or(a.Line-b.Line, strings.Compare(a.String(), b.String()))
	})
	for _, n := range list {
		y.Omit(y.place(n.Line), "%.60s is not taken over", n.String())
	}
	clear(y.untold)
}

// follow follows an expression whose value is of no use, as far as it calls functions.
func (y *script) follow(n *js.Node, s *jsScope) {
	switch {
	case !n.Calls():
	case n.Kind == "array" || n.Kind == "object" || n.Kind == "property" || n.Kind == "spread":
		for _, p := range n.List {
			y.follow(p, s)
		}
	default:
		y.eval(n, s)
	}
}

// jsValue is what is known of a value.
type jsValue struct {
	kind jsSort
	text scene.Text // of a text or a number; of a captured part, its wanted name
	part part
	node *js.Node // an object, an array or a function as it is written
	in   *jsScope // of node
	list []jsValue
	low  float64 // of a random number
	high float64
	src  string // of what is not known
}

// jsSort is how much is known of a value.
type jsSort uint8

const (
	isUnknown jsSort = iota
	isText           // text, with placeholders
	isNumber         // text is a number
	isPart           // part of an answer
	isNode           // node
	isList           // list
	isRandom         // between low and high
	isForm           // a file of a form: text is its name
)

// part is a part of the answer of a step.
type part struct {
	step int    // index of the step
	of   string // answer, json, header, headers, cookie, cookies, body, status, time or regexp
	path string // in JSON, the name of a header or cookie, or the expression
}

// jsScope has the values of names.
type jsScope struct {
	names  map[string]jsValue
	parent *jsScope
}

func (s *jsScope) in() *jsScope { return &jsScope{map[string]jsValue{}, s} }

func (s *jsScope) find(name string) (jsValue, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return jsValue{}, false
}

// set changes a name where it is declared.
func (s *jsScope) set(name string, v jsValue) {
	for at := s; at != nil; at = at.parent {
		if _, ok := at.names[name]; ok {
			at.names[name] = v
			return
		}
	}
	s.names[name] = v
}

func literal(s string) jsValue { return jsValue{kind: isText, text: scene.Literal(s)} }

func number(f float64) jsValue {
	return jsValue{kind: isNumber, text: scene.Text(strconv.FormatFloat(f, 'f', -1, 64))}
}

func raw(t scene.Text) jsValue { return jsValue{kind: isText, text: t} }

func unknown(n *js.Node) jsValue { return jsValue{src: n.String()} }

func (v jsValue) number() (float64, bool) {
	f, err := strconv.ParseFloat(string(v.text), 64)
	return f, err == nil && v.kind == isNumber
}

// source is a part as a line of a scenario names it.
func (p part) source() string {
	switch p.of {
	case "status", "body":
		return p.of
	case "json":
		if p.path == "" {
			return "body"
		}
	}
	return p.of + " " + p.path
}

// maxCalls bounds calls of the script's own functions that are in one another.
const maxCalls = 20

// run follows statements. It returns the value of a return.
func (y *script) run(list []*js.Node, s *jsScope) (v jsValue, returned bool) {
	for _, n := range list { // functions may be called before they are declared
		if n != nil && n.Kind == "decl" && len(n.List) == 2 && n.List[1] != nil && n.List[1].Kind == "function" {
			s.names[n.List[0].Text] = jsValue{kind: isNode, node: n.List[1], in: s}
		}
	}
	for _, n := range list {
		if v, returned = y.statement(n, s); returned || len(y.Steps) > taken.MaxSteps {
			return v, returned
		}
	}
	return jsValue{}, false
}

func (y *script) statement(n *js.Node, s *jsScope) (v jsValue, returned bool) {
	if n == nil {
		return
	}
	switch n.Kind {
	case "import", "catch": // what is done after an error
	case "decl":
		for i := 0; i+1 < len(n.List); i += 2 {
			y.declare(n.List[i], n.List[i+1], s)
		}
	case "block":
		return y.run(n.List, s.in())
	case "return":
		if n.List != nil {
			return y.eval(n.List[0], s), true
		}
		return jsValue{}, true
	case "if":
		return y.branch(n, s)
	case "loop":
		return y.loop(n, s)
	case "other":
		if n.Text != "" {
			y.Omit(y.place(n.Line), "%s is not taken over", n.Text)
		}
	case "throw":
		return jsValue{}, true
	default:
		if v := y.eval(n, s); v.kind == isUnknown && v.src != "" && (n.Kind == "call" || n.Kind == "new") {
			y.notTaken(n, v.src)
		}
	}
	return jsValue{}, false
}

// declare gives a name its value, or the names of a pattern.
func (y *script) declare(name, value *js.Node, s *jsScope) {
	v := jsValue{src: name.String()}
	if value != nil {
		v = y.eval(value, s)
		if v.kind == isUnknown && v.src != "" && (value.Kind == "call" || value.Kind == "new") {
			y.notTaken(value, v.src)
		}
	}
	if v.kind == isUnknown {
		v.src = name.String()
	}
	switch name.Kind {
	case "object":
		for _, p := range name.List {
			if p.Kind == "property" && p.List[0].Kind == "name" {
				s.names[p.List[0].Text] = y.member(v, p.Text, p)
			}
		}
	case "array":
		for i, p := range name.List {
			if p.Kind == "name" {
				s.names[p.Text] = y.index(v, number(float64(i)), p)
			}
		}
	default:
		if v.kind == isPart && v.text == "" {
			v.text = scene.Text(name.Text)
		}
		s.names[name.Text] = v
	}
}

// branch takes the requests of a condition as if it held.
func (y *script) branch(n *js.Node, s *jsScope) (jsValue, bool) {
	y.follow(n.List[0], s)
	before, left, pending := len(y.Steps), len(y.Left), y.pending
	y.statement(n.List[1], s.in())
	y.statement(n.List[2], s.in())
	if len(y.Steps) == before {
		y.Unsaid(left)
		y.tell(n)
		y.pending = pending
		y.Omit(y.place(n.Line), "if (%.60s) is not taken over", n.List[0].String())
		return jsValue{}, false
	}
	y.Omit(y.place(n.Line), "if (%.60s): its requests are taken over as if it were always so; write @when or @unless in their steps", n.List[0].String())
	return jsValue{}, false
}

// loop takes the requests of a loop, once; one that is alone is repeated.
func (y *script) loop(n *js.Node, s *jsScope) (jsValue, bool) {
	before, in := len(y.Steps), s.in()
	head, body := n.List[:len(n.List)-1], n.List[len(n.List)-1]
	if n.Text == "do" {
		body = n.List[len(n.List)-1]
	}
	times, name := countOf(head, in, y)
	for _, h := range head {
		if h != nil && h.Kind == "of" {
			y.follow(h.List[1], in)
			y.declare(h.List[0], nil, in)
		} else if h != nil && n.Text != "for" {
			y.follow(h, in)
		}
	}
	if name != "" && times > 0 {
		in.names[name] = raw(scene.Value(scene.Name(name)))
	}
	if times == 1 {
		in.names[name] = number(0)
	}
	y.statement(body, in)
	switch made := len(y.Steps) - before; {
	case made > 0 && times > 0 && (times == 1 || y.Repeat(before, fmt.Sprintf("@repeat %s in 0..%d", scene.Name(name), times-1), "loop")):
	case made > 0:
		y.Omit(y.place(n.Line), "the requests of this loop are taken over once; @repeat is for a known number of times, or a list that is captured, and not for loops within loops")
	case made == 0:
		y.tell(n)
		y.Omit(y.place(n.Line), "a loop without a request is not taken over")
	}
	return jsValue{}, false
}

// countOf reads for (let i = 0; i < N; i++).
func countOf(head []*js.Node, s *jsScope, y *script) (times int, name string) {
	if len(head) != 3 || head[0] == nil || head[0].Kind != "decl" || len(head[0].List) != 2 || head[1].Kind != "binary" || head[1].List[0].Kind != "name" {
		return 0, ""
	}
	first := y.eval(orNothing(head[0].List[1]), s)
	last := y.eval(head[1].List[1], s)
	from, ok1 := first.number()
	to, ok2 := last.number()
	if head[1].Text == "<=" {
		to++
	}
	if name = head[0].List[0].Text; !ok1 || !ok2 || from != 0 || to < 1 || to > 10000 || head[1].Text[0] != '<' {
		return 0, ""
	}
	return int(to), name
}

func orNothing(n *js.Node) *js.Node {
	if n == nil {
		return &js.Node{Kind: "other"}
	}
	return n
}

// eval is what is known of an expression.
func (y *script) eval(n *js.Node, s *jsScope) jsValue {
	if y.Spent() {
		return unknown(n)
	}
	switch n.Kind {
	case "text":
		return literal(n.Text)
	case "number":
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return number(f)
		}
	case "template":
		var b strings.Builder
		for _, p := range n.List {
			b.WriteString(string(y.textOf(y.eval(p, s), p)))
		}
		return y.joined(n, b.String())
	case "name":
		if v, ok := s.find(n.Text); ok {
			return v
		}
		if v, ok := y.builtin(y, n.Text, n, s); ok {
			return v
		}
	case "object", "array":
		return y.literal(n, s)
	case "function":
		return jsValue{kind: isNode, node: n, in: s}
	case "member":
		if v, ok := y.builtin(y, n.String(), n, s); ok {
			return v
		}
		return y.member(y.eval(n.List[0], s), n.Text, n)
	case "index":
		return y.index(y.eval(n.List[0], s), y.eval(n.List[1], s), n)
	case "call", "new":
		return y.call(n, s)
	case "assign":
		v := y.eval(n.List[1], s)
		if n.List[0].Kind == "name" && n.Text == "=" {
			if v.kind == isPart && v.text == "" {
				v.text = scene.Text(n.List[0].Text)
			}
			s.set(n.List[0].Text, v)
		} else if lines, step, ok := y.asked(n.List[1], s); ok && n.List[0].Kind == "index" && n.List[0].List[0].Text == "tests" && y.add(step, lines) {
			return v // tests["…"] = … of old scripts of Postman
		} else {
			y.Omit(y.place(n.Line), "the assignment to %.60s is not taken over", n.List[0].String())
			y.tell(n)
		}
		if value := n.List[1]; v.kind == isUnknown && v.src != "" && y.untold[value] {
			y.notTaken(value, v.src)
		}
		return v
	case "choice":
		y.Omit(y.place(n.Line), "of %.60s ? … : … the first value is taken", n.List[0].String())
		return y.eval(n.List[1], s)
	case "binary":
		return y.binary(n, s)
	case "unary":
		y.follow(n.List[0], s)
	}
	return unknown(n)
}

// literal is an object or a list as it is written. Its values are looked at when they are used, but requests in it are made now.
func (y *script) literal(n *js.Node, s *jsScope) jsValue {
	made, in := *n, s.in()
	made.List = slices.Clone(n.List)
	for i, one := range n.List {
		value := one
		if one.Kind == "property" && one.List != nil {
			value = one.List[0]
		}
		if !value.Calls() {
			continue
		}
		before := len(y.Steps)
		v := y.eval(value, s)
		if len(y.Steps) == before {
			continue
		}
		name := &js.Node{Kind: "name", Text: fmt.Sprintf("%.60s", value.String()), Line: value.Line}
		for in.names[name.Text].node != nil || in.names[name.Text].kind != isUnknown {
			name.Text += " "
		}
		in.names[name.Text], made.List[i] = v, name
		if one.Kind == "property" {
			p := *one
			p.List = []*js.Node{name}
			made.List[i] = &p
		}
	}
	return jsValue{kind: isNode, node: &made, in: in}
}

func (y *script) binary(n *js.Node, s *jsScope) jsValue {
	a, before := y.eval(n.List[0], s), len(y.Steps)
	b := y.eval(n.List[1], s)
	if sometimes := n.Text == "&&" || n.Text == "||" || n.Text == "??"; sometimes && len(y.Steps) > before {
		y.Omit(y.place(n.Line), "%.60s %s …: its requests are taken over as if it were always so; write @when or @unless in their steps", n.List[0].String(), n.Text)
	}
	x, ok1 := a.number()
	z, ok2 := b.number()
	switch {
	case (n.Text == "||" || n.Text == "??") && a.kind == isUnknown:
		return b
	case n.Text == "||" || n.Text == "??":
		return a
	case ok1 && ok2 && n.Text == "+":
		return number(x + z)
	case ok1 && ok2 && n.Text == "-":
		return number(x - z)
	case ok1 && ok2 && n.Text == "*":
		return number(x * z)
	case ok1 && ok2 && n.Text == "/" && z != 0:
		return number(x / z)
	case a.kind == isRandom && ok2 && n.Text == "*":
		return jsValue{kind: isRandom, low: a.low * z, high: a.high * z}
	case a.kind == isRandom && ok2 && n.Text == "+":
		return jsValue{kind: isRandom, low: a.low + z, high: a.high + z}
	case b.kind == isRandom && ok1 && (n.Text == "*" || n.Text == "+"):
		return y.binary(&js.Node{Kind: n.Kind, Text: n.Text, Line: n.Line, List: []*js.Node{n.List[1], n.List[0]}}, s)
	case n.Text == "+" && (a.kind == isText || b.kind == isText):
		return y.joined(n, string(y.textOf(a, n.List[0])+y.textOf(b, n.List[1])))
	}
	return unknown(n)
}

// joined is a text that was put together, unless it is too long.
func (y *script) joined(n *js.Node, text string) jsValue {
	if len(text) > taken.MaxText {
		return unknown(n)
	}
	return raw(scene.Text(text))
}

// gjsonSigns matches what means something in a path of GJSON.
var gjsonSigns = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[.*?|#@\\!{}\[\]()]`) })

// gjsonKey is a key in a path of GJSON.
func gjsonKey(key string) string {
	return gjsonSigns().ReplaceAllString(key, `\$0`)
}

func (p part) into(key string) part {
	if p.path != "" {
		p.path += "."
	}
	p.path += key
	return p
}

// member is a member of a value.
func (y *script) member(v jsValue, name string, n *js.Node) jsValue {
	switch {
	case v.kind == isNode && v.node.Kind == "object":
		for i := len(v.node.List) - 1; i >= 0; i-- {
			if p := v.node.List[i]; p.Kind == "property" && p.Text == name {
				return y.eval(p.List[0], v.in)
			} else if p.Kind == "spread" {
				if in := y.member(y.eval(p.List[0], v.in), name, n); in.kind != isUnknown {
					return in
				}
			}
		}
	case v.kind == isPart:
		return v.part.member(name, n)
	}
	return unknown(n)
}

func (p part) member(name string, n *js.Node) jsValue {
	is := func(of, path string) jsValue { return jsValue{kind: isPart, part: part{p.step, of, path}} }
	switch {
	case p.of == "json" && name == "length":
		return jsValue{kind: isPart, part: p.into("#")}
	case p.of == "json":
		return jsValue{kind: isPart, part: p.into(gjsonKey(name))}
	case p.of == "headers":
		return is("header", name)
	case p.of == "cookies":
		return is("cookie", name)
	case p.of == "cookie" && name == "value":
		return jsValue{kind: isPart, part: p}
	case p.of == "body" && name == "length":
		return is("size", "")
	case p.of == "time":
		return is("time", name)
	case p.of != "answer":
		return unknown(n)
	}
	switch name {
	case "status", "code":
		return is("status", "")
	case "body":
		return is("body", "")
	case "headers", "cookies":
		return is(name, "")
	case "timings":
		return is("time", "")
	case "responseTime":
		return is("time", "duration")
	}
	return unknown(n)
}

// index is an element of a value.
func (y *script) index(v, at jsValue, n *js.Node) jsValue {
	i, isIndex := at.number()
	switch {
	case v.kind == isList && isIndex && i >= 0 && int(i) < len(v.list):
		return v.list[int(i)]
	case v.kind == isNode && v.node.Kind == "array" && isIndex && i >= 0 && int(i) < len(v.node.List):
		return y.eval(v.node.List[int(i)], v.in)
	case v.kind == isPart && isIndex && v.part.of == "json":
		return jsValue{kind: isPart, part: v.part.into(string(at.text))}
	case v.kind == isPart && isIndex && (v.part.of == "regexp" || v.part.of == "cookie"):
		return v
	case at.kind == isText && !strings.Contains(string(at.text), "{{"):
		return y.member(v, string(at.text), n)
	}
	return unknown(n)
}

// call is a call of a function of the tool, of JavaScript or of the script.
func (y *script) call(n *js.Node, s *jsScope) jsValue {
	y.reached[n] = true
	callee := n.List[0]
	if v, ok := y.builtin(y, callee.String(), n, s); ok {
		return v
	}
	args := n.List[1:]
	var f, of jsValue
	if callee.Kind == "member" {
		of = y.eval(callee.List[0], s) // once: it may be a request
		if v, ok := y.method(of, callee.Text, n, s); ok {
			return v
		}
	}
	if callee.Kind == "name" || callee.Kind == "member" {
		if v, ok := y.builtinJS(callee.String(), args, n, s); ok {
			return v
		}
		if callee.Kind == "name" {
			f = y.eval(callee, s)
		} else if v, ok := y.builtin(y, callee.String(), callee, s); ok {
			f = v
		} else {
			f = y.member(of, callee.Text, callee)
		}
	}
	if f.kind == isNode && f.node.Kind == "function" {
		if y.depth >= maxCalls {
			y.Omit(y.place(n.Line), "%.60s calls itself, or too many functions call one another; it is not taken over", callee.String())
			return unknown(n)
		}
		values := make([]jsValue, len(args))
		for i, a := range args {
			values[i] = y.eval(a, s)
		}
		return y.apply(f, values)
	}
	for _, a := range args { // of a library: forEach, describe and the like
		if before := len(y.Steps); a.Kind == "function" {
			if y.apply(jsValue{kind: isNode, node: a, in: s}, nil); len(y.Steps) > before {
				y.Omit(y.place(n.Line), "the requests of the function for %.60s are taken over once", callee.String())
			}
		} else {
			y.follow(a, s)
		}
	}
	y.untold[n] = true
	return unknown(n)
}

// apply calls a function of the script.
func (y *script) apply(f jsValue, args []jsValue) jsValue {
	y.depth++
	defer func() { y.depth-- }()
	in, list := f.in.in(), f.node.List
	for i, p := range list[:len(list)-1] {
		v := jsValue{src: p.String()}
		if i < len(args) {
			v = args[i]
		} else if p.Kind == "assign" {
			v = y.eval(p.List[1], f.in)
		}
		if p.Kind == "assign" {
			p = p.List[0]
		}
		if p.Kind == "object" {
			for _, one := range p.List {
				in.names[one.Text] = y.member(v, one.Text, one)
			}
			continue
		}
		in.names[p.Text] = v
	}
	body := list[len(list)-1]
	if body == nil {
		return jsValue{}
	}
	if body.Kind != "block" {
		return y.eval(body, in)
	}
	v, _ := y.run(body.List, in)
	return v
}

// method is a call of a method of a value.
func (y *script) method(v jsValue, name string, n *js.Node, s *jsScope) (jsValue, bool) {
	args := n.List[1:]
	arg := func() (string, bool) {
		if len(args) == 0 {
			return "", true
		}
		a := y.eval(args[0], s)
		return string(a.text), a.kind == isText && !strings.Contains(string(a.text), "{{")
	}
	switch {
	case name == "json" && v.kind == isPart && v.part.of == "answer":
		path, ok := arg()
		if !ok {
			return unknown(n), true
		}
		return jsValue{kind: isPart, part: part{v.part.step, "json", path}}, true
	case name == "text" && v.kind == isPart && v.part.of == "answer":
		return jsValue{kind: isPart, part: part{v.part.step, "body", ""}}, true
	case name == "get" && v.kind == isPart && (v.part.of == "headers" || v.part.of == "cookies"):
		header, ok := arg()
		return v.part.member(header, n), ok
	case name == "match" && v.kind == isPart && v.part.of == "body" && len(args) == 1 && args[0].Kind == "regexp":
		if re, ok := goRegexp(args[0].Text); ok {
			return jsValue{kind: isPart, part: part{v.part.step, "regexp", re}}, true
		}
	case (name == "html" || name == "find") && v.kind == isPart && (v.part.of == "answer" || v.part.of == "html" || v.part.of == "css"):
		selector, ok := arg()
		return v.part.css(selector, n), ok
	case name == "attr" && v.kind == isPart && v.part.of == "css":
		attribute, ok := arg()
		return v.part.css(" attr "+attribute, n), ok && attribute != ""
	case name == "val" && v.kind == isPart && v.part.of == "css":
		return v.part.css(" attr value", n), true
	case (name == "text" || name == "first" || name == "eq" && len(args) == 1 && args[0].Text == "0") && v.kind == isPart && v.part.of == "css":
		return v, true
	case (name == "toString" || name == "trim" || name == "toFixed") && (v.kind == isPart || v.kind == isText || v.kind == isNumber):
		return v, true
	case name == "concat" && v.kind == isText && len(args) == 1:
		return raw(v.text + y.textOf(y.eval(args[0], s), args[0])), true
	}
	return jsValue{}, false
}

// css is a part of a page by a selector behind that of p; " attr NAME" is an attribute.
func (p part) css(selector string, n *js.Node) jsValue {
	path := p.path + selector
	if p.of == "css" && !strings.HasPrefix(selector, " attr ") {
		path = p.path + " " + selector
	}
	if path == "" {
		return jsValue{kind: isPart, part: part{p.step, "html", ""}}
	}
	if _, err := session.ParseSource(scene.Source("css " + path)); err != nil || strings.ContainsAny(path, "\r\n") {
		return unknown(n)
	}
	return jsValue{kind: isPart, part: part{p.step, "css", path}}
}

// goRegexp is a regular expression of JavaScript, which Go can read, too, as far as it has no look-around.
func goRegexp(text string) (string, bool) {
	end := strings.LastIndexByte(text, '/')
	re, flags := strings.ReplaceAll(text[1:end], `\/`, "/"), ""
	for _, f := range text[end+1:] {
		if strings.ContainsRune("ims", f) {
			flags += string(f)
		}
	}
	if flags != "" {
		re = "(?" + flags + ")" + re
	}
	_, err := regexp.Compile(re)
	return re, err == nil && !strings.ContainsAny(re, "\r\n") && re != ""
}

// builtinJS are functions of JavaScript and of libraries that many scripts use.
func (y *script) builtinJS(name string, args []*js.Node, n *js.Node, s *jsScope) (jsValue, bool) {
	arg := func(i int) jsValue {
		if i < len(args) {
			return y.eval(args[i], s)
		}
		return jsValue{}
	}
	switch name {
	case "JSON.stringify":
		if len(args) == 0 {
			return jsValue{}, false
		}
		return raw(y.json(arg(0), args[0], 0)), true
	case "JSON.parse":
		if v := arg(0); v.kind == isPart && v.part.of == "body" {
			return jsValue{kind: isPart, part: part{v.part.step, "json", ""}}, true
		}
	case "parseHTML":
		if v := arg(0); v.kind == isPart && v.part.of == "body" {
			return v.part.css("", n), true
		}
	case "Object.assign":
		all := &js.Node{Kind: "object", Line: n.Line}
		for _, a := range args {
			all.List = append(all.List, &js.Node{Kind: "spread", Line: a.Line, List: []*js.Node{a}})
		}
		return jsValue{kind: isNode, node: all, in: s}, true
	case "String", "parseInt", "parseFloat", "Number":
		return arg(0), len(args) > 0
	case "encodeURIComponent", "encodeURI":
		if v := arg(0); v.kind == isText && !strings.Contains(string(v.text), "{{") {
			return raw(scene.Query(string(v.text))), true
		} else if len(args) > 0 {
			return raw(y.textOf(v, args[0]).In("url")), true
		}
	case "Math.random":
		return jsValue{kind: isRandom, high: 1}, true
	case "Math.floor", "Math.round", "Math.ceil", "Math.trunc":
		if v := arg(0); v.kind == isRandom && v.high-v.low >= 1 {
			return raw(scene.Text(fmt.Sprintf("{{randInt %.0f %.0f}}", v.low, v.high-1))), true
		}
		return arg(0), len(args) > 0
	case "randomIntBetween":
		low, ok1 := arg(0).number()
		high, ok2 := arg(1).number()
		return raw(scene.Text(fmt.Sprintf("{{randInt %.0f %.0f}}", low, high))), ok1 && ok2 && low <= high
	case "randomString":
		size, ok := arg(0).number()
		return raw(scene.Text(fmt.Sprintf("{{randString %.0f}}", size))), ok && size >= 1 && size <= 65536
	case "uuidv4", "crypto.randomUUID", "uuid.v4":
		return raw("{{uuid}}"), true
	case "Date.now", "new Date().getTime":
		return raw("{{unixMilli}}"), true
	}
	if strings.HasPrefix(name, "console.") {
		return jsValue{}, true
	}
	return jsValue{}, false
}

// textOf is a value as a text. It captures a part of an answer, and says what is not known.
func (y *script) textOf(v jsValue, n *js.Node) scene.Text {
	switch v.kind {
	case isText, isNumber:
		return v.text
	case isPart:
		if t, ok := y.captured(v); ok {
			return t
		}
	case isNode:
		if v.node.Kind == "array" && len(v.node.List) > 0 {
			return y.textOf(y.eval(v.node.List[0], v.in), n)
		}
	case isRandom:
		if v.high-v.low >= 1 {
			return scene.Text(fmt.Sprintf("{{randInt %.0f %.0f}}", v.low, v.high))
		}
	}
	if n.Kind == "name" && (n.Text == "null" || n.Text == "undefined") {
		return ""
	}
	src := v.src
	if src == "" {
		src = n.String()
	}
	y.tell(n)
	if name, ok := strings.CutPrefix(src, "__ENV."); ok && session.IsName(name) {
		return taken.Environment(name)
	}
	return y.StandIn(y.place(n.Line), src)
}

// captured is the placeholder of a part of an answer, which its step captures then.
func (y *script) captured(v jsValue) (scene.Text, bool) {
	p := v.part
	if !slices.Contains([]string{"json", "header", "cookie", "regexp", "body", "status", "css"}, p.of) || p.step >= len(y.Steps) || strings.ContainsAny(p.path, "\r\n") {
		return "", false
	}
	key := fmt.Sprint(p.step, p.source())
	name, ok := y.names[key]
	if !ok {
		name = y.freeName(string(v.text), p)
		y.names[key] = name
		y.Steps[p.step].Lines = append(y.Steps[p.step].Lines, scene.Capture(name, p.source()))
	}
	return scene.Value(name), true
}

// freeName is a name for a part that no other has.
func (y *script) freeName(wanted string, p part) string {
	if wanted == "" && p.of != "regexp" && p.of != "css" {
		wanted = p.path[strings.LastIndexByte(p.path, '.')+1:]
	}
	if wanted == "" {
		wanted = p.of
	}
	wanted = scene.Name(wanted)
	name := wanted
	for i := 2; y.used[name]; i++ {
		name = fmt.Sprint(wanted, i)
	}
	y.used[name] = true
	return name
}

// json is a value as JSON.
func (y *script) json(v jsValue, n *js.Node, depth int) scene.Text {
	if depth > taken.MaxDepth {
		return y.StandIn(y.place(n.Line), n.String())
	}
	switch {
	case v.kind == isNode && v.node.Kind == "object":
		var parts []string
		size := 0
		for _, p := range v.node.List {
			if len(parts) > 0 {
				size += len(parts[len(parts)-1])
			}
			if size > taken.MaxText {
				return y.StandIn(y.place(n.Line), n.String())
			}
			if p.Kind == "spread" {
				in := string(y.json(y.eval(p.List[0], v.in), p, depth+1))
				if in = strings.TrimSuffix(strings.TrimPrefix(in, "{"), "}"); in != "" {
					parts = append(parts, in)
				}
				continue
			}
			parts = append(parts, taken.QuoteJSON(p.Text)+":"+string(y.json(y.eval(p.List[0], v.in), p.List[0], depth+1)))
		}
		return scene.Text("{" + strings.Join(parts, ",") + "}")
	case v.kind == isNode && v.node.Kind == "array":
		var parts []string
		size := 0
		for _, p := range v.node.List {
			parts = append(parts, string(y.json(y.eval(p, v.in), p, depth+1)))
			if size += len(parts[len(parts)-1]); size > taken.MaxText {
				return y.StandIn(y.place(n.Line), n.String())
			}
		}
		return scene.Text("[" + strings.Join(parts, ",") + "]")
	case v.kind == isNumber:
		return v.text
	case v.kind == isText && strings.HasPrefix(string(v.text), "{{randInt"), v.kind == isText && v.text == "{{unixMilli}}":
		return v.text
	case n.Kind == "name" && slices.Contains([]string{"true", "false", "null"}, n.Text):
		return scene.Text(n.Text)
	case v.kind == isText && !strings.Contains(string(v.text), "{{"):
		return scene.Text(taken.QuoteJSON(string(v.text)))
	case v.kind == isPart:
		return `"` + y.textOf(v, n).In("json") + `"`
	}
	return `"` + y.textOf(v, n) + `"`
}
