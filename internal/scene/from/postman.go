package from

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
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
)

func looksPostman(text []byte) bool {
	return len(text) > 0 && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && bytes.Contains(text, []byte("schema.getpostman.com"))
}

// The parts of a collection: schema.getpostman.com/json/collection/v2.1.0, and v2.0.0, where some have another form.
type postmanItem struct {
	Name     string                     `json:"name"`
	Item     []json.RawMessage          `json:"item"`
	Request  json.RawMessage            `json:"request"`
	Event    []postmanEvent             `json:"event"`
	Auth     json.RawMessage            `json:"auth"`
	Variable []postmanPair              `json:"variable"`
	Behavior map[string]json.RawMessage `json:"protocolProfileBehavior"`
	Info     struct {
		Schema string `json:"schema"`
	} `json:"info"`
}

type postmanEvent struct {
	Listen   string `json:"listen"`
	Disabled bool   `json:"disabled"`
	Script   struct {
		Exec lines `json:"exec"`
	} `json:"script"`
}

type postmanRequest struct {
	Method string          `json:"method"`
	Header json.RawMessage `json:"header"`
	URL    json.RawMessage `json:"url"`
	Body   *postmanBody    `json:"body"`
	Auth   json.RawMessage `json:"auth"`
	Proxy  json.RawMessage `json:"proxy"`
	Cert   json.RawMessage `json:"certificate"`
}

type postmanBody struct {
	Mode       string        `json:"mode"`
	Raw        string        `json:"raw"`
	Urlencoded []postmanPair `json:"urlencoded"`
	Formdata   []postmanPair `json:"formdata"`
	GraphQL    struct {
		Query     string `json:"query"`
		Variables string `json:"variables"`
	} `json:"graphql"`
	File struct {
		Src string `json:"src"`
	} `json:"file"`
	Options struct {
		Raw struct {
			Language string `json:"language"`
		} `json:"raw"`
	} `json:"options"`
	Disabled bool `json:"disabled"`
}

type postmanPair struct {
	Key      string `json:"key"`
	ID       string `json:"id"`
	Value    scalar `json:"value"`
	Type     string `json:"type"`
	Src      lines  `json:"src"`
	Content  string `json:"contentType"`
	Disabled bool   `json:"disabled"`
}

// lines is a text, or a list of lines.
type lines string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lines) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*l = lines(strings.Join(list, "\n"))
		return nil
	}
	var s string
	_ = json.Unmarshal(b, &s) // null, or something else that is no text
	*l = lines(s)
	return nil
}

// scalar is a text, a number, a truth value or null.
type scalar string

// UnmarshalJSON implements json.Unmarshaler.
func (v *scalar) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*v = scalar(s)
	} else {
		*v = scalar(b)
	}
	return nil
}

// postman reads a collection.
type postman struct {
	*script
	values map[string]string // of the collection's variables
	scope  *jsScope          // of the scripts: names of captures by "pm " + the name of the variable
}

func readPostman(text []byte) (*taken.Taken, error) {
	var all postmanItem
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a collection: %w", err)
	}
	if !strings.Contains(all.Info.Schema, "/v2.") {
		return nil, fmt.Errorf("the collection has the schema %.80q; export it as Collection v2.1", all.Info.Schema)
	}
	p := postman{script: newScript(new(taken.Taken), taken.AtLine), values: map[string]string{}, scope: (&jsScope{}).in()}
	p.builtin = p.call
	p.item(all, nil, nil, "", 0)
	return p.Taken, nil
}

