package from

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/scene/from/js"
)

// check takes the functions of a check over, which ask an answer.
func (y *script) check(v jsValue, list *js.Node, s *jsScope) {
	set := y.eval(list, s)
	if v.kind != isPart || set.kind != isNode || set.node.Kind != "object" {
		y.Omit(y.place(list.Line), "takt does not see what check() asks")
		y.tell(list)
		return
	}
	for _, p := range set.node.List {
		if p.List == nil || p.Kind == "spread" {
			y.Omit(y.place(p.Line), "a part of check() is not taken over")
			continue
		}
		f := y.eval(p.List[0], set.in)
		if f.kind != isNode || f.node.Kind != "function" || !y.asks(v, f) {
			y.Omit(y.place(p.Line), "the check %.60q is not taken over", p.Text)
			y.tell(p)
		}
	}
}

// asks takes a function that asks an answer over, if all that it asks is known.
func (y *script) asks(v jsValue, f jsValue) bool {
	in, list := f.in.in(), f.node.List
	if len(list) > 1 && list[0].Kind == "name" {
		in.names[list[0].Text] = v
	}
	body := list[len(list)-1]
	if body != nil && body.Kind == "block" {
		if len(body.List) == 0 || body.List[len(body.List)-1].Kind != "return" || body.List[len(body.List)-1].List == nil {
			return false
		}
		for _, n := range body.List[:len(body.List)-1] {
			if n.Kind != "decl" {
				return false
			}
			y.statement(n, in)
		}
		body = body.List[len(body.List)-1].List[0]
	}
	lines, step, ok := y.asked(body, in)
	return ok && y.add(step, lines)
}

// add adds lines to a step, unless one of them is a half of a range.
func (y *script) add(step int, lines []string) bool {
	high := 0
	for i, l := range lines {
		if n, _ := fmt.Sscanf(l, "status < %d", &high); n == 1 && high%100 == 0 && high > 200 && high <= 600 {
			lines[i] = "@check status " + strings.Join([]string{"2xx", "3xx", "4xx", "5xx"}[:high/100-2], ",")
		} else if l[0] != '@' {
			return false
		}
	}
	y.Steps[step].Lines = append(y.Steps[step].Lines, lines...)
	return true
}

// asked are the lines for a condition on an answer.
func (y *script) asked(n *js.Node, s *jsScope) (lines []string, step int, ok bool) {
	if n == nil {
		return nil, 0, false
	}
	if n.Kind == "binary" && n.Text == "&&" {
		a, step, ok := y.asked(n.List[0], s)
		b, step2, ok2 := y.asked(n.List[1], s)
		if status, is := hundred(a, b); is {
			return []string{status}, step, ok && ok2
		}
		return append(a, b...), step, ok && ok2 && step == step2
	}
	if n.Kind == "binary" && n.Text == "||" { // of statuses
		a, step, ok := y.asked(n.List[0], s)
		b, step2, ok2 := y.asked(n.List[1], s)
		const status = "@check status "
		if !ok || !ok2 || step != step2 || len(a) != 1 || len(b) != 1 || !strings.HasPrefix(a[0], status) || !strings.HasPrefix(b[0], status) {
			return nil, 0, false
		}
		return []string{a[0] + "," + strings.TrimPrefix(b[0], status)}, step, true
	}
	if n.Kind == "call" && n.List[0].Kind == "member" {
		return y.askedByCall(n, s)
	}
	if n.Kind != "binary" {
		v := y.eval(n, s)
		if n.Kind == "unary" && n.Text == "!" || v.kind != isPart || !readable(v.part) {
			return nil, 0, false
		}
		return []string{scene.Check(v.part.source(), "", "")}, v.part.step, true
	}
	return y.compared(n, s)
}

func readable(p part) bool {
	return slices.Contains([]string{"json", "header", "cookie", "regexp", "body", "css"}, p.of) && !strings.ContainsAny(p.path, "\r\n")
}

// hundred are two lines that bound a status: all of a hundred.
func hundred(a, b []string) (string, bool) {
	var low, high int
	if len(a) == 1 && len(b) == 1 && strings.HasPrefix(a[0], "status >= ") {
		fmt.Sscanf(a[0], "status >= %d", &low)
		if n, _ := fmt.Sscanf(b[0], "status < %d", &high); n == 1 && high == low+100 && low%100 == 0 {
			return fmt.Sprintf("@check status %dxx", low/100), true
		}
	}
	return "", false
}

