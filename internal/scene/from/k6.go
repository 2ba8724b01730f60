package from

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/scene/from/js"
	"github.com/taktload/takt/internal/scene/from/taken"
)

// maxScript is the largest script in bytes: 2 MiB.
const maxScript = 2 << 20

var k6Script = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)['"]k6(/[a-z]+)?['"]|\bhttp\.(get|post|put|patch|del|request|batch)\s*\(`)
})

func looksK6(text []byte) bool { return k6Script().Match(text) }

// readK6 follows the functions that k6 would call.
func readK6(text []byte) (*taken.Taken, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("the script is longer than %d MiB", maxScript>>20)
	}
	t := new(taken.Taken)
	y := newScript(t, taken.AtLine)
	y.builtin = k6Call
	list, err := js.Read(string(text), 1, func(line int, err error) { t.Omit(taken.AtLine(line), "%v", err) })
	if err != nil {
		return nil, err
	}
	top := (&jsScope{}).in()
	y.run(list, top)
	at := len(t.Steps)
	if at > 0 {
		t.Omit("", "requests outside of all functions, which k6 makes once, are in each round")
	}
	data := []jsValue{y.once("setup", taken.SetUp, nil, top)}
	first := len(t.Steps) - at
	for _, f := range y.entries(top) {
		y.journey(f, data, first, top)
	}
	y.once("teardown", taken.TearDown, data, top)
	if v, ok := top.names["handleSummary"]; ok && v.kind == isNode {
		t.Omit(taken.AtLine(v.node.Line), "handleSummary() is not taken over")
	}
	for _, n := range list {
		n.Walk(y.unreached)
	}
	y.tellRest()
	return t, nil
}

// unreached says of a request that it is where takt does not get to.
func (y *script) unreached(n *js.Node) {
	if n.Kind != "call" || y.reached[n] {
		return
	}
	method, is := strings.CutPrefix(n.List[0].String(), "http.")
	if _, known := k6Methods[method]; is && (known || method == "request" || method == "asyncRequest" || method == "batch") {
		y.Omit(y.place(n.Line), "%.60s is not taken over: takt does not get there: it is in another branch, for errors only, or in a function that takt sees no call of", n.String())
	}
}

// once takes the requests of a function that k6 calls once, outside of the rounds. It returns the function's value.
func (y *script) once(name, line string, args []jsValue, top *jsScope) (v jsValue) {
	f, ok := top.names[name]
	if !ok || f.kind != isNode || f.node.Kind != "function" {
		return v
	}
	before := len(y.Steps)
	y.pending = nil
	v = y.apply(f, args)
	y.pending = nil
	y.Outside(before, line)
	return v
}

// k6Options say what takt has instead of an option of k6.
var k6Options = map[string]string{
	"vus": "give -c N", "duration": "give -z TIME", "iterations": "give -n N", "stages": "give --stages", "thresholds": "give --assert", "rps": "give --rate", "scenarios": "give --rate, --stages or -c, and the weights of @journey lines",
	"insecureSkipTLSVerify": "give --insecure", "noConnectionReuse": "give --disable-keepalive", "userAgent": "give -U", "tags": "give --label", "maxRedirects": "write @follow N in the steps whose answers may be redirects", "minIterationDuration": "with -c, write @pace TIME in the first step of each journey", "hosts": "give --connect-to",
}

