// Package jmeter reads test plans of JMeter.
package jmeter

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/scene/from/taken"
	"github.com/taktload/takt/internal/session"
)

func Looks(text []byte) bool {
	return bytes.Contains(text[:min(len(text), 4096)], []byte("<jmeterTestPlan"))
}

// jmeter reads a test plan.
type jmeter struct {
	*taken.Taken
	vars    map[string]scene.Text // variables whose values are known, or are placeholders
	raw     map[string]string     // values of variables of the user
	lists   map[string]bool       // captured lists
	pending string                // a pause before the next request
	sets    []string              // @set lines of the next request
}

// jmScope is what applies to the requests of a part of the plan.
type jmScope struct {
	defaults map[string]string // of requests
	args     []*element        // of all requests
	headers  []*element
	timers   []*element
	posts    []*element // extractors and assertions
	when     []string   // lines with conditions
	once     bool       // each user makes its requests once
}

func Read(text []byte) (*taken.Taken, error) {
	root, err := readXML(text)
	if err != nil {
		return nil, err
	}
	j := jmeter{Taken: new(taken.Taken), vars: map[string]scene.Text{}, raw: map[string]string{}, lists: map[string]bool{}}
	for _, e := range root.list {
		j.tree(e, jmScope{defaults: map[string]string{}})
	}
	return j.Taken, nil
}

func (j *jmeter) where(e *element) string {
	return fmt.Sprintf("line %d (%s)", e.line, e.attr["testname"])
}

// pairs calls do for each element of a tree that is switched on, with the tree below it.
func (e *element) pairs(do func(one, below *element)) {
	for i, one := range e.list {
		if one.tag == "hashTree" || one.attr["enabled"] == "false" {
			continue
		}
		below := &element{}
		if i+1 < len(e.list) && e.list[i+1].tag == "hashTree" {
			below = e.list[i+1]
		}
		do(one, below)
	}
}

// tree takes a tree over: first what applies to all of it, then its requests.
func (j *jmeter) tree(t *element, s jmScope) {
	s.headers, s.timers, s.posts, s.args = slices.Clip(s.headers), slices.Clip(s.timers), slices.Clip(s.posts), slices.Clip(s.args)
	t.pairs(func(one, below *element) { j.config(one, &s) })
	t.pairs(func(one, below *element) { j.element(one, below, s) })
}

// isPost reports whether an element asks an answer, or takes a value from it.
func isPost(tag string) bool {
	return strings.HasSuffix(tag, "Assertion") || strings.HasSuffix(tag, "Extractor") || strings.HasSuffix(tag, "PostProcessor")
}

// config is an element that applies to its neighbours and what is below them.
func (j *jmeter) config(e *element, s *jmScope) {
	switch tag := e.tag; {
	case tag == "ConfigTestElement" && e.attr["guiclass"] == "HttpDefaultsGui":
		s.defaults = maps.Clone(s.defaults)
		for _, name := range []string{"domain", "port", "protocol", "path", "contentEncoding"} {
			if v := e.prop("HTTPSampler." + name); v != "" {
				s.defaults[name] = v
			}
		}
		s.args = append(s.args, e.entries("HTTPsampler.Arguments", "Arguments.arguments")...)
		j.ignored(e, samplerProps)
	case tag == "ConfigTestElement":
		j.Omit(j.where(e), "these defaults are not taken over")
	case tag == "HeaderManager":
		s.headers = append(s.headers, e.entries("HeaderManager.headers")...)
	case tag == "CSVDataSet":
		j.csv(e)
	case tag == "Arguments":
		j.variables(e.entries("Arguments.arguments"))
	case tag == "TestPlan":
		j.variables(e.entries("TestPlan.user_defined_variables", "Arguments.arguments"))
	case tag == "UserParameters":
		j.parameters(e)
	case strings.HasSuffix(tag, "ThroughputTimer"):
		j.Omit(j.where(e), "a timer of the throughput: give takt http --rate, or with -c write @pace TIME in the first step")
	case strings.HasSuffix(tag, "Timer"):
		s.timers = append(s.timers, e)
	case isPost(tag):
		s.posts = append(s.posts, e)
	}
}

// jmProps are properties that change what a plan does and are not taken over, with their values that change nothing.
type jmProps map[string]string

