// Package js reads the text of a script of JavaScript into a tree of expressions and statements, and runs nothing of it.
package js

import (
	"fmt"
	"slices"
	"strings"
)

// Node is a part of a script: an expression or a statement.
type Node struct {
	Kind string // name, number, text, template, regexp, member, index, call, new, object, array, function, unary, binary, if, decl, block, loop, return, import or other
	Text string // of a name, a literal, a member, an operator or a key
	Line int
	List []*Node // its parts; of a member and a call first what it is of; of a function its parameters and then its body
}

func (n *Node) String() string { return strings.Join(strings.Fields(n.source()), " ") }

// Walk calls do for n and all its parts.
func (n *Node) Walk(do func(n *Node)) {
	if n == nil {
		return
	}
	do(n)
	for _, p := range n.List {
		p.Walk(do)
	}
}

// Calls reports whether a function is called in n, outside of functions that are in it.
func (n *Node) Calls() bool {
	return n != nil && n.Kind != "function" && (n.Kind == "call" || n.Kind == "new" || slices.ContainsFunc(n.List, (*Node).Calls))
}

// source is about how an expression was written, for those who look for it.
func (n *Node) source() string {
	var parts []string
	for _, p := range n.List {
		if p != nil {
			parts = append(parts, p.source())
		}
	}
	first := func() string { return slices.Concat(parts, []string{""})[0] }
	switch n.Kind {
	case "member":
		return first() + "." + n.Text
	case "call", "new":
		return first() + "(…)"
	case "index":
		return first() + "[" + strings.Join(parts[min(1, len(parts)):], "") + "]"
	case "text":
		return fmt.Sprintf("%q", n.Text)
	case "name", "number", "regexp", "unary":
		return n.Text + strings.Join(parts, "")
	case "binary":
		return strings.Join(parts, " "+n.Text+" ")
	case "template":
		return "`…`"
	case "function":
		return "function"
	}
	return n.Kind
}

// jsReader reads a script.
type jsReader struct {
	tokens []jsToken
	at     int
	depth  int
	failed func(line int, err error) // a statement that cannot be read, and is passed over
}

// Read reads the statements of a script. failed gets those that it cannot read.
func Read(text string, line int, failed func(line int, err error)) ([]*Node, error) {
	tokens, err := jsTokens(text, line)
	if err != nil {
		return nil, err
	}
	r := jsReader{tokens: tokens, failed: failed}
	var list []*Node
	for r.peek().kind != jsEnd {
		list = append(list, r.statementOrSkip())
	}
	return slices.DeleteFunc(list, func(n *Node) bool { return n == nil }), nil
}

// jsFault is a place where a script is not what is expected; the reader panics with it and statementOrSkip recovers.
type jsFault struct {
	line int
	text string
}

func (r *jsReader) peek() jsToken { return r.tokens[min(r.at, len(r.tokens)-1)] }

func (r *jsReader) next() jsToken {
	t := r.peek()
	r.at++
	return t
}

func (r *jsReader) is(text string) bool {
	t := r.peek()
	return t.text == text && (t.kind == jsSign || t.kind == jsName)
}

func (r *jsReader) skip(text string) bool {
	if r.is(text) {
		r.at++
		return true
	}
	return false
}

func (r *jsReader) want(text string) {
	if t := r.peek(); !r.skip(text) {
		panic(jsFault{t.line, fmt.Sprintf("%.30q where %s is expected", t.text, text)})
	}
}

// deeper bounds what is nested.
func (r *jsReader) deeper() func() {
	if r.depth++; r.depth > 2*maxBrackets {
		panic(jsFault{r.peek().line, "too many brackets in one another"})
	}
	return func() { r.depth-- }
}

// bound bounds what is behind one another in an expression.
func (r *jsReader) bound(i int, t jsToken) {
	if i > 1000 {
		panic(jsFault{t.line, "too many parts of an expression"})
	}
}

