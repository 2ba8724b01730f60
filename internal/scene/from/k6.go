package from

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/scene"
)

// maxScript is the largest script in bytes: 2 MiB.
const maxScript = 2 << 20

var k6Script = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)['"]k6(/[a-z]+)?['"]|\bhttp\.(get|post|put|patch|del|request|batch)\s*\(`)
})

func looksK6(text []byte) bool { return k6Script().Match(text) }

// readK6 follows the functions that k6 would call.
func readK6(text []byte) (*Taken, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("the script is longer than %d MiB", maxScript>>20)
	}
	t := new(Taken)
	y := newScript(t, atLine)
	y.builtin = k6Call
	list, err := readJS(string(text), 1, func(line int, err error) { t.left(atLine(line), "%v", err) })
	if err != nil {
		return nil, err
	}
	top := (&jsScope{}).in()
	y.run(list, top)
	at := len(t.Steps)
	if at > 0 {
		t.left("", "requests outside of all functions, which k6 makes once, are in each round")
	}
	data := []jsValue{y.once("setup", setUp, nil, top)}
	first := len(t.Steps) - at
	for _, f := range y.entries(top) {
		y.journey(f, data, first, top)
	}
	y.once("teardown", tearDown, data, top)
	if v, ok := top.names["handleSummary"]; ok && v.kind == isNode {
		t.left(atLine(v.node.line), "handleSummary() is not taken over")
	}
	for _, n := range list {
		n.walk(y.unreached)
	}
	y.tellRest()
	return t, nil
}

// unreached says of a request that it is where takt does not get to.
func (y *script) unreached(n *js) {
	if n.kind != "call" || y.reached[n] {
		return
	}
	method, is := strings.CutPrefix(n.list[0].String(), "http.")
	if _, known := k6Methods[method]; is && (known || method == "request" || method == "asyncRequest" || method == "batch") {
		y.left(y.place(n.line), "%.60s is not taken over: takt does not get there: it is in another branch, for errors only, or in a function that takt sees no call of", n.String())
	}
}