// entries are the names of the functions that users call, and say what the options are.
func (y *script) entries(top *jsScope) (names []string) {
	options, ok := top.names["options"]
	if ok && options.kind == isNode && options.node.Kind == "object" {
		for _, p := range options.node.List {
			if advice, ok := k6Options[p.Text]; ok {
				y.Omit(taken.AtLine(p.Line), "options.%s: %s", p.Text, advice)
			} else {
				y.Omit(taken.AtLine(p.Line), "options.%.40s is not taken over", p.Text)
			}
			if p.Text != "scenarios" || p.List == nil || p.List[0].Kind != "object" {
				continue
			}
			for _, one := range p.List[0].List {
				name := "default"
				if one.List != nil {
					y.scenario(one.List[0])
					if exec := y.member(y.eval(one.List[0], top), "exec", one); exec.kind == isText {
						name = string(exec.text)
					}
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if names == nil {
		names = []string{"default"}
	}
	return names
}

// k6Executor are what options.scenarios says of the load.
var k6Executor = []string{"executor", "exec", "vus", "iterations", "duration", "maxDuration", "rate", "timeUnit", "stages", "preAllocatedVUs", "maxVUs", "startVUs", "startRate", "gracefulStop", "gracefulRampDown"}

// scenario says what of one of options.scenarios is no load.
func (y *script) scenario(n *js.Node) {
	if n.Kind != "object" {
		return
	}
	for _, p := range n.List {
		if !slices.Contains(k6Executor, p.Text) {
			y.Omit(taken.AtLine(p.Line), "%.40s in options.scenarios is not taken over", p.Text)
		}
	}
}

// journey takes the requests of a function that users call.
// data is what setup() returned, and outside how many steps are outside of the rounds.
func (y *script) journey(name string, data []jsValue, outside int, top *jsScope) {
	f, ok := top.names[name]
	if !ok || f.kind != isNode || f.node.Kind != "function" {
		y.Omit("", "there is no function %.40s that users call", name)
		return
	}
	before := len(y.Steps)
	y.pending = nil
	y.apply(f, data)
	if len(y.pending) > 0 {
		y.Omit(taken.AtLine(f.node.Line), "the sleep after the last request of %s() is left out: a round ends with its last answer; with -c put @think at another step", name)
		y.pending = nil
	}
	if len(y.Steps) > before && (name != "default" || before > outside) {
		y.Steps[before].Journey, y.Steps[before].Weight = name, 1
	}
}

var k6Methods = map[string]string{"get": "GET", "post": "POST", "put": "PUT", "patch": "PATCH", "del": "DELETE", "delete": "DELETE", "head": "HEAD", "options": "OPTIONS"}

// k6Call are the functions of k6.
func k6Call(y *script, name string, n *js.Node, s *jsScope) (jsValue, bool) {
	args := n.List[min(1, len(n.List)):]
	switch n.Kind {
	case "name":
		return raw("{{.Seq}}"), name == "__VU" || name == "__ITER"
	case "member":
		switch {
		case name == "__ENV."+n.Text:
			return jsValue{src: name}, true
		case name == "exec.scenario.iterationInTest", name == "exec.vu.iterationInScenario", name == "exec.vu.idInTest":
			return raw("{{.Seq}}"), true
		}
		return jsValue{}, false
	}
	if method, ok := strings.CutPrefix(strings.Replace(name, "asyncRequest", "request", 1), "http."); ok {
		return y.k6HTTP(method, args, n, s)
	}
	switch name {
	case "sleep":
		if len(args) == 1 {
			y.sleep(y.eval(args[0], s), n)
			return jsValue{}, true
		}
	case "group":
		if len(args) == 2 {
			y.comment = "group " + string(y.textOf(y.eval(args[0], s), args[0]))
			if f := y.eval(args[1], s); f.kind == isNode && f.node.Kind == "function" {
				return y.apply(f, nil), true
			}
		}
	case "check":
		if len(args) >= 2 {
			y.check(y.eval(args[0], s), args[1], s)
			return jsValue{}, true
		}
	case "fail":
		return jsValue{}, true
	}
	return jsValue{}, false
}

// sleep is a think time of the next step.
func (y *script) sleep(v jsValue, n *js.Node) {
	think := ""
	var low, high int
	switch f, ok := v.number(); {
	case ok && f > 0 && f <= 3600:
		think = strconv.FormatFloat(f, 'f', -1, 64) + "s"
	case v.kind == isRandom && v.high <= 3600:
		think = fmt.Sprintf("%gs..%gs", v.low, v.high)
	default:
		if _, err := fmt.Sscanf(string(v.text), "{{randInt %d %d}}", &low, &high); err == nil && low >= 0 && high <= 3600 {
			think = fmt.Sprintf("%ds..%ds", low, high)
		}
	}
	switch {
	case think == "":
		y.Omit(y.place(n.Line), "takt does not see how long sleep(…) is; write @think TIME in the next step")
	case len(y.pending) > 0:
		y.Omit(y.place(n.Line), "a second sleep before the same request is not taken over")
	default:
		y.pending = []string{"@think " + think}
	}
}

// k6HTTP is a call of a function of k6/http.
func (y *script) k6HTTP(method string, args []*js.Node, n *js.Node, s *jsScope) (jsValue, bool) {
	arg := func(i int) *js.Node {
		if i < len(args) {
			return args[i]
		}
		return &js.Node{Kind: "name", Text: "null", Line: n.Line}
	}
	switch {
	case method == "file" && len(args) > 0:
		file := jsValue{kind: isForm, text: "upload"}
		if v := y.eval(arg(1), s); v.kind == isText {
			file.text = v.text
		}
		y.Omit(y.place(n.Line), "put the file %.60s beside the scenario, or correct its name in the line @file", string(file.text))
		return file, true
	case method == "batch" && len(args) == 1:
		return y.batch(y.eval(args[0], s), args[0]), true
	case method == "request" && len(args) >= 2:
		verb := y.eval(args[0], s)
		return y.send(strings.ToUpper(string(verb.text)), args[1], arg(2), arg(3), n, s), verb.kind == isText
	case k6Methods[method] != "" && len(args) > 0:
		if verb := k6Methods[method]; verb == "GET" || verb == "HEAD" {
			return y.send(verb, args[0], nil, arg(1), n, s), true
		}
		return y.send(k6Methods[method], args[0], arg(1), arg(2), n, s), true
	}
	return jsValue{}, false
}

// batch are requests that k6 makes at once.
func (y *script) batch(v jsValue, n *js.Node) jsValue {
	if v.kind != isNode || v.node.Kind != "array" && v.node.Kind != "object" {
		y.Omit(y.place(n.Line), "takt does not see the requests of http.batch()")
		return jsValue{src: "http.batch()"}
	}
	y.Omit(y.place(n.Line), "the requests of http.batch() are sent one after the other")
	all := jsValue{kind: isList}
	for _, one := range v.node.List {
		if one.Kind == "property" {
			one = one.List[0]
		}
		r := y.eval(one, v.in)
		null := &js.Node{Kind: "name", Text: "null", Line: one.Line}
		list := []*js.Node{{Kind: "text", Text: "GET", Line: one.Line}, one, null, null}
		switch {
		case r.kind == isNode && r.node.Kind == "array":
			for i := range min(4, len(r.node.List)) {
				list[i] = r.node.List[i]
			}
		case r.kind == isNode && r.node.Kind == "object":
			for i, key := range []string{"method", "url", "body", "params"} {
				for _, p := range r.node.List {
					if p.Text == key && p.List != nil {
						list[i] = p.List[0]
					}
				}
			}
		}
		in := v.in
		if r.in != nil {
			in = r.in
		}
		all.list = append(all.list, y.send(strings.ToUpper(string(y.textOf(y.eval(list[0], in), list[0]))), list[1], list[2], list[3], one, in))
	}
	return all
}

// send adds a request, and is its answer.
func (y *script) send(method string, at, body, params, n *js.Node, s *jsScope) jsValue {
	where := y.place(n.Line)
	step := scene.Step{Method: method, Comment: strings.TrimSpace(y.comment + "\n" + where), Lines: y.pending}
	if len(y.pending) > 0 && len(y.Steps) == 0 {
		y.Omit(where, "the sleep before the first request is left out: nobody waits before it")
		step.Lines = nil
	}
	y.pending, y.comment = nil, ""
	step.URL = y.urlOf(at, s)
	y.params(&step, y.eval(params, s), params)
	if body != nil {
		y.body(where, &step, y.eval(body, s), body)
	}
	if redirects := step.Method == "POST" && len(step.Form) > 0; redirects && !slices.ContainsFunc(step.Lines, isFollow) {
		step.Lines = append(step.Lines, "@follow") // after a form comes a redirect to a page, which k6 fetches
	}
	step.Lines = slices.DeleteFunc(step.Lines, func(l string) bool { return l == noFollow })
	y.Steps = append(y.Steps, step)
	return jsValue{kind: isPart, part: part{len(y.Steps) - 1, "answer", ""}}
}

// urlOf is the URL of a request. A host that is not known is that of the URL argument.
func (y *script) urlOf(n *js.Node, s *jsScope) scene.Text {
	if n.Kind == "call" && strings.HasSuffix(n.List[0].String(), "http.url") {
		n = n.List[1]
	}
	left := len(y.Left)
	t := y.textOf(y.eval(n, s), n)
	return y.OnHost(y.place(n.Line), t, left)
}

// params are the parameters of a request: headers and others.
func (y *script) params(step *scene.Step, v jsValue, n *js.Node) {
	if v.kind != isNode || v.node.Kind != "object" {
		if v.kind == isUnknown && n.Text != "null" && n.Text != "undefined" {
			y.Omit(y.place(n.Line), "takt does not see the parameters %.60s of the request", n.String())
		}
		return
	}
	for _, p := range v.node.List {
		where := y.place(p.Line)
		if p.Kind == "spread" {
			y.params(step, y.eval(p.List[0], v.in), p)
			continue
		}
		value := y.eval(p.List[0], v.in)
		switch p.Text {
		case "headers":
			y.fields(value, p, func(name string, value scene.Text) { y.Header(where, step, name, value) })
		case "cookies":
			var list []string
			y.fields(value, p, func(name string, value scene.Text) { list = append(list, name+"="+string(value)) })
			y.Header(where, step, "Cookie", scene.Text(strings.Join(list, "; ")))
		case "tags":
			y.fields(value, p, func(name string, value scene.Text) {
				if name == "name" && !strings.Contains(string(value), "{{") {
					step.Name = string(value)
				} else {
					y.Omit(where, "the tag %.40s is not taken over", name)
				}
			})
		case "timeout":
			y.Omit(where, "a time limit of a request is not taken over; give takt http --timeout")
		case "redirects":
			switch n, ok := value.number(); {
			case ok && n == 0:
				step.Lines = append(step.Lines, noFollow)
			case ok && n >= 1 && n <= 100:
				step.Lines = append(step.Lines, fmt.Sprintf("@follow %.0f", n))
			default:
				y.Omit(where, "takt does not see how many redirects are followed; write @follow N")
			}
		case "responseCallback":
			y.tell(p) // what follows says
			if call := p.List[0]; call.Kind == "call" && call.List[0].String() == "http.expectedStatuses" {
				y.expect(step, call, v.in)
				continue
			}
			y.Omit(where, "responseCallback is not taken over; write @check status")
		default:
			y.Omit(where, "the parameter %.40s of a request is not taken over", p.Text)
		}
	}
}

// noFollow says that a step follows no redirect, until it is complete.
const noFollow = "@follow 0"

func isFollow(line string) bool { return strings.HasPrefix(line, "@follow") }

// expect are the statuses of http.expectedStatuses(200, {min: 300, max: 399}).
func (y *script) expect(step *scene.Step, call *js.Node, s *jsScope) {
	var list []string
	for _, a := range call.List[1:] {
		v := y.eval(a, s)
		low, _ := y.member(v, "min", a).number()
		if _, ok := v.number(); ok {
			list = append(list, string(v.text))
		} else if high, ok := y.member(v, "max", a).number(); ok && int(low)%100 == 0 && int(high) == int(low)+99 {
			list = append(list, fmt.Sprintf("%dxx", int(low)/100))
		} else {
			y.Omit(y.place(a.Line), "takt does not see the statuses of http.expectedStatuses()")
			return
		}
	}
	step.Lines = append(step.Lines, "@check status "+strings.Join(list, ","))
}

// fields calls do for each property of an object.
func (y *script) fields(v jsValue, n *js.Node, do func(name string, value scene.Text)) {
	if v.kind != isNode || v.node.Kind != "object" {
		y.Omit(y.place(n.Line), "takt does not see the %.40s of the request", n.Text)
		return
	}
	for _, p := range v.node.List {
		if p.Kind == "spread" {
			y.fields(y.eval(p.List[0], v.in), n, do)
			continue
		}
		do(p.Text, y.textOf(y.eval(p.List[0], v.in), p.List[0]))
	}
}

// body is the body of a request: a text, or an object that is a form.
func (y *script) body(where string, step *scene.Step, v jsValue, n *js.Node) {
	if v.kind == isNode && v.node.Kind == "object" {
		for _, p := range v.node.List {
			if p.Kind == "spread" {
				y.Omit(where, "a part of the form is not taken over")
				continue
			}
			one := y.eval(p.List[0], v.in)
			if one.kind == isForm {
				y.Field(where, step, scene.Field{Name: p.Text, File: string(one.text)})
			} else {
				y.Field(where, step, scene.Field{Name: p.Text, Value: y.textOf(one, p.List[0])})
			}
		}
		return
	}
	if n.Kind == "name" && (n.Text == "null" || n.Text == "undefined") {
		return
	}
	if step.Body = y.textOf(v, n); step.Body != "" && !step.HasHeader("Content-Type") {
		y.Header(where, step, "Content-Type", "text/plain; charset=utf-8") // takt's would be text/html
	}
}