// item takes a folder or a request over. auths and events are those of the folders around it.
func (p *postman) item(it postmanItem, auth json.RawMessage, events []postmanEvent, path string, depth int) {
	if depth > taken.MaxDepth {
		p.Omit(path, "folders that are more than %d deep are not taken over", taken.MaxDepth)
		return
	}
	for _, v := range it.Variable {
		if name := v.Key + v.ID; !v.Disabled && (v.Key == "" || v.ID == "" || v.Key == v.ID) {
			p.values[name] = string(v.Value)
		} else if !v.Disabled {
			p.values[v.Key] = string(v.Value)
		}
	}
	if isThere(it.Auth) {
		auth = it.Auth
	}
	if depth > 0 {
		path = strings.TrimPrefix(path+" / "+it.Name, " / ")
	}
	if it.Request != nil {
		p.request(it, auth, events, path)
		return
	}
	events = append(slices.Clip(events), it.Event...)
	for _, one := range it.Item {
		var in postmanItem
		if err := json.Unmarshal(one, &in); err != nil {
			p.Omit(path, "an item cannot be read: %v", err)
			continue
		}
		p.item(in, auth, events, path, depth+1)
	}
}

// isThere reports whether a part of a collection is there, and not null.
func isThere(b json.RawMessage) bool { return b != nil && string(b) != "null" }

// postmanBehavior are settings of a request, as takt does it.
var postmanBehavior = map[string]string{"followRedirects": "false", "disableBodyPruning": "true", "disableUrlEncoding": "false", "disableCookies": "false", "strictSSL": "true"}

func (p *postman) request(it postmanItem, auth json.RawMessage, events []postmanEvent, path string) {
	var q postmanRequest
	if err := json.Unmarshal(it.Request, &q); err != nil {
		q.URL = it.Request // a request may be a URL alone
	}
	if len(p.Steps) > taken.MaxSteps {
		return
	}
	s := scene.Step{Name: path, Method: strings.ToUpper(q.Method)}
	if s.Method == "" {
		s.Method = "GET"
	}
	events = append(slices.Clip(events), it.Event...)
	p.scripts(events, "prerequest", path)
	s.URL = p.url(q.URL, path)
	p.headers(&s, q.Header, path)
	if q.Body != nil && !q.Body.Disabled {
		p.body(&s, q.Body, path)
	}
	if isThere(q.Auth) {
		auth = q.Auth
	}
	p.auth(&s, auth, path)
	if isThere(q.Proxy) {
		p.Omit(path, "its proxy is not taken over; give takt http -x")
	}
	if isThere(q.Cert) {
		p.Omit(path, "its certificate is not taken over; give takt http --cert and --key")
	}
	for _, name := range slices.Sorted(maps.Keys(it.Behavior)) {
		if v := string(it.Behavior[name]); v != postmanBehavior[name] {
			p.Omit(path, "the setting %.40s (%.40s) is not taken over", name, v)
		}
	}
	p.Steps = append(p.Steps, s)
	p.scripts(events, "test", path)
}

var postmanVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{([^{}]*)\}\}`) })

// text fills in the variables of a text; how encodes what is captured: json, url or nothing.
func (p *postman) text(s, where, how string, depth int) scene.Text {
	var t scene.Text
	for s != "" {
		m := postmanVariable().FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		t += scene.Literal(s[:m[0]]) + p.variable(strings.TrimSpace(s[m[2]:m[3]]), where, how, depth)
		if s = s[m[1]:]; len(t) > taken.MaxText {
			return p.StandIn(where, "a long text")
		}
	}
	return t + scene.Literal(s)
}

// postmanDynamic are the variables that Postman makes anew each time.
var postmanDynamic = map[string]scene.Text{
	"$guid": "{{uuid}}", "$randomUUID": "{{uuid}}", "$timestamp": `{{date "%s"}}`, "$isoTimestamp": "{{now}}", "$randomInt": "{{randInt 0 1000}}", "$randomAlphaNumeric": "{{randString 1}}", "$randomPassword": "{{randString 15}}",
	"$randomFirstName": "{{randString 8}}", "$randomLastName": "{{randString 8}}", "$randomFullName": "{{randString 8}}", "$randomUserName": "{{randString 10}}", "$randomEmail": "{{randString 10}}@example.com", "$randomExampleEmail": "{{randString 10}}@example.com",
}

func (p *postman) variable(name, where, how string, depth int) scene.Text {
	if v, ok := p.scope.find("pm " + name); ok {
		if t := p.textOf(v, &js.Node{Kind: "name", Text: name}); how == "" {
			return t
		} else {
			return t.In(how)
		}
	}
	if t, ok := postmanDynamic[name]; ok {
		return t
	}
	if v, ok := p.values[name]; ok && depth < 10 && v != "" && !p.Spent() {
		return p.text(v, where, how, depth+1)
	}
	return p.StandIn(where, name)
}

func (p *postman) url(b json.RawMessage, where string) scene.Text {
	var at struct {
		Raw      string        `json:"raw"`
		Variable []postmanPair `json:"variable"`
	}
	if json.Unmarshal(b, &at) != nil {
		_ = json.Unmarshal(b, &at.Raw) // else it is empty, which is said below
	}
	if at.Raw == "" {
		p.Omit(where, "the request has no URL that takt can read; it is sent to /")
		return "/"
	}
	raw := at.Raw
	before, after, query := strings.Cut(raw, "?")
	for _, v := range at.Variable {
		name := v.Key
		if name == "" {
			name = v.ID
		}
		segments := strings.Split(before, "/")
		for i, one := range segments {
			if one == ":"+name && name != "" {
				segments[i] = string(v.Value)
			}
		}
		before = strings.Join(segments, "/")
	}
	if raw = before; query {
		raw += "?" + after
	}
	if !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "{{") {
		raw = "http://" + raw
	}
	left := len(p.Left)
	t := p.text(raw, where, "", 0)
	if strings.HasPrefix(raw, "{{") && !strings.Contains(string(t), "://") && !strings.HasPrefix(string(t), "VALUE-OF-") && !strings.HasPrefix(string(t), "/") {
		t = "http://" + t
	}
	return p.OnHost(where, t, left)
}

func (p *postman) headers(s *scene.Step, b json.RawMessage, where string) {
	var list []postmanPair
	if json.Unmarshal(b, &list) != nil {
		var text string
		_ = json.Unmarshal(b, &text) // null: there are none
		for line := range strings.Lines(text) {
			if name, v, ok := strings.Cut(line, ":"); ok {
				list = append(list, postmanPair{Key: name, Value: scalar(strings.TrimSpace(v))})
			}
		}
	}
	for _, h := range list {
		if !h.Disabled && h.Key != "" {
			p.Header(where, s, h.Key, p.text(strings.TrimSpace(string(h.Value)), where, "", 0))
		}
	}
}

func (p *postman) body(s *scene.Step, b *postmanBody, where string) {
	kind := ""
	switch b.Mode {
	case "raw":
		kind = map[string]string{"json": "application/json", "xml": "application/xml", "html": "text/html", "javascript": "application/javascript"}[b.Options.Raw.Language]
		if kind == "" {
			kind = "text/plain"
		}
		how := ""
		if isJSON := strings.Contains(kind, "json"); isJSON || strings.HasPrefix(strings.TrimSpace(b.Raw), "{") && b.Options.Raw.Language == "" {
			b.Raw, how = taken.CompactJSON(b.Raw), "json"
			if !isJSON {
				kind = "application/json"
			}
		}
		s.Body = p.text(b.Raw, where, how, 0)
	case "urlencoded", "formdata":
		for _, f := range append(b.Urlencoded, b.Formdata...) {
			if f.Content != "" && !f.Disabled {
				p.Omit(where, "the content type %.60q of the field %.40q is not taken over", f.Content, f.Key)
			}
			switch {
			case f.Disabled:
			case f.Type == "file":
				for _, src := range strings.Split(string(f.Src), "\n") {
					if src == "" {
						src = "upload"
					}
					p.Omit(where, "put the file %.60q beside the scenario, or correct its name in the line @file", src)
					p.Field(where, s, scene.Field{Name: f.Key, File: src})
				}
			default:
				p.Field(where, s, scene.Field{Name: f.Key, Value: p.text(string(f.Value), where, "", 0)})
			}
		}
		if b.Mode == "formdata" && len(s.Form) > 0 && !taken.HasFile(s.Form) {
			p.Omit(where, "a form without a file is sent as application/x-www-form-urlencoded, not as multipart/form-data")
		}
		s.Header = slices.DeleteFunc(s.Header, func(f scene.Field) bool { return taken.HasFile(s.Form) && strings.EqualFold(f.Name, "content-type") })
	case "graphql":
		kind = "application/json"
		variables := strings.TrimSpace(b.GraphQL.Variables)
		if variables == "" {
			variables = "{}"
		}
		s.Body = `{"query":` + scene.Text(p.inJSON(b.GraphQL.Query, where)) + `,"variables":` + p.text(taken.CompactJSON(variables), where, "json", 0) + "}"
	case "file":
		kind = "application/octet-stream"
		if s.BodyFile = b.File.Src; s.BodyFile == "" {
			p.Omit(where, "the body is a file without a name; write @FILE in the step")
		} else {
			p.Omit(where, "put the file %.60q beside the scenario, or correct its name in the line with @", b.File.Src)
		}
	case "":
	default:
		p.Omit(where, "a body of the kind %.30q is not taken over", b.Mode)
	}
	if (s.Body != "" || s.BodyFile != "") && !s.HasHeader("Content-Type") {
		p.Header(where, s, "Content-Type", scene.Text(kind))
	}
}

// inJSON is a text as a text of JSON, with its variables filled in.
func (p *postman) inJSON(text, where string) string {
	parts, vars := postmanVariable().Split(text, -1), postmanVariable().FindAllStringSubmatch(text, -1)
	out := `"`
	for i, one := range parts {
		out += strings.TrimSuffix(strings.TrimPrefix(taken.QuoteJSON(one), `"`), `"`)
		if i < len(vars) {
			out += string(p.variable(strings.TrimSpace(vars[i][1]), where, "json", 0))
		}
	}
	return out + `"`
}