// once takes the requests of a function that k6 calls once, outside of the rounds. It returns the function's value.
func (y *script) once(name, line string, args []jsValue, top *jsScope) (v jsValue) {
	f, ok := top.names[name]
	if !ok || f.kind != isNode || f.node.kind != "function" {
		return v
	}
	before := len(y.Steps)
	y.pending = nil
	v = y.apply(f, args)
	y.pending = nil
	y.outside(before, line)
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
	if ok && options.kind == isNode && options.node.kind == "object" {
		for _, p := range options.node.list {
			if advice, ok := k6Options[p.text]; ok {
				y.left(atLine(p.line), "options.%s: %s", p.text, advice)
			} else {
				y.left(atLine(p.line), "options.%.40s is not taken over", p.text)
			}
			if p.text != "scenarios" || p.list == nil || p.list[0].kind != "object" {
				continue
			}
			for _, one := range p.list[0].list {
				name := "default"
				if one.list != nil {
					y.scenario(one.list[0])
					if exec := y.member(y.eval(one.list[0], top), "exec", one); exec.kind == isText {
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
func (y *script) scenario(n *js) {
	if n.kind != "object" {
		return
	}
	for _, p := range n.list {
		if !slices.Contains(k6Executor, p.text) {
			y.left(atLine(p.line), "%.40s in options.scenarios is not taken over", p.text)
		}
	}
}

// journey takes the requests of a function that users call.
// data is what setup() returned, and outside how many steps are outside of the rounds.
func (y *script) journey(name string, data []jsValue, outside int, top *jsScope) {
	f, ok := top.names[name]
	if !ok || f.kind != isNode || f.node.kind != "function" {
		y.left("", "there is no function %.40s that users call", name)
		return
	}
	before := len(y.Steps)
	y.pending = nil
	y.apply(f, data)
	if len(y.pending) > 0 {
		y.left(atLine(f.node.line), "the sleep after the last request of %s() is left out: a round ends with its last answer; with -c put @think at another step", name)
		y.pending = nil
	}
	if len(y.Steps) > before && (name != "default" || before > outside) {
		y.Steps[before].Journey, y.Steps[before].Weight = name, 1
	}
}

var k6Methods = map[string]string{"get": "GET", "post": "POST", "put": "PUT", "patch": "PATCH", "del": "DELETE", "delete": "DELETE", "head": "HEAD", "options": "OPTIONS"}

// k6Call are the functions of k6.
func k6Call(y *script, name string, n *js, s *jsScope) (jsValue, bool) {
	args := n.list[min(1, len(n.list)):]
	switch n.kind {
	case "name":
		return raw("{{.Seq}}"), name == "__VU" || name == "__ITER"
	case "member":
		switch {
		case name == "__ENV."+n.text:
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
			if f := y.eval(args[1], s); f.kind == isNode && f.node.kind == "function" {
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
func (y *script) sleep(v jsValue, n *js) {
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
		y.left(y.place(n.line), "takt does not see how long sleep(…) is; write @think TIME in the next step")
	case len(y.pending) > 0:
		y.left(y.place(n.line), "a second sleep before the same request is not taken over")
	default:
		y.pending = []string{"@think " + think}
	}
}

// k6HTTP is a call of a function of k6/http.
func (y *script) k6HTTP(method string, args []*js, n *js, s *jsScope) (jsValue, bool) {
	arg := func(i int) *js {
		if i < len(args) {
			return args[i]
		}
		return &js{kind: "name", text: "null", line: n.line}
	}
	switch {
	case method == "file" && len(args) > 0:
		file := jsValue{kind: isForm, text: "upload"}
		if v := y.eval(arg(1), s); v.kind == isText {
			file.text = v.text
		}
		y.left(y.place(n.line), "put the file %.60s beside the scenario, or correct its name in the line @file", string(file.text))
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
func (y *script) batch(v jsValue, n *js) jsValue {
	if v.kind != isNode || v.node.kind != "array" && v.node.kind != "object" {
		y.left(y.place(n.line), "takt does not see the requests of http.batch()")
		return jsValue{src: "http.batch()"}
	}
	y.left(y.place(n.line), "the requests of http.batch() are sent one after the other")
	all := jsValue{kind: isList}
	for _, one := range v.node.list {
		if one.kind == "property" {
			one = one.list[0]
		}
		r := y.eval(one, v.in)
		null := &js{kind: "name", text: "null", line: one.line}
		list := []*js{{kind: "text", text: "GET", line: one.line}, one, null, null}
		switch {
		case r.kind == isNode && r.node.kind == "array":
			for i := range min(4, len(r.node.list)) {
				list[i] = r.node.list[i]
			}
		case r.kind == isNode && r.node.kind == "object":
			for i, key := range []string{"method", "url", "body", "params"} {
				for _, p := range r.node.list {
					if p.text == key && p.list != nil {
						list[i] = p.list[0]
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
func (y *script) send(method string, at, body, params, n *js, s *jsScope) jsValue {
	where := y.place(n.line)
	step := scene.Step{Method: method, Comment: strings.TrimSpace(y.comment + "\n" + where), Lines: y.pending}
	if len(y.pending) > 0 && len(y.Steps) == 0 {
		y.left(where, "the sleep before the first request is left out: nobody waits before it")
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
func (y *script) urlOf(n *js, s *jsScope) scene.Text {
	if n.kind == "call" && strings.HasSuffix(n.list[0].String(), "http.url") {
		n = n.list[1]
	}
	left := len(y.Left)
	t := y.textOf(y.eval(n, s), n)
	return y.onHost(y.place(n.line), t, left)
}

// onHost is a URL as a step has it. A host that is not known, or is none, becomes the URL argument. What was said of it
// is from left on.
func (t *Taken) onHost(where string, u scene.Text, left int) scene.Text {
	u = scene.URLRaw(u)
	rest := string(u)
	if name, path, ok := strings.Cut(strings.TrimPrefix(rest, "{{env "), "}}"); ok && strings.HasPrefix(rest, "{{env ") {
		t.left("", "the host, in the variable %s of the environment, is the URL argument of takt http", strings.Trim(name, `"`))
		if u = scene.Text(path); !strings.HasPrefix(path, "/") {
			u = "/" + u
		}
		return u
	}
	if scheme := schemeOf().FindString(rest); scheme != "" {
		rest = rest[len(scheme):]
	} else if !strings.HasPrefix(rest, "VALUE-OF-") {
		if !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "{{") {
			u = "/" + u // beside the page, which takt does not know
		}
		return u
	}
	i := strings.IndexAny(rest+"/", "/?")
	host, path := rest[:i], rest[i:]
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	parsed, err := url.Parse("http://" + host)
	switch name, unknown := strings.CutPrefix(host, "VALUE-OF-"); {
	case unknown:
		if len(t.Left) > left && strings.Contains(t.Left[len(t.Left)-1].What, strings.SplitN(host, ":", 2)[0]+":") {
			t.unsaid(len(t.Left) - 1)
		}
		t.left("", "the host %s is the URL argument of takt http", name)
	case strings.Contains(host, "{{"):
		t.left(where, "the host %.60q is a value, which a host cannot be; give it as the URL argument of takt http", host)
	case err != nil || parsed.Host == "" || strings.ContainsAny(parsed.Host, " ${}[]<>") && !strings.HasPrefix(parsed.Host, "["):
		t.left("", "the host %.60q is none; give it as the URL argument of takt http", host)
	default:
		return u
	}
	return scene.Text(path)
}

var schemeOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]+://`) })

// params are the parameters of a request: headers and others.
func (y *script) params(step *scene.Step, v jsValue, n *js) {
	if v.kind != isNode || v.node.kind != "object" {
		if v.kind == isUnknown && n.text != "null" && n.text != "undefined" {
			y.left(y.place(n.line), "takt does not see the parameters %.60s of the request", n.String())
		}
		return
	}
	for _, p := range v.node.list {
		where := y.place(p.line)
		if p.kind == "spread" {
			y.params(step, y.eval(p.list[0], v.in), p)
			continue
		}
		value := y.eval(p.list[0], v.in)
		switch p.text {
		case "headers":
			y.fields(value, p, func(name string, value scene.Text) { y.header(where, step, name, value) })
		case "cookies":
			var list []string
			y.fields(value, p, func(name string, value scene.Text) { list = append(list, name+"="+string(value)) })
			y.header(where, step, "Cookie", scene.Text(strings.Join(list, "; ")))
		case "tags":
			y.fields(value, p, func(name string, value scene.Text) {
				if name == "name" && !strings.Contains(string(value), "{{") {
					step.Name = string(value)
				} else {
					y.left(where, "the tag %.40s is not taken over", name)
				}
			})
		case "timeout":
			y.left(where, "a time limit of a request is not taken over; give takt http --timeout")
		case "redirects":
			switch n, ok := value.number(); {
			case ok && n == 0:
				step.Lines = append(step.Lines, noFollow)
			case ok && n >= 1 && n <= 100:
				step.Lines = append(step.Lines, fmt.Sprintf("@follow %.0f", n))
			default:
				y.left(where, "takt does not see how many redirects are followed; write @follow N")
			}
		case "responseCallback":
			y.tell(p) // what follows says
			if call := p.list[0]; call.kind == "call" && call.list[0].String() == "http.expectedStatuses" {
				y.expect(step, call, v.in)
				continue
			}
			y.left(where, "responseCallback is not taken over; write @check status")
		default:
			y.left(where, "the parameter %.40s of a request is not taken over", p.text)
		}
	}
}

// noFollow says that a step follows no redirect, until it is complete.
const noFollow = "@follow 0"

func isFollow(line string) bool { return strings.HasPrefix(line, "@follow") }

// expect are the statuses of http.expectedStatuses(200, {min: 300, max: 399}).
func (y *script) expect(step *scene.Step, call *js, s *jsScope) {
	var list []string
	for _, a := range call.list[1:] {
		v := y.eval(a, s)
		low, _ := y.member(v, "min", a).number()
		if _, ok := v.number(); ok {
			list = append(list, string(v.text))
		} else if high, ok := y.member(v, "max", a).number(); ok && int(low)%100 == 0 && int(high) == int(low)+99 {
			list = append(list, fmt.Sprintf("%dxx", int(low)/100))
		} else {
			y.left(y.place(a.line), "takt does not see the statuses of http.expectedStatuses()")
			return
		}
	}
	step.Lines = append(step.Lines, "@check status "+strings.Join(list, ","))
}

// fields calls do for each property of an object.
func (y *script) fields(v jsValue, n *js, do func(name string, value scene.Text)) {
	if v.kind != isNode || v.node.kind != "object" {
		y.left(y.place(n.line), "takt does not see the %.40s of the request", n.text)
		return
	}
	for _, p := range v.node.list {
		if p.kind == "spread" {
			y.fields(y.eval(p.list[0], v.in), n, do)
			continue
		}
		do(p.text, y.textOf(y.eval(p.list[0], v.in), p.list[0]))
	}
}

// body is the body of a request: a text, or an object that is a form.
func (y *script) body(where string, step *scene.Step, v jsValue, n *js) {
	if v.kind == isNode && v.node.kind == "object" {
		for _, p := range v.node.list {
			if p.kind == "spread" {
				y.left(where, "a part of the form is not taken over")
				continue
			}
			one := y.eval(p.list[0], v.in)
			if one.kind == isForm {
				y.field(where, step, scene.Field{Name: p.text, File: string(one.text)})
			} else {
				y.field(where, step, scene.Field{Name: p.text, Value: y.textOf(one, p.list[0])})
			}
		}
		return
	}
	if n.kind == "name" && (n.text == "null" || n.text == "undefined") {
		return
	}
	if step.Body = y.textOf(v, n); step.Body != "" && !step.HasHeader("Content-Type") {
		y.header(where, step, "Content-Type", "text/plain; charset=utf-8") // takt's would be text/html
	}
}

// quoteJSON is a text in JSON, as a text of a scenario.
func quoteJSON(s string) string {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	_ = to.Encode(s) // a text
	return string(scene.Literal(strings.TrimSuffix(b.String(), "\n")))
}