// statementOrSkip reads a statement, or passes it over; nil: it is nothing.
func (r *jsReader) statementOrSkip() (n *Node) {
	from, depth := r.at, r.depth
	defer func() {
		fault, ok := recover().(jsFault)
		if !ok {
			return
		}
		r.failed(r.tokens[min(from, len(r.tokens)-1)].line, fmt.Errorf("takt cannot read this statement: line %d: %s", fault.line, fault.text))
		r.at, r.depth, n = from, depth, nil
		for open := 0; r.peek().kind != jsEnd; { // to the end of the statement
			t := r.next()
			switch {
			case t.kind == jsSign && strings.Contains("({[", t.text):
				open++
			case t.kind == jsSign && strings.Contains(")}]", t.text):
				open--
			}
			if open < 0 && t.text == "}" && from+1 < r.at {
				r.at--
				return
			}
			if open <= 0 && (t.text == ";" || r.peek().fresh || r.is("}")) {
				return
			}
		}
	}()
	return r.statement()
}

func (r *jsReader) statement() *Node {
	defer r.deeper()()
	t := r.peek()
	one := func(kind string, list ...*Node) *Node { return &Node{Kind: kind, Line: t.line, List: list} }
	if t.kind != jsName {
		if r.is("{") {
			return r.block()
		}
		if r.skip(";") {
			return nil
		}
		return r.expressionStatement()
	}
	switch t.text {
	case "import":
		if next := r.tokens[min(r.at+1, len(r.tokens)-1)].text; next == "(" || next == "." {
			break
		}
		n := one("import")
		for !r.skip(";") && r.peek().kind != jsEnd {
			if s := r.next(); s.kind == jsString {
				n.Text = s.text
				r.skip(";")
				return n
			} else if s.kind == jsName && s.text != "import" && s.text != "from" && s.text != "as" {
				n.List = append(n.List, &Node{Kind: "name", Text: s.text, Line: s.line})
			}
		}
		return n
	case "export":
		r.next()
		isDefault := r.skip("default")
		n := r.statement()
		if n != nil && isDefault {
			return &Node{Kind: "decl", Line: t.line, List: []*Node{{Kind: "name", Text: "default", Line: t.line}, defaultOf(n)}}
		}
		return n
	case "const", "let", "var":
		return r.declaration()
	case "async", "function":
		if t.text == "async" && r.tokens[min(r.at+1, len(r.tokens)-1)].text != "function" {
			break
		}
		r.skip("async")
		r.want("function")
		r.skip("*")
		name := &Node{Kind: "name", Line: t.line}
		if r.peek().kind == jsName {
			name.Text = r.next().text
		}
		return one("decl", name, r.function(t.line))
	case "if":
		r.next()
		n := one("if", r.inParens(), r.statement(), nil)
		if r.skip("else") {
			n.List[2] = r.statement()
		}
		return n
	case "for", "while":
		r.next()
		r.skip("await")
		n := one("loop")
		n.Text = t.text
		r.want("(")
		for !r.skip(")") {
			if r.skip(";") {
				continue
			}
			n.List = append(n.List, r.declarationOrExpression())
		}
		n.List = append(n.List, r.statement())
		return n
	case "do":
		r.next()
		body := r.statement()
		r.want("while")
		n := one("loop", r.inParens(), body)
		n.Text = t.text
		r.skip(";")
		return n
	case "return", "throw":
		r.next()
		n := one(t.text)
		if p := r.peek(); !p.fresh && !r.is(";") && !r.is("}") && p.kind != jsEnd {
			n.List = []*Node{r.expression()}
		}
		r.endStatement()
		return n
	case "try":
		r.next()
		n := one("block", r.block())
		if line := r.peek().line; r.skip("catch") {
			if r.is("(") {
				r.inParens()
			}
			n.List = append(n.List, &Node{Kind: "catch", Line: line, List: []*Node{r.block()}})
		}
		if r.skip("finally") {
			n.List = append(n.List, r.block())
		}
		return n
	case "break", "continue":
		r.next()
		r.endStatement()
		return one("other")
	case "switch", "class":
		r.next()
		for !r.is("{") && r.peek().kind != jsEnd {
			r.next()
		}
		r.passBrackets()
		n := one("other")
		n.Text = t.text
		return n
	}
	return r.expressionStatement()
}

