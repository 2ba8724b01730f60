package from

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/scene/from/taken"
)

var curlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(\$ )?(\S*/)?curl(\.exe)?\s`) })

func looksCurl(text []byte) bool {
	return curlLine().Match(text) && !bytes.Contains(text, []byte("k6/http"))
}

// readCurl reads command lines.
func readCurl(text []byte) (*taken.Taken, error) {
	t := new(taken.Taken)
	commands, err := shellWords(string(text), func(line int, what string) { t.Omit(taken.AtLine(line), "%s", what) })
	if err != nil {
		return nil, err
	}
	for _, words := range commands {
		if len(t.Steps) > taken.MaxSteps {
			break
		}
		for len(words) > 1 && (words[0].text == "$" || words[0].text == "time" || words[0].text == "sudo") {
			words = words[1:]
		}
		if name := strings.TrimSuffix(path.Base(words[0].text), ".exe"); name != "curl" {
			t.Omit(taken.AtLine(words[0].line), "%.40q is not curl, and is not run", words[0].text)
			continue
		}
		line, words := words[0].line, words[1:]
		for more := true; more; {
			next := slices.IndexFunc(words, func(w word) bool { return w.text == "--next" || w.text == "-:" })
			if more = next >= 0; !more {
				next = len(words)
			}
			curl(t, line, words[:next])
			words = words[min(next+1, len(words)):]
		}
	}
	return t, nil
}

// curlFlags are the flags of curl by their short name or their long one. The first word says what the flag is for: + has
// an effect on the request and a value, ! has one and no value, = has a value and no effect on what is sent, . neither,
// and a text says what takt has instead, with = at its beginning if the flag has a value.
var curlFlags = map[string]string{
	"-X --request": "+", "-H --header": "+", "-d --data --data-ascii": "+", "--data-raw": "+", "--data-binary": "+", "--data-urlencode": "+", "--json": "+",
	"-F --form": "+", "--form-string": "+", "-u --user": "+", "-A --user-agent": "+", "-e --referer": "+", "-b --cookie": "+", "-T --upload-file": "+", "--url": "+",
	"--oauth2-bearer": "+", "-r --range": "+", "--url-query": "+", "-G --get": "!", "-I --head": "!", "--compressed": "!",

	"-o --output": "=", "-w --write-out": "=", "-c --cookie-jar": "=", "-D --dump-header": "=", "--stderr": "=", "--trace": "=", "--trace-ascii": "=", "--output-dir": "=",
	"-s --silent": ".", "-S --show-error": ".", "-v --verbose": ".", "-i --include --show-headers": ".", "-f --fail": ".", "--fail-with-body": ".", "-O --remote-name": ".", "-# --progress-bar": ".",
	"-J --remote-header-name": ".", "-N --no-buffer": ".", "-g --globoff": ".", "--http1.1": ".", "-4 --ipv4": ".", "-6 --ipv6": ".", "--path-as-is": ".", "--create-dirs": ".", "-j --junk-session-cookies": ".",
	"--no-keepalive": "give takt http --disable-keepalive", "--basic": ".", "--no-progress-meter": ".", "-q --disable": ".", "--tcp-nodelay": ".", "-Z --parallel": ".", "--styled-output": ".",

	"-L --location":      "write @follow in the step: --rate then counts rounds",
	"--location-trusted": "write @follow in the step: --rate then counts rounds", "--max-redirs": "=write @follow N in the step",
	"-k --insecure": "give takt http --insecure", "-x --proxy": "=give takt http --proxy", "-m --max-time": "=give takt http --timeout", "--connect-timeout": "=give takt http --connect-timeout", "--cacert": "=give takt http --cacert",
	"-E --cert": "=give takt http --cert", "--key": "=give takt http --key", "--connect-to": "=give takt http --connect-to", "--resolve": "=give takt http --connect-to HOST1:PORT1:HOST2:PORT2", "--unix-socket": "=give takt http --unix-socket",
	"--retry": "=write @retry N in the step", "--retry-delay": "=write @retry N in the step", "--retry-max-time": "=write @retry N in the step", "--retry-connrefused": "write @retry N in the step", "--retry-all-errors": "write @retry N in the step",
	"--http2": "give takt http --h2", "--http2-prior-knowledge": "give takt http --h2", "--http3": "a scenario is HTTP/1.1, or HTTP/2 with takt http --h2", "-0 --http1.0": "a scenario is HTTP/1.1", "--ciphers": "=give takt http --tls-ciphers",
	"--tlsv1.2": "give takt http --tls-min 1.2", "--tlsv1.3": "give takt http --tls-min 1.3", "--tls-max": "=give takt http --tls-max", "--limit-rate": "=takt has no limit of a transfer's rate", "-K --config": "=takt does not read curl's config",
	"--digest": "takt has basic and bearer authentication", "--ntlm": "takt has basic and bearer authentication", "--negotiate": "takt has basic and bearer authentication", "-n --netrc": "takt does not read netrc; give the user as -u USER:PASSWORD", "--aws-sigv4": "=takt http signs no requests",
	"--haproxy-protocol": "takt does not send the PROXY protocol", "--interface": "=takt chooses the interface", "--dns-servers": "=takt asks the system", "--proxy-user": "=write it in the URL of takt http --proxy", "-U": "=write it in the URL of takt http --proxy",
	"-C --continue-at": "=write a Range header", "-z --time-cond": "=write an If-Modified-Since header", "-y --speed-time": "=", "-Y --speed-limit": "=", "--max-filesize": "=write @check size < N", "--request-target": "=write the target in the request line",
}

// curlFlag finds a flag by one of its names.
func curlFlag(name string) (names, what string, ok bool) {
	for names, what := range curlFlags {
		if slices.Contains(strings.Fields(names), name) {
			return names, what, true
		}
	}
	return "", "", false
}

// curlRequest is one command.
type curlRequest struct {
	*taken.Taken
	where  string
	step   scene.Step
	urls   []string
	data   []string
	query  []string
	file   string // body
	json   bool
	get    bool
	accept bool // compressed answers
}

// curl reads the words behind curl.
func curl(t *taken.Taken, line int, words []word) {
	c := curlRequest{Taken: t, where: taken.AtLine(line)}
	for len(words) > 0 {
		w := words[0]
		words = words[1:]
		switch {
		case strings.ContainsAny(w.text[:min(1, len(w.text))], "<>") || w.text == "2>" || strings.HasPrefix(w.text, "2>"):
			if strings.HasSuffix(w.text, ">") && len(words) > 0 {
				words = words[1:]
			}
		case !strings.HasPrefix(w.text, "-") || w.text == "-":
			c.urls = append(c.urls, w.text)
		case strings.HasPrefix(w.text, "--"):
			words = c.flag(w, w.text, nil, words)
		default:
			words = c.short(w, words)
		}
	}
	c.end()
}

// short reads flags of a letter, such as -sSXPOST.
func (c *curlRequest) short(w word, words []word) []word {
	for i := 1; i < len(w.text); i++ {
		name, rest := "-"+w.text[i:i+1], w.text[i+1:]
		_, what, ok := curlFlag(name)
		if ok && !strings.HasPrefix(what, "+") && !strings.HasPrefix(what, "=") {
			c.flag(w, name, nil, nil)
			continue
		}
		if rest == "" {
			return c.flag(w, name, nil, words)
		}
		c.flag(w, name, &rest, nil)
		break
	}
	return words
}

// flag reads a flag, with its value if that is in the same word, and returns the words behind it.
func (c *curlRequest) flag(w word, name string, value *string, words []word) []word {
	names, what, ok := curlFlag(name)
	takes := strings.HasPrefix(what, "+") || strings.HasPrefix(what, "=")
	v := ""
	switch {
	case !takes:
	case value != nil:
		v = *value
	case len(words) > 0:
		v, words = words[0].text, words[1:]
	}
	where := taken.AtLine(w.line)
	switch {
	case !ok:
		c.Omit(where, "curl's flag %.40s is not taken over", name)
	case what == "+" || what == "!":
		fields := strings.Fields(names)
		c.effect(where, fields[len(fields)-1], v)
	case strings.TrimPrefix(what, "=") != "" && what != ".":
		c.Omit(where, "curl's flag %s: %s", name, strings.TrimPrefix(what, "="))
	}
	return words
}

// effect is that of a flag on the request.
func (c *curlRequest) effect(where, name, v string) {
	s := &c.step
	switch name {
	case "--request":
		s.Method = strings.ToUpper(v)
	case "--header":
		c.headerLine(where, v)
	case "--user-agent":
		c.Header(where, s, "User-Agent", scene.Literal(v))
	case "--referer":
		c.Header(where, s, "Referer", scene.Literal(strings.TrimSuffix(v, ";auto")))
	case "--range":
		c.Header(where, s, "Range", scene.Literal("bytes="+v))
	case "--oauth2-bearer":
		c.Header(where, s, "Authorization", scene.Literal("Bearer "+v))
	case "--user":
		c.Header(where, s, "Authorization", scene.Literal("Basic "+base64.StdEncoding.EncodeToString([]byte(v))))
	case "--cookie":
		if !strings.Contains(v, "=") {
			c.Omit(where, "the file of cookies %.60q is not read; users keep the cookies that answers set", v)
			return
		}
		c.Header(where, s, "Cookie", scene.Literal(v))
	case "--compressed":
		c.accept = true
	case "--url":
		c.urls = append(c.urls, v)
	case "--url-query":
		c.query = append(c.query, urlencoded(strings.TrimPrefix(v, "+")))
	case "--get":
		c.get = true
	case "--head":
		s.Method = "HEAD"
	case "--upload-file":
		if c.file = v; s.Method == "" {
			s.Method = "PUT"
		}
	case "--form", "--form-string":
		c.formField(where, v, name == "--form-string")
	default:
		c.dataPart(where, name, v)
	}
}

func (c *curlRequest) headerLine(where, v string) {
	name, value, ok := strings.Cut(v, ":")
	empty, semicolon := strings.CutSuffix(v, ";")
	switch {
	case strings.HasPrefix(v, "@"):
		c.Omit(where, "the headers in the file %.60q are not read; write them in the step", v[1:])
	case !ok && semicolon:
		c.Header(where, &c.step, empty, "")
	case !ok:
		c.Omit(where, "%.40q is not a header", v)
	case strings.TrimSpace(value) == "":
		c.Omit(where, "curl leaves out the header %.40s; takt sends it only if a step or -H has it", name)
	default:
		c.Header(where, &c.step, name, scene.Literal(strings.TrimSpace(value)))
	}
}

// dataPart is one of the flags that have data.
func (c *curlRequest) dataPart(where, name, v string) {
	file, isFile := strings.CutPrefix(v, "@")
	switch {
	case name == "--data-urlencode" && (isFile || strings.Contains(v, "@") && !strings.Contains(v, "=")):
		c.Omit(where, "--data-urlencode with a file is not taken over; write @form NAME {{file \"FILE\"}} or the text")
	case name == "--data-urlencode":
		c.data = append(c.data, urlencoded(v))
	case isFile && name != "--data-raw":
		if c.file = file; c.data != nil {
			c.Omit(where, "a body of a text and a file is not taken over; the step has the file %.60q only", file)
		}
		if name == "--data-ascii" {
			c.Omit(where, "curl leaves out the line breaks of %.60q, and takt sends the file as it is", file)
		}
	default:
		c.data = append(c.data, v)
	}
	c.json = c.json || name == "--json"
}

// urlencoded is CONTENT, =CONTENT or NAME=CONTENT as --data-urlencode sends it.
func urlencoded(v string) string {
	name, content, ok := strings.Cut(v, "=")
	if !ok {
		return url.QueryEscape(v)
	}
	if name != "" {
		name += "="
	}
	return name + url.QueryEscape(content)
}

func (c *curlRequest) formField(where, v string, isText bool) {
	name, value, _ := strings.Cut(v, "=")
	if isText {
		c.Field(where, &c.step, scene.Field{Name: name, Value: scene.Literal(value)})
		return
	}
	value, options, _ := strings.Cut(value, ";")
	if options != "" {
		c.Omit(where, "%.60q of the field %.40s: takt chooses the type and name of a part by its file", options, name)
	}
	file, isFile := strings.CutPrefix(value, "@")
	switch value = strings.Trim(value, `"`); {
	case strings.HasPrefix(value, "<"):
		c.Omit(where, "the field %.40s is the text of a file, which takt does not send as a field; write its text", name)
	case isFile:
		c.Field(where, &c.step, scene.Field{Name: name, File: strings.Trim(file, `"`)})
	default:
		c.Field(where, &c.step, scene.Field{Name: name, Value: scene.Literal(value)})
	}
}