// askedByCall is [200, 201].includes(r.status), r.body.includes("x") and the like.
func (y *script) askedByCall(n *js.Node, s *jsScope) (lines []string, step int, ok bool) {
	of := y.eval(n.List[0].List[0], s)
	if len(n.List) != 2 {
		v := y.eval(n, s)
		return []string{scene.Check(v.part.source(), "", "")}, v.part.step, v.kind == isPart && readable(v.part)
	}
	name, arg := n.List[0].Text, y.eval(n.List[1], s)
	switch {
	case name == "includes" && of.kind == isNode && of.node.Kind == "array" && arg.kind == isPart && arg.part.of == "status":
		var list []string
		for _, one := range of.node.List {
			if v := y.eval(one, of.in); v.kind == isNumber {
				list = append(list, string(v.text))
			}
		}
		return []string{"@check status " + strings.Join(list, ",")}, arg.part.step, len(list) == len(of.node.List) && list != nil
	case (name == "includes" || name == "indexOf") && of.kind == isPart && readable(of.part) && (arg.kind == isText || arg.kind == isNumber) && arg.text != "":
		return []string{scene.Check(of.part.source(), "contains", arg.text)}, of.part.step, true
	case name == "test" && n.List[0].List[0].Kind == "regexp" && arg.kind == isPart && readable(arg.part):
		re, ok := goRegexp(n.List[0].List[0].Text)
		return []string{"@check " + scene.Source(arg.part.source()) + " matches " + re}, arg.part.step, ok
	}
	v := y.eval(n, s)
	return []string{scene.Check(v.part.source(), "", "")}, v.part.step, v.kind == isPart && readable(v.part)
}

// compared is a comparison of a part of an answer with a value.
func (y *script) compared(n *js.Node, s *jsScope) (lines []string, step int, ok bool) {
	is := strings.Replace(strings.Replace(n.Text, "===", "==", 1), "!==", "!=", 1)
	if !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, is) {
		return nil, 0, false
	}
	a, want := n.List[0], n.List[1]
	if a.Kind == "call" && len(a.List) == 2 && a.List[0].Kind == "member" && a.List[0].Text == "indexOf" { // … !== -1
		if minus := want.String(); is == "!=" && minus == "-1" || is == ">" && minus == "-1" || is == ">=" && minus == "0" {
			return y.askedByCall(a, s)
		}
		return nil, 0, false
	}
	return y.relation(y.eval(a, s), is, y.eval(want, s), want)
}

// relation is the line for a part of an answer and what it has to be.
func (y *script) relation(v jsValue, is string, want jsValue, n *js.Node) (lines []string, step int, ok bool) {
	if v.kind != isPart {
		return nil, 0, false
	}
	step = v.part.step
	f, isFigure := want.number()
	switch {
	case v.part.of == "status" && is == "==" && isFigure:
		return []string{"@check status " + string(want.text)}, step, f >= 100 && f < 600
	case v.part.of == "status" && (is == ">=" || is == "<") && isFigure:
		return []string{fmt.Sprintf("status %s %.0f", is, f)}, step, true // a half of a range, see hundred
	case v.part.of == "time" && (is == "<" || is == "<=") && isFigure && v.part.path == "duration":
		return []string{fmt.Sprintf("@check service < %gms", f)}, step, f > 0
	case v.part.of == "size" && is == ">" && isFigure:
		return []string{fmt.Sprintf("@check size > %.0f", f)}, step, f >= 0
	case !readable(v.part):
		return nil, 0, false
	case n.Kind == "name" && (n.Text == "undefined" || n.Text == "null") && is == "!=":
		return []string{scene.Check(v.part.source(), "", "")}, step, true
	case n.Kind == "name" && (n.Text == "true" || n.Text == "false") && (is == "==" || is == "!="):
		return []string{scene.Check(v.part.source(), is, scene.Text(n.Text))}, step, true
	case isFigure || want.kind == isText && (is == "==" || is == "!="):
		return []string{scene.Check(v.part.source(), is, want.text)}, step, true
	}
	return nil, 0, false
}