var (
	samplerProps = jmProps{"HTTPSampler.use_keepalive": "true", "HTTPSampler.proxyHost": "", "HTTPSampler.ipSource": ""}
	csvProps     = jmProps{"shareMode": "shareMode.all"}
	forEachProps = jmProps{"ForeachController.startIndex": "0", "ForeachController.endIndex": ""}
)

// ignored says which of these properties an element has.
func (j *jmeter) ignored(e *element, props jmProps) {
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if v := e.prop(name); v != "" && v != props[name] {
			j.Omit(j.where(e), "%s is %.40q, which is not taken over", name[strings.LastIndexByte(name, '.')+1:], v)
		}
	}
}

func (j *jmeter) variables(list []*element) {
	for _, v := range list {
		j.raw[v.prop("Argument.name")] = v.prop("Argument.value")
	}
}

// parameters are values that a user sets before the next request: those of the first user.
func (j *jmeter) parameters(e *element) {
	users := e.entries("UserParameters.thread_values")
	if len(users) == 0 {
		return
	}
	if len(users) > 1 {
		j.Omit(j.where(e), "the values of the first user are taken; write those of all users into a file, and {{file \"users.csv\" 1}}")
	}
	names := e.entries("UserParameters.names")
	for i, v := range users[0].list[:min(len(names), len(users[0].list))] {
		name := strings.TrimSpace(names[i].text)
		if text := j.text(j.where(e), v.text); text != "" && name != "" && !strings.ContainsAny(string(text), "\r\n") {
			j.sets = append(j.sets, "@set "+scene.Name(name)+" "+string(text))
			j.vars[name] = scene.Value(scene.Name(name))
		}
	}
}

// csv makes placeholders of the columns of a file.
func (j *jmeter) csv(e *element) {
	file, names := j.file(j.where(e), e.prop("filename")), e.prop("variableNames")
	words := ""
	if e.prop("ignoreFirstLine") == "true" {
		words = "header"
	}
	if e.prop("recycle") == "false" {
		words = strings.TrimSpace(words + " once")
	}
	j.ignored(e, csvProps)
	if d := e.prop("delimiter"); d != "," && d != "" {
		j.Omit(j.where(e), "the columns of %.60q are separated by %q; takt wants commas", file, d)
	}
	if names == "" {
		j.Omit(j.where(e), "the names of the columns are in the first line of %.60q, which takt does not read; name them in the plan", file)
		return
	}
	for i, name := range strings.Split(names, ",") {
		j.vars[strings.TrimSpace(name)] = scene.Column(file, i+1, words)
	}
}

// file is the name of a file; a folder that takt does not know is left out.
func (j *jmeter) file(where, name string) string {
	plain := j.plain(name)
	if strings.Contains(plain, "VALUE-OF-") || strings.Contains(plain, "{{") {
		plain = path.Base(strings.ReplaceAll(plain, `\\`, "/"))
	}
	j.Omit(where, "put the file %.60q beside the scenario, or correct its name", plain)
	return plain
}

// element is a thread group, a controller or a request.
func (j *jmeter) element(e, below *element, s jmScope) {
	switch tag := e.tag; {
	case tag == "TestPlan":
		j.tree(below, s)
	case strings.HasSuffix(tag, "ThreadGroup"):
		j.threads(e, below, s)
	case strings.HasPrefix(tag, "HTTPSampler"):
		j.request(e, below, s)
	case tag == "TestAction":
		if e.prop("ActionProcessor.action") == "1" {
			j.unpaused(e)
			if j.pending = jmTime(j.plain(e.prop("ActionProcessor.duration"))); j.pending == "" {
				j.Omit(j.where(e), "takt does not see how long this pause is; write @think TIME in the next step")
			}
		} else {
			j.Omit(j.where(e), "this action is not taken over")
		}
		j.tree(below, s)
	case strings.HasSuffix(tag, "Controller"):
		j.controller(e, below, s)
	case tag == "ConfigTestElement", tag == "HeaderManager", tag == "CSVDataSet", tag == "Arguments", tag == "CookieManager", tag == "UserParameters", isPost(tag), strings.HasSuffix(tag, "Timer"):
		if tag == "CookieManager" && len(e.entries("CookieManager.cookies")) > 0 {
			j.Omit(j.where(e), "its cookies are not taken over; write a Cookie line")
		}
	case tag == "ResultCollector", strings.HasSuffix(tag, "Listener"), strings.HasSuffix(tag, "Visualizer"), strings.HasSuffix(tag, "Reporter"), strings.HasSuffix(tag, "Collector"):
		j.Omit("", "listeners are left out: takt writes its reports with -o")
	default:
		j.Omit(j.where(e), "%.40s is not taken over", tag)
		j.tree(below, s)
	}
}