// defaultOf is the function of a default export.
func defaultOf(n *Node) *Node {
	if n.Kind == "decl" && len(n.List) == 2 {
		return n.List[1]
	}
	return n
}

func (r *jsReader) expressionStatement() *Node {
	n := r.expression()
	r.endStatement()
	return n
}

func (r *jsReader) endStatement() {
	if t := r.peek(); !r.skip(";") && !t.fresh && !r.is("}") && !r.is(")") && t.kind != jsEnd {
		panic(jsFault{t.line, fmt.Sprintf("%.30q is not expected", t.text)})
	}
}

func (r *jsReader) declaration() *Node {
	n := r.declarationOrExpression()
	r.endStatement()
	return n
}

// declarationOrExpression reads const a = 1, b = 2, also of a loop.
func (r *jsReader) declarationOrExpression() *Node {
	t := r.peek()
	if !slices.Contains([]string{"const", "let", "var"}, t.text) {
		n := r.expression()
		for r.skip("of") || r.skip("in") {
			n = &Node{Kind: "of", Line: t.line, List: []*Node{n, r.expression()}}
		}
		return n
	}
	r.next()
	n := &Node{Kind: "decl", Line: t.line}
	for {
		name, value := r.unaryOrMore(), (*Node)(nil)
		if r.skip("=") {
			value = r.assignment()
		} else if r.skip("of") || r.skip("in") {
			return &Node{Kind: "of", Line: t.line, List: []*Node{name, r.expression()}}
		}
		n.List = append(n.List, name, value)
		if !r.skip(",") {
			return n
		}
	}
}

func (r *jsReader) block() *Node {
	n := &Node{Kind: "block", Line: r.peek().line}
	r.want("{")
	for !r.skip("}") {
		if r.peek().kind == jsEnd {
			panic(jsFault{n.Line, "a { is not closed"})
		}
		if s := r.statementOrSkip(); s != nil {
			n.List = append(n.List, s)
		}
	}
	return n
}

func (r *jsReader) inParens() *Node {
	r.want("(")
	n := r.expression()
	r.want(")")
	return n
}

// passBrackets passes over what is in brackets.
func (r *jsReader) passBrackets() {
	open := 0
	for t := r.next(); t.kind != jsEnd; t = r.next() {
		if t.kind == jsSign && strings.Contains("({[", t.text) {
			open++
		} else if t.kind == jsSign && strings.Contains(")}]", t.text) {
			open--
		}
		if open <= 0 {
			return
		}
	}
}

// function reads the parameters and the body of a function, or of an arrow.
func (r *jsReader) function(line int) *Node {
	n := &Node{Kind: "function", Line: line}
	r.want("(")
	for !r.skip(")") {
		n.List = append(n.List, r.assignment())
		r.skip(",")
	}
	if r.skip("=>") && !r.is("{") {
		n.List = append(n.List, r.assignment())
		return n
	}
	n.List = append(n.List, r.block())
	return n
}

func (r *jsReader) expression() *Node {
	n := r.assignment()
	for i := 0; r.is(","); i++ {
		r.bound(i, r.peek())
		line := r.next().line
		n = &Node{Kind: "binary", Text: ",", Line: line, List: []*Node{n, r.assignment()}}
	}
	return n
}

func (r *jsReader) assignment() *Node {
	defer r.deeper()()
	if r.skip("...") {
		return &Node{Kind: "spread", Line: r.peek().line, List: []*Node{r.assignment()}}
	}
	n := r.binary(0)
	t := r.peek()
	if t.kind == jsSign && strings.HasSuffix(t.text, "=") && !slices.Contains([]string{"==", "===", "!=", "!==", "<=", ">="}, t.text) {
		r.next()
		return &Node{Kind: "assign", Text: t.text, Line: t.line, List: []*Node{n, r.assignment()}}
	}
	if r.skip("?") {
		then := r.assignment()
		r.want(":")
		return &Node{Kind: "choice", Line: t.line, List: []*Node{n, then, r.assignment()}}
	}
	return n
}