// end adds a step for each URL.
func (c *curlRequest) end() {
	s := &c.step
	if len(c.urls) == 0 {
		c.Omit(c.where, "curl without a URL")
		return
	}
	if c.accept && !s.HasHeader("Accept-Encoding") {
		c.Header(c.where, s, "Accept-Encoding", "gzip, br")
	}
	body := strings.Join(c.data, map[bool]string{true: "", false: "&"}[c.json])
	switch {
	case c.get:
		c.query = append(c.query, c.data...)
	case c.data != nil || c.file != "":
		c.body(body)
	}
	if len(s.Form) > 0 && !taken.HasFile(s.Form) {
		c.Omit(c.where, "curl sends the form as multipart/form-data, and takt as application/x-www-form-urlencoded, since it has no file")
	}
	if s.Method == "" {
		s.Method = "GET"
		if len(s.Form) > 0 || (c.data != nil || c.file != "") && !c.get {
			s.Method = "POST"
		}
	}
	query := scene.URLText(strings.Join(c.query, "&"))
	for _, u := range c.urls {
		if len(c.Steps) > taken.MaxSteps {
			return
		}
		one := *s
		if !strings.Contains(u, "://") {
			u = "http://" + u
		}
		if strings.ContainsAny(u, "[]") && !strings.Contains(u, "://[") || strings.Contains(u, "{") {
			c.Omit(c.where, "curl makes several URLs of brackets and braces in %.60q, and takt sends one; write a step for each", u)
		}
		left := len(c.Left)
		if one.URL = scene.Literal(u); query != "" {
			sep := scene.Text("?")
			if strings.Contains(u, "?") {
				sep = "&"
			}
			one.URL += sep + query
		}
		one.URL = c.OnHost(c.where, one.URL, left)
		one.Comment = c.where
		c.Steps = append(c.Steps, one)
	}
}

// body is the data of the command.
func (c *curlRequest) body(text string) {
	s := &c.step
	s.Body, s.BodyFile = scene.Literal(text), c.file
	if c.file != "" {
		s.Body = ""
	}
	kind := "application/x-www-form-urlencoded"
	if c.json {
		if kind = "application/json"; !s.HasHeader("Accept") {
			c.Header(c.where, s, "Accept", "application/json")
		}
	}
	if !s.HasHeader("Content-Type") && !(c.data == nil && s.Method == "PUT") {
		c.Header(c.where, s, "Content-Type", scene.Text(kind))
	}
}