func (p *postman) auth(s *scene.Step, b json.RawMessage, where string) {
	if b == nil || string(b) == "null" || s.HasHeader("Authorization") {
		return
	}
	var kind struct {
		Type string `json:"type"`
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(b, &kind) != nil || json.Unmarshal(b, &all) != nil {
		p.Omit(where, "its authorization cannot be read")
		return
	}
	values := map[string]string{}
	var list []postmanPair
	if json.Unmarshal(all[kind.Type], &list) != nil {
		var old map[string]scalar // of v2.0
		_ = json.Unmarshal(all[kind.Type], &old)
		for k, v := range old {
			values[k] = string(v)
		}
	}
	for _, v := range list {
		values[v.Key] = string(v.Value)
	}
	text := func(name string) scene.Text { return p.text(values[name], where, "", 0) }
	switch kind.Type {
	case "noauth", "":
	case "bearer":
		p.Header(where, s, "Authorization", "Bearer "+text("token"))
	case "oauth2":
		if values["accessToken"] == "" {
			p.Omit(where, "oauth2 is not performed; give takt http --bearer, or write the request for the token as a step")
			return
		}
		p.Header(where, s, "Authorization", "Bearer "+text("accessToken"))
	case "basic":
		user := text("username") + ":" + text("password")
		if strings.Contains(string(user), "{{") {
			p.Omit(where, "basic authentication with values that change: write Authorization: Basic {{base64 …}}, or give takt http --auth")
			return
		}
		p.Header(where, s, "Authorization", scene.Text("Basic "+base64.StdEncoding.EncodeToString([]byte(user))))
	case "apikey":
		if values["in"] == "query" {
			s.URL = s.URL.AddQuery(scene.Query(values["key"]), scene.URLRaw(text("value")))
			return
		}
		p.Header(where, s, values["key"], text("value"))
	default:
		p.Omit(where, "authorization of the type %.30q is not taken over", kind.Type)
	}
}

// scripts takes over what the scripts of an event are known to do.
func (p *postman) scripts(events []postmanEvent, listen, path string) {
	for _, e := range events {
		text := string(e.Script.Exec)
		if e.Listen != listen || e.Disabled || strings.TrimSpace(text) == "" {
			continue
		}
		if len(text) > maxScript {
			p.Omit(path, "a script of more than %d MiB is not taken over", maxScript>>20)
			continue
		}
		name := map[string]string{"test": "test script", "prerequest": "script before the request"}[listen]
		p.place = func(line int) string { return path + ", " + name + ", " + taken.AtLine(line) }
		list, err := js.Read(text, 1, func(line int, err error) { p.Omit(p.place(line), "%v", err) })
		if err != nil {
			p.Omit(path+", "+name, "%v", err)
			continue
		}
		p.run(list, p.scope.in())
		p.tellRest()
	}
}

var (
	postmanSet = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(pm\.(environment|globals|collectionVariables|variables)\.set|postman\.set(Environment|Global)Variable|bru\.set(Env)?Var)$`)
	})
	postmanGet = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(pm\.(environment|globals|collectionVariables|variables)\.get|postman\.get(Environment|Global)Variable)$`)
	})
	postmanForget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(pm\.(environment|globals|collectionVariables|variables)\.(unset|clear)|postman\.clear.*|pm\.execution\..*)$`)
	})
)

// call are the functions and objects of Postman.
func (p *postman) call(y *script, name string, n *js.Node, s *jsScope) (jsValue, bool) {
	answer := jsValue{kind: isPart, part: part{len(p.Steps) - 1, "answer", ""}}
	args := n.List[min(1, len(n.List)):]
	switch n.Kind {
	case "name":
		switch name {
		case "responseBody":
			return answer.part.member("body", n), len(p.Steps) > 0
		case "responseTime":
			return answer.part.member(name, n), len(p.Steps) > 0
		}
		return jsValue{}, false
	case "member":
		switch name {
		case "pm.response":
			return answer, len(p.Steps) > 0
		case "pm.response.code", "responseCode.code":
			return answer.part.member("status", n), len(p.Steps) > 0
		}
		return jsValue{}, p.expects(n, nil, s)
	}
	switch {
	case name == "pm.test" && len(args) == 2:
		if f := p.eval(args[1], s); f.kind == isNode && f.node.Kind == "function" {
			p.apply(f, nil)
		}
		return jsValue{}, true
	case postmanSet().MatchString(name) && len(args) == 2:
		p.set(p.eval(args[0], s), p.eval(args[1], s), n, args[1])
		return jsValue{}, true
	case postmanGet().MatchString(name) && len(args) == 1:
		if key := p.eval(args[0], s); key.kind == isText {
			return raw(p.variable(string(key.text), p.place(n.Line), "", 0)), true
		}
	case postmanForget().MatchString(name):
		p.Omit(p.place(n.Line), "%.60s is not taken over", name)
		return jsValue{}, true
	case name == "pm.response.to.have.status" && len(args) == 1 && len(p.Steps) > 0:
		if v := p.eval(args[0], s); v.kind == isNumber {
			return jsValue{}, p.add(len(p.Steps)-1, []string{"@check status " + string(v.text)})
		} else if code, ok := statusOf[string(v.text)]; ok {
			return jsValue{}, p.add(len(p.Steps)-1, []string{fmt.Sprintf("@check status %d", code)})
		}
	case name == "pm.response.to.have.header" && len(args) > 0 && len(p.Steps) > 0:
		if v := p.eval(args[0], s); v.kind == isText && len(args) == 1 {
			return jsValue{}, p.add(len(p.Steps)-1, []string{scene.Check("header "+string(v.text), "", "")})
		} else if len(args) == 2 {
			w := p.eval(args[1], s)
			return jsValue{}, w.kind == isText && p.add(len(p.Steps)-1, []string{scene.Check("header "+string(v.text), "==", w.text)})
		}
	}
	return jsValue{}, p.expects(n.List[0], args, s)
}

var statusOf = map[string]int{"OK": 200, "Created": 201, "Accepted": 202, "No Content": 204, "Bad Request": 400, "Unauthorized": 401, "Forbidden": 403, "Not Found": 404, "Conflict": 409}

// set is a variable that a script sets.
func (p *postman) set(key, v jsValue, n, value *js.Node) {
	name := string(key.text)
	if key.kind != isText {
		p.Omit(p.place(n.Line), "takt does not see which variable is set")
		return
	}
	if v.kind == isPart {
		v.text = key.text // the name of the capture
	}
	if v.kind != isPart && v.kind != isText && v.kind != isNumber && v.kind != isRandom {
		p.tell(value)
		p.Omit(p.place(n.Line), "takt does not see the value of the variable %.40s", name)
		return
	}
	p.scope.names["pm "+name] = v
	if v.kind == isPart { // whoever uses it, the value is what the script is for
		p.textOf(v, value)
	}
}

// expects takes over a chain such as pm.expect(X).to.eql(V); call has the arguments behind the chain, nil: there are none.
func (p *postman) expects(chain *js.Node, args []*js.Node, s *jsScope) bool {
	var words []string
	at := chain
	for at != nil && at.Kind == "member" {
		words = append([]string{at.Text}, words...)
		at = at.List[0]
	}
	if at == nil || len(p.Steps) == 0 {
		return false
	}
	if at.Kind == "name" && at.Text == "pm" && len(words) > 3 && strings.Join(words[:3], ".") == "response.to.be" {
		class := map[string]string{"ok": "200", "success": "2xx", "accepted": "202", "notFound": "404", "badRequest": "400", "unauthorized": "401", "forbidden": "403", "error": "4xx,5xx", "clientError": "4xx", "serverError": "5xx", "redirection": "3xx"}[words[3]]
		if words[3] == "json" || words[3] == "withBody" || words[3] == "withJson" {
			return p.add(len(p.Steps)-1, []string{map[bool]string{true: "@check size > 0", false: `@check body matches ^\s*[\[{]`}[words[3] == "withBody"]})
		}
		return class != "" && p.add(len(p.Steps)-1, []string{"@check status " + class})
	}
	if at.Kind != "call" || at.List[0].String() != "pm.expect" || len(at.List) < 2 || slices.Contains(words, "not") {
		return false
	}
	v := p.eval(at.List[1], s)
	want, wanted := jsValue{}, &js.Node{Kind: "other"}
	if len(args) > 0 {
		want, wanted = p.eval(args[0], s), args[0]
	}
	return p.expected(v, words, want, wanted)
}

// expected is the line for one chain.
func (p *postman) expected(v jsValue, words []string, want jsValue, wanted *js.Node) bool {
	if v.kind != isPart || len(words) == 0 {
		return false
	}
	is := func(rel string, want jsValue, n *js.Node) bool {
		lines, step, ok := p.relation(v, rel, want, n)
		return ok && p.add(step, lines)
	}
	switch last := words[len(words)-1]; last {
	case "eql", "equal", "equals", "eq":
		return is("==", want, wanted)
	case "true", "false":
		return is("==", jsValue{}, &js.Node{Kind: "name", Text: last})
	case "below", "lessThan":
		return is("<", want, wanted)
	case "above", "greaterThan":
		return is(">", want, wanted)
	case "least":
		return is(">=", want, wanted)
	case "most":
		return is("<=", want, wanted)
	case "exist", "ok", "a", "an", "undefined", "null":
		if last == "undefined" || last == "null" || v.part.of == "json" && v.part.path == "" {
			return false
		}
		return is("!=", jsValue{}, &js.Node{Kind: "name", Text: "undefined"})
	case "include", "contain", "contains", "includes":
		if (want.kind == isText || want.kind == isNumber) && readable(v.part) && want.text != "" {
			return p.add(v.part.step, []string{scene.Check(v.part.source(), "contains", want.text)})
		}
	case "property":
		if want.kind == isText && v.part.of == "json" {
			v.part = v.part.into(gjsonKey(string(want.text)))
			return is("!=", jsValue{}, &js.Node{Kind: "name", Text: "undefined"})
		}
	case "oneOf":
		if want.kind == isNode && want.node.Kind == "array" && v.part.of == "status" {
			var list []string
			for _, one := range want.node.List {
				if _, err := strconv.Atoi(one.Text); err == nil {
					list = append(list, one.Text)
				}
			}
			return list != nil && p.add(v.part.step, []string{"@check status " + strings.Join(list, ",")})
		}
	}
	return false
}