// jsOperators are the binary operators, those that bind more weakly first.
var jsOperators = [][]string{
	{"||", "??"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "===", "!=", "!=="}, {"<", ">", "<=", ">=", "instanceof", "in"}, {"<<", ">>", ">>>"}, {"+", "-"}, {"*", "/", "%"}, {"**"},
}

func (r *jsReader) binary(level int) *Node {
	if level == len(jsOperators) {
		return r.unaryOrMore()
	}
	n := r.binary(level + 1)
	for i := 0; slices.ContainsFunc(jsOperators[level], r.is); i++ {
		t := r.next()
		r.bound(i, t)
		n = &Node{Kind: "binary", Text: t.text, Line: t.line, List: []*Node{n, r.binary(level + 1)}}
	}
	return n
}

func (r *jsReader) unaryOrMore() *Node {
	t := r.peek()
	for _, op := range []string{"!", "-", "+", "~", "++", "--", "typeof", "void", "delete", "await", "yield"} {
		if r.is(op) {
			defer r.deeper()()
			r.next()
			n := r.unaryOrMore()
			if op == "await" {
				return n
			}
			return &Node{Kind: "unary", Text: op, Line: t.line, List: []*Node{n}}
		}
	}
	n := r.behind(r.primary())
	if p := r.peek(); !p.fresh && (r.is("++") || r.is("--")) {
		r.next()
		return &Node{Kind: "unary", Text: p.text, Line: t.line, List: []*Node{n}}
	}
	return n
}

// behind reads members, calls and indexes behind an expression.
func (r *jsReader) behind(n *Node) *Node {
	for i := 0; ; i++ {
		t := r.peek()
		r.bound(i, t)
		switch {
		case r.skip("?."):
			if r.is("(") || r.is("[") {
				continue
			}
			n = &Node{Kind: "member", Text: r.next().text, Line: t.line, List: []*Node{n}}
		case r.skip("."):
			n = &Node{Kind: "member", Text: r.next().text, Line: t.line, List: []*Node{n}}
		case r.skip("["):
			n = &Node{Kind: "index", Line: t.line, List: []*Node{n, r.expression()}}
			r.want("]")
		case r.is("("):
			n = &Node{Kind: "call", Line: t.line, List: append([]*Node{n}, r.arguments()...)}
		case t.kind == jsTemplate && !t.fresh:
			n = &Node{Kind: "call", Line: t.line, List: []*Node{n, r.primary()}}
		default:
			return n
		}
	}
}

func (r *jsReader) arguments() (list []*Node) {
	r.want("(")
	for !r.skip(")") {
		list = append(list, r.assignment())
		if !r.skip(",") && !r.is(")") {
			r.want(")")
		}
	}
	return list
}

// isArrow reports whether the ( at which the reader is begins the parameters of an arrow.
func (r *jsReader) isArrow() bool {
	open := 0
	for i := r.at; i < len(r.tokens); i++ {
		if t := r.tokens[i]; t.kind == jsSign {
			switch t.text {
			case "(", "[", "{":
				open++
			case ")", "]", "}":
				open--
			}
			if open == 0 {
				return i+1 < len(r.tokens) && r.tokens[i+1].text == "=>"
			}
		}
	}
	return false
}