// unpaused says that a pause before e is not taken over, since no request came behind it.
func (j *jmeter) unpaused(e *element) {
	if j.pending != "" {
		j.Omit(j.where(e), "a pause of %s without a request behind it is not taken over", j.pending)
	}
	j.pending = ""
}

func (j *jmeter) threads(e, below *element, s jmScope) {
	before := len(j.Steps)
	j.pending, j.sets = "", nil
	j.tree(below, s)
	if j.unpaused(e); len(j.Steps) == before {
		return
	}
	if line := map[string]string{"SetupThreadGroup": taken.SetUp, "PostThreadGroup": taken.TearDown}[e.tag]; line != "" {
		j.Outside(before, line)
		return
	}
	first := &j.Steps[before]
	if first.Journey = strings.TrimSpace(e.attr["testname"]); first.Journey == "" {
		first.Journey = "users"
	}
	for i, one := range j.Steps[:before] {
		if one.Journey == first.Journey {
			first.Journey += fmt.Sprintf(" at line %d", e.line+i-i)
			break
		}
	}
	n, err := strconv.ParseFloat(j.plain(e.prop("ThreadGroup.num_threads")), 64)
	if err != nil || n <= 0 || n > 1e6 {
		n = 1
	}
	first.Weight = n
	j.Omit(j.where(e), "its load (%s threads) is the weight of a @journey line only; give takt http -c, --rate or --stages, and -z", e.prop("ThreadGroup.num_threads"))
}