func (r *jsReader) primary() *Node {
	defer r.deeper()()
	if r.is("(") {
		if r.isArrow() {
			return r.function(r.peek().line)
		}
		return r.inParens()
	}
	t := r.next()
	n := &Node{Line: t.line, Text: t.text}
	switch {
	case t.kind == jsString:
		n.Kind = "text"
	case t.kind == jsNumber:
		n.Kind = "number"
	case t.kind == jsRegexp:
		n.Kind = "regexp"
	case t.kind == jsTemplate:
		return r.template(t)
	case t.kind == jsName && t.text == "new":
		n.Kind, n.List = "new", []*Node{r.primary()}
		for r.skip(".") {
			n.List[0] = &Node{Kind: "member", Text: r.next().text, Line: t.line, List: []*Node{n.List[0]}}
		}
		if r.is("(") {
			n.List = append(n.List, r.arguments()...)
		}
	case t.kind == jsName && t.text == "async" && (r.is("(") || r.peek().kind == jsName && !r.peek().fresh):
		return r.primary()
	case t.kind == jsName && t.text == "function":
		r.skip("*")
		if r.peek().kind == jsName {
			r.next()
		}
		return r.function(t.line)
	case t.kind == jsName && r.is("=>"):
		n.Kind = "name"
		r.next()
		body := (*Node)(nil)
		if r.is("{") {
			body = r.block()
		} else {
			body = r.assignment()
		}
		return &Node{Kind: "function", Line: t.line, List: []*Node{n, body}}
	case t.kind == jsName:
		n.Kind = "name"
	case t.text == "[":
		n.Kind = "array"
		for !r.skip("]") {
			if r.skip(",") {
				continue
			}
			n.List = append(n.List, r.assignment())
			if !r.is("]") {
				r.want(",")
			}
		}
	case t.text == "{":
		r.object(n)
	default:
		panic(jsFault{t.line, fmt.Sprintf("%.30q is not expected", t.text)})
	}
	return n
}

// object reads the properties of an object, each with its key as text and its value.
func (r *jsReader) object(n *Node) {
	n.Kind = "object"
	for !r.skip("}") {
		t := r.peek()
		p := &Node{Kind: "property", Line: t.line}
		if next := r.tokens[min(r.at+1, len(r.tokens)-1)]; slices.Contains([]string{"get", "set", "async"}, t.text) && (next.kind == jsName || next.kind == jsString) {
			r.next()
			t = r.peek()
		}
		switch {
		case r.is("..."):
			p = r.assignment()
		case r.skip("["):
			p.Text = r.expression().String()
			r.want("]")
		default:
			r.next()
			p.Text = t.text
		}
		switch {
		case p.Kind == "spread":
		case r.skip(":"):
			p.List = []*Node{r.assignment()}
		case r.is("("):
			p.List = []*Node{r.function(t.line)}
		case r.skip("="): // of a pattern
			p.List = []*Node{r.assignment()}
		case t.kind == jsName || t.kind == jsString:
			p.List = []*Node{{Kind: "name", Text: p.Text, Line: t.line}}
		default:
			panic(jsFault{t.line, fmt.Sprintf("%.30q is not the name of a property", t.text)})
		}
		n.List = append(n.List, p)
		if !r.is("}") {
			r.want(",")
		}
	}
}

// template reads the parts of a template: texts and expressions.
func (r *jsReader) template(t jsToken) *Node {
	n := &Node{Kind: "template", Line: t.line}
	var b strings.Builder
	line := t.line
	for text := t.text; ; {
		i := 0
		for i < len(text) && !strings.HasPrefix(text[i:], "${") {
			if size := 0; text[i] == '\\' {
				if size = jsEscape(&b, text[i:]); size > 0 {
					i += size
					continue
				}
			}
			b.WriteByte(text[i])
			i++
		}
		n.List = append(n.List, &Node{Kind: "text", Text: b.String(), Line: line})
		b.Reset()
		line += strings.Count(text[:i], "\n")
		if i == len(text) {
			return n
		}
		inner := text[i+2:]
		end := closingBrace(inner)
		if end < 0 {
			panic(jsFault{line, "a template is not closed"})
		}
		tokens, err := jsTokens(inner[:end], line)
		if err != nil {
			panic(jsFault{line, err.Error()})
		}
		sub := jsReader{tokens: tokens, depth: r.depth + 1, failed: r.failed}
		n.List = append(n.List, sub.expression())
		line += strings.Count(inner[:end], "\n")
		text = inner[end+1:]
	}
}

// closingBrace is where the brace is that closes an expression of a template.
func closingBrace(text string) int {
	open := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{':
			open++
		case c == '}' && open == 0:
			return i
		case c == '}':
			open--
		case c == '"' || c == '\'':
			if _, n, ok := jsText(text[i:]); ok {
				i += n - 1
			}
		case c == '`':
			if n := jsTemplateEnd(text[i:]); n > 0 {
				i += n - 1
			}
		}
	}
	return -1
}