var jmCondition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\$\{__(?:jexl[23]|groovy|javaScript)\()?\s*['"]?\$\{(\w+)\}['"]?\s*(==|!=|<=|>=|<|>)\s*['"]?([^'"${}()]*?)['"]?\s*(?:,?\)\})?$`)
})

func (j *jmeter) controller(e, below *element, s jmScope) {
	before := len(j.Steps)
	line := ""
	switch e.tag {
	case "IfController":
		if m := jmCondition().FindStringSubmatch(strings.TrimSpace(e.prop("IfController.condition"))); m != nil && m[3] != "" && j.isCaptured(m[1]) {
			s.when = append(slices.Clip(s.when), "@when "+scene.Name(m[1])+" "+m[2]+" "+m[3])
		} else {
			j.Omit(j.where(e), "its condition %.80q is not taken over: its requests are sent always; write @when or @unless in their steps", e.prop("IfController.condition"))
		}
	case "LoopController":
		if n, err := strconv.Atoi(j.plain(e.prop("LoopController.loops"))); err == nil && n > 1 && n <= 10000 {
			line = fmt.Sprintf("@repeat %d", n)
		} else if err != nil || n != 1 {
			line = "-"
		}
	case "ForeachController":
		j.ignored(e, forEachProps)
		in, out := e.prop("ForeachController.inputVal"), e.prop("ForeachController.returnVal")
		line = "-"
		if j.lists[in] {
			line = "@repeat " + scene.Name(out) + " in " + scene.Name(in)
			j.vars[out] = scene.Value(scene.Name(out))
		}
	case "OnceOnlyController":
		s.once = true
	case "GenericController", "TransactionController", "RecordingController":
	case "WhileController":
		line = "-"
	default:
		j.Omit(j.where(e), "a %s is not taken over: its requests are sent one after the other, each once a round", e.tag)
	}
	j.tree(below, s)
	if made := len(j.Steps) - before; made > 0 && line != "" && (line == "-" || !j.Repeat(before, line, e.attr["testname"])) {
		j.Omit(j.where(e), "its requests are sent once a round: @repeat is for a known number of times or a captured list and not for loops within loops, and @until for one step that is asked again")
	}
}

// isCaptured reports whether a step before captures a value.
func (j *jmeter) isCaptured(name string) bool {
	return j.vars[name] == scene.Value(scene.Name(name))
}

func (j *jmeter) request(e, below *element, s jmScope) {
	own := s
	own.headers, own.timers, own.posts = slices.Clip(s.headers), slices.Clip(s.timers), slices.Clip(s.posts)
	below.pairs(func(one, _ *element) {
		j.config(one, &own)
		if !isPost(one.tag) && !strings.HasSuffix(one.tag, "Timer") {
			j.element(one, &element{}, own)
		}
	})
	if len(j.Steps) > taken.MaxSteps || j.Spent() {
		return
	}
	where := j.where(e)
	step := scene.Step{Name: e.attr["testname"], Comment: where, Method: strings.ToUpper(j.plain(e.prop("HTTPSampler.method"))), Lines: append(slices.Clone(s.when), j.sets...)}
	if j.sets = nil; s.once {
		step.Lines = append(step.Lines, "@once")
	}
	if step.Method == "" {
		step.Method = "GET"
	}
	j.url(&step, e, own)
	for _, h := range own.headers {
		if j.Spent() {
			break
		}
		name := h.prop("Header.name")
		step.Header = slices.DeleteFunc(step.Header, func(f scene.Field) bool { return strings.EqualFold(f.Name, name) })
		if name != "" {
			j.Header(where, &step, name, j.text(where, h.prop("Header.value")))
		}
	}
	j.arguments(&step, e, own)
	j.think(&step, own.timers)
	j.ignored(e, samplerProps)
	if e.prop("HTTPSampler.image_parser") == "true" {
		j.Omit(where, "embedded resources are not fetched; write them as steps")
	}
	if e.prop("HTTPSampler.response_timeout") != "" || e.prop("HTTPSampler.connect_timeout") != "" {
		j.Omit("", "time limits of requests are not taken over; give takt http --timeout and --connect-timeout")
	}
	for _, p := range own.posts {
		j.post(&step, p)
	}
	j.follow(&step, e)
	j.Steps = append(j.Steps, step)
}

// follow lets a step follow redirects where one is likely: behind a form. In all steps, --rate would count rounds without
// need.
func (j *jmeter) follow(step *scene.Step, e *element) {
	switch {
	case e.prop("HTTPSampler.follow_redirects") != "true" && e.prop("HTTPSampler.auto_redirects") != "true":
	case step.Method == "POST" && len(step.Form) > 0:
		step.Lines = append(step.Lines, "@follow")
	default:
		j.Omit("", "redirects are followed behind forms only; write @follow in other steps whose answers may be redirects: --rate then counts rounds")
	}
}

// url is the URL of a request, with what the defaults say.
func (j *jmeter) url(step *scene.Step, e *element, s jmScope) {
	get := func(name string) string {
		if v := e.prop("HTTPSampler." + name); v != "" {
			return v
		}
		return s.defaults[name]
	}
	where := j.where(e)
	target := get("path")
	if strings.Contains(target, "://") {
		left := len(j.Left)
		step.URL = j.OnHost(where, j.text(where, target), left)
		return
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	host, port, scheme := get("domain"), j.plain(get("port")), j.plain(get("protocol"))
	if host == "" {
		step.URL = scene.URLRaw(j.text(where, target))
		return
	}
	if scheme == "" || strings.HasPrefix(scheme, "VALUE-OF-") || strings.Contains(scheme, "{{") {
		scheme = map[bool]string{true: "https", false: "http"}[port == "443"]
	}
	left := len(j.Left)
	u := scene.Text(strings.ToLower(scheme)+"://") + j.text(where, host)
	if port != "" && !strings.HasPrefix(port, "VALUE-OF-") {
		u += scene.Text(":" + port)
	} else if port != "" {
		j.Omit(where, "takt does not see the port %.40s; write it in the URL argument", get("port"))
	}
	if strings.Contains(string(u), "{{") {
		j.Omit(where, "the host %.60s changes from round to round, which no scenario has; give it as the URL argument", host)
		u = ""
	}
	step.URL = j.OnHost(where, u+j.text(where, target), left)
}

// arguments are the query, the form or the body.
func (j *jmeter) arguments(step *scene.Step, e *element, s jmScope) {
	where := j.where(e)
	list := append(slices.Clip(s.args), e.entries("HTTPsampler.Arguments", "Arguments.arguments")...)
	files := e.entries("HTTPsampler.Files", "HTTPFileArgs.files")
	raw := e.prop("HTTPSampler.postBodyRaw") == "true"
	withBody := step.Method == "POST" || step.Method == "PUT" || step.Method == "PATCH" || step.Method == "DELETE" && raw
	for _, f := range files {
		if f.prop("File.path") == "" {
			continue
		}
		path := j.file(where, f.prop("File.path"))
		if name := f.prop("File.paramname"); name != "" {
			j.Field(where, step, scene.Field{Name: name, File: path})
		} else {
			step.BodyFile = path
		}
	}
	if raw {
		var b strings.Builder
		for _, a := range list {
			if p := a.child("Argument.value"); p != nil {
				b.WriteString(p.text)
			}
		}
		text := strings.TrimSpace(b.String())
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			text = taken.CompactJSON(text)
		}
		if step.Body = j.text(where, text); step.Body != "" && !step.HasHeader("Content-Type") {
			j.Header(where, step, "Content-Type", "text/plain")
		}
		return
	}
	for _, a := range list {
		name, value := a.prop("Argument.name"), j.text(where, a.prop("Argument.value"))
		switch {
		case name == "" && value == "":
		case withBody && name == "" && len(list) == 1:
			step.Body = value
		case withBody:
			j.Field(where, step, scene.Field{Name: name, Value: value})
		case a.prop("HTTPArgument.always_encode") == "true" && !strings.Contains(string(value), "{{"):
			step.URL = step.URL.AddQuery(scene.Query(name), scene.Query(string(value)))
		default:
			step.URL = step.URL.AddQuery(scene.Query(name), scene.URLRaw(value.In("url")))
		}
	}
	if len(step.Form) > 0 && !taken.HasFile(step.Form) && e.prop("HTTPSampler.DO_MULTIPART_POST") == "true" {
		j.Omit(where, "a form without a file is sent as application/x-www-form-urlencoded, not as multipart/form-data")
	}
	if len(step.Form) > 0 {
		step.Header = slices.DeleteFunc(step.Header, func(f scene.Field) bool { return strings.EqualFold(f.Name, "content-type") })
	}
}

// think is the pause before a request: that of the last timer.
func (j *jmeter) think(step *scene.Step, timers []*element) {
	think := j.pending
	j.pending = ""
	for _, t := range timers {
		delay, random := j.plain(t.prop("ConstantTimer.delay")), j.plain(t.prop("RandomTimer.range"))
		if delay == "" {
			delay = "0"
		}
		one := ""
		from, err1 := strconv.ParseFloat(delay, 64)
		width, err2 := strconv.ParseFloat(random, 64)
		switch {
		case t.tag == "ConstantTimer" && err1 == nil:
			one = jmTime(delay)
		case t.tag == "UniformRandomTimer" && err1 == nil && err2 == nil:
			one = fmt.Sprintf("%gms..%gms", from, from+width)
		case t.tag == "GaussianRandomTimer" && err1 == nil && err2 == nil:
			one = fmt.Sprintf("%gms..%gms", max(0, from-2*width), from+2*width)
			j.Omit(j.where(t), "a time with a normal distribution is taken as one that is the same from %s", one)
		default:
			j.Omit(j.where(t), "this %.40s is not taken over; write @think TIME in the step", t.tag)
		}
		if think != "" && one != "" {
			j.Omit(j.where(t), "a second pause before the same request is not taken over")
		} else if one != "" {
			think = one
		}
	}
	if think != "" && len(j.Steps) == 0 {
		j.Omit(step.Comment, "the pause before the first request is left out: nobody waits before it")
	} else if think != "" {
		step.Lines = append(step.Lines, "@think "+think)
	}
}

// jmTime are milliseconds, or nothing.
func jmTime(ms string) string {
	if f, err := strconv.ParseFloat(ms, 64); err == nil && f > 0 && f <= 3.6e6 {
		return fmt.Sprintf("%gms", f)
	}
	return ""
}

// post is an extractor or an assertion.
func (j *jmeter) post(step *scene.Step, e *element) {
	add := func(line string) {
		step.Lines = append(step.Lines, strings.NewReplacer("\r", "", "\n", " ").Replace(line))
	}
	where := j.where(e)
	capture := func(name, number, source, fallback string) {
		pick := map[string]string{"0": "random ", "-1": "all "}[number]
		if n, err := strconv.Atoi(number); err == nil && n > 1 {
			j.Omit(where, "match number %d is not taken over: the first is captured", n)
		}
		j.vars[name] = scene.Value(scene.Name(name))
		j.lists[name] = pick == "all "
		add(scene.Capture(scene.Name(name), pick+source))
		if fallback != "" {
			j.Omit("", "extractors have defaults such as %.40q, and takt's captures have none: a step without its value fails", fallback)
		}
	}
	if of := e.prop("Sample.scope"); of != "" && of != "parent" && of != "all" {
		j.Omit(where, "%.40s looks at %.40s %.40s, not at the answer; it is not taken over", e.tag, of, e.prop("Scope.variable"))
		return
	}
	switch e.tag {
	case "JSONPostProcessor":
		names, paths := strings.Split(e.prop("JSONPostProcessor.referenceNames"), ";"), strings.Split(e.prop("JSONPostProcessor.jsonPathExprs"), ";")
		for i, path := range paths {
			if path = strings.TrimSpace(path); i >= len(names) || !strings.HasPrefix(path, "$") || strings.Contains(path, "..") || strings.Contains(path, "${") {
				j.Omit(where, "the path %.60q is not taken over", path)
				continue
			}
			capture(strings.TrimSpace(names[i]), e.prop("JSONPostProcessor.match_numbers"), "json "+path, e.prop("JSONPostProcessor.defaultValues"))
		}
	case "RegexExtractor", "BoundaryExtractor":
		kind := e.tag
		re, template := e.prop("RegexExtractor.regex"), e.prop("RegexExtractor.template")
		if kind == "BoundaryExtractor" {
			re, template = regexp.QuoteMeta(e.prop("BoundaryExtractor.lboundary"))+"(.*?)"+regexp.QuoteMeta(e.prop("BoundaryExtractor.rboundary")), ""
		}
		_, err := regexp.Compile(re)
		if field := e.prop(kind + ".useHeaders"); err != nil || re == "" || template != "" && template != "$1$" || strings.Contains(re, "${") || field != "" && field != "false" && field != "body" {
			j.Omit(where, "the expression %.60q is not taken over", re)
			return
		}
		capture(e.prop(kind+".refname"), e.prop(kind+".match_number"), "regexp "+re, e.prop(kind+".default"))
	case "HtmlExtractor":
		source := "css " + e.prop("HtmlExtractor.expr")
		if of := e.prop("HtmlExtractor.attribute"); of != "" {
			source += " attr " + of
		}
		if _, err := session.ParseSource(scene.Source(source)); err != nil || strings.ContainsAny(source, "$\r\n") {
			j.Omit(where, "the selector %.60q is not taken over", e.prop("HtmlExtractor.expr"))
			return
		}
		capture(e.prop("HtmlExtractor.refname"), e.prop("HtmlExtractor.match_number"), source, e.prop("HtmlExtractor.default"))
	case "JSONPathAssertion":
		path, want := e.prop("JSON_PATH"), e.prop("EXPECTED_VALUE")
		switch {
		case !strings.HasPrefix(path, "$") || strings.Contains(path, "..") || e.prop("EXPECT_NULL") == "true" || e.prop("INVERT") == "true":
			j.Omit(where, "the assertion of %.60q is not taken over", path)
		case e.prop("JSONVALIDATION") != "true":
			add(scene.Check("json "+path, "", ""))
		case e.prop("ISREGEX") == "true":
			add("@check " + scene.Source("json "+path) + " matches " + want)
		default:
			add(scene.Check("json "+path, "==", j.text(where, want)))
		}
	case "DurationAssertion":
		if ms := jmTime(j.plain(e.prop("DurationAssertion.duration"))); ms != "" {
			add("@check service < " + ms)
		} else {
			j.Omit(where, "takt does not see the time of the assertion; write @check service < TIME")
		}
	case "ResponseAssertion":
		j.response(e, add)
	default:
		j.Omit(where, "%.40s is not taken over", e.tag)
	}
}

// response is a response assertion.
func (j *jmeter) response(e *element, add func(string)) {
	where := j.where(e)
	kind, _ := strconv.Atoi(e.prop("Assertion.test_type"))
	field := strings.TrimPrefix(e.prop("Assertion.test_field"), "Assertion.")
	strs := e.entries("Asserion.test_strings")
	if strs == nil {
		strs = e.entries("Assertion.test_strings")
	}
	var statuses []string
	for _, s := range strs {
		text := strings.TrimSpace(s.text)
		_, err := regexp.Compile(text)
		switch isRegexp := kind&3 != 0; {
		case kind&4 != 0 || kind&32 != 0 && len(strs) > 1 && field != "response_code" || text == "":
			j.Omit(where, "the assertion of %.60q is not taken over (not, or one of several)", text)
		case field == "response_code" && regexp.MustCompile(`^[1-5](\d\d|xx)$`).MatchString(text):
			statuses = append(statuses, text)
		case field == "response_code" && regexp.MustCompile(`^\^?[1-5](\.\.|\\d\\d|\\d\{2\}|\.\*|\[0-9\]\[0-9\])\$?$`).MatchString(text):
			statuses = append(statuses, strings.TrimPrefix(text, "^")[:1]+"xx")
		case field != "response_data" || isRegexp && (err != nil || strings.Contains(text, "${")):
			j.Omit(where, "the assertion of %.60q in %s is not taken over", text, field)
		case kind&1 != 0:
			add("@check body matches ^(?:" + text + ")$")
		case isRegexp:
			add("@check body matches " + text)
		case kind&8 != 0:
			add(scene.Check("body", "==", j.text(where, text)))
		default:
			add(scene.Check("body", "contains", j.text(where, text)))
		}
	}
	if statuses != nil {
		add("@check status " + strings.Join(statuses, ","))
	}
}

var jmVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^${}]*)\}`) })

// text fills in the variables of a text.
func (j *jmeter) text(where, s string) scene.Text { return j.filled(where, s, 0) }

func (j *jmeter) filled(where, s string, depth int) scene.Text {
	var t scene.Text
	for s != "" {
		m := jmVariable().FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		t += scene.Literal(s[:m[0]]) + j.variable(where, s[m[2]:m[3]], depth)
		if s = s[m[1]:]; len(t) > taken.MaxText {
			return j.StandIn(where, "a long text")
		}
	}
	return t + scene.Literal(s)
}

// plain is a text whose variables have to be known; else it has braces.
func (j *jmeter) plain(s string) string {
	left := len(j.Left)
	t := string(j.text("", strings.TrimSpace(s)))
	j.Unsaid(left)
	return t
}

// variable is the value of a variable or a function.
func (j *jmeter) variable(where, name string, depth int) scene.Text {
	call, args, isCall := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	list := strings.Split(args, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	arg := func(i int) string { return append(list, "", "")[i] }
	if t, ok := j.vars[name]; ok {
		return t
	}
	if v, ok := j.raw[name]; ok && depth < 10 && !j.Spent() {
		return j.filled(where, v, depth+1)
	}
	switch call {
	case "__P", "__property", "__env":
		if i := map[string]int{"__P": 1, "__property": 2, "__env": 2}[call]; isCall && len(list) > i {
			return scene.Literal(list[i])
		} else if isCall && session.IsName(arg(0)) {
			return taken.Environment(arg(0))
		}
	case "__UUID":
		return "{{uuid}}"
	case "__threadNum", "__counter", "__iterationNum":
		return "{{.Seq}}"
	case "__time":
		switch arg(0) {
		case "":
			return "{{unixMilli}}"
		case "/1000":
			return `{{date "%s"}}`
		}
	case "__Random":
		a, err1 := strconv.Atoi(arg(0))
		b, err2 := strconv.Atoi(arg(1))
		if err1 == nil && err2 == nil && a <= b {
			return scene.Text(fmt.Sprintf("{{randInt %d %d}}", a, b))
		}
	case "__RandomString":
		if n, err := strconv.Atoi(arg(0)); err == nil && n > 0 && n <= 65536 {
			return scene.Text(fmt.Sprintf("{{randString %d}}", n))
		}
	case "__urlencode":
		return j.text(where, args).In("url")
	}
	return j.StandIn(where, name)
}
