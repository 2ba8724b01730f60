package http

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// parseURL takes the argument. A URL with placeholders, which may be after its
// host, is kept as it is; in any other one net/url escapes what has to be.
func (o *Options) parseURL(args []string) error {
	o.url, o.target, o.odd = nil, "", 0
	switch {
	case len(args) == 0 && (o.Targets != "" || o.Scenario != ""):
		return nil
	case len(args) == 0:
		return errNoURL
	case len(args) == 2 && args[0] == args[1]:
		return value.Faultf("the url %s is given twice; give it once", value.HidePassword(args[0]))
	case len(args) > 1:
		return value.Faultf("%d arguments where one url is expected: %q; flags with a value are written --name value", len(args), args)
	}
	base, target := args[0], ""
	if strings.Contains(base, httpreq.Placeholder) {
		if base, target = httpreq.SplitTarget(cmp.Or(httpreq.Whole(nil, base), base)); target == "" {
			return fmt.Errorf("url %q has a placeholder in its host; write placeholders only after the host, as in http://127.0.0.1:8080/{{.Seq}}", httpreq.HideUser(args[0]))
		}
	}
	u, err := httpreq.ParseURL(base)
	if err != nil {
		return err
	}
	o.url, o.target = u, cmp.Or(target, u.RequestURI())
	return nil
}

// build makes the requests of all operations and checks them.
func (o *Options) build() (faults value.Faults) {
	switch {
	case o.Recording != nil:
		return o.buildRecorded()
	case o.Scenario != "":
		return o.buildScenario()
	case o.Targets != "":
		return o.buildTargets()
	}
	m := o.newMessage(strings.ToUpper(o.Method), o.url, o.target, nil, o.body)
	t, bad := o.newTemplated(m)
	if len(bad) > 0 {
		return bad
	}
	first, err := t.Message(&takt.Op{})
	if err != nil {
		return []error{err}
	}
	f, err := httpreq.NewFixed(first)
	o.requests = f
	if !t.isFixed() {
		o.requests = t
	}
	faults.Add(err)
	return faults
}

// templated fills in placeholders for each operation.
type templated struct {
	text   *httpreq.Message // before anything is filled in
	target *payload.Template
	header []*payload.Template // the values of text.Header
	body   *payload.Template   // nil: text.Body as it is
	closes bool                // each request is the last on its connection
	seed   uint64              // of random values
	limit  uint64              // number of operations for which files have lines; 0: no limit
}

// newTemplated parses what may have placeholders.
func (o *Options) newTemplated(m *httpreq.Message) (t *templated, faults []error) {
	env := o.Templates()
	defer func() { t.limit = env.Limit() }()
	parse := func(where, text string, check func(line []byte) error, flags ...string) *payload.Template {
		p, err := env.Parse(where, text)
		if err == nil {
			err = p.Check(check)
		}
		if err != nil {
			faults = append(faults, value.About(err, flags...))
		}
		return p
	}
	t = &templated{text: m, closes: m.Close || m.SaysClose(), seed: o.seed, target: parse("url", m.Target, checkTarget)}
	o.noteOdd(t.target)
	for i, f := range m.Header {
		if strings.EqualFold(f.Name, "authorization") && !o.Header.Has(f.Name) { // of credentials, which are no template
			t.header = append(t.header, payload.Literal(f.Value))
			continue
		}
		flag := "header"
		if !o.Header.Has(f.Name) {
			flag = strings.ToLower(f.Name) // --accept, --user-agent, --content-type
		}
		p := parse(headerName(m.Header, i), f.Value, func(line []byte) error {
			return http1.CheckField(http1.Field{Name: f.Name, Value: string(line)})
		}, flag)
		if p == nil && httpreq.IsSecret(f.Name) { // the fault quotes it
			faults[len(faults)-1] = value.About(fmt.Errorf("header %s: cannot fill in its placeholders; the value is not shown, try them in a header of another name", f.Name), flag)
		}
		t.header = append(t.header, p)
	}
	if o.BodyFile == "" || o.BodyTemplate {
		t.body = parse("body", o.templateBody(), func([]byte) error { return nil }, "body", "body-file")
	}
	return t, faults
}

// noteOdd notes a file whose lines in a URL may mean something else than they say. Lines that are a path or
// have names of parameters are meant so.
func (o *Options) noteOdd(target *payload.Template) {
	if target == nil || o.odd > 0 {
		return
	}
	o.odd, o.oddIn = target.Count(func(line []byte) bool {
		return bytes.ContainsAny(line, "&+?") && line[0] != '/' && !bytes.Contains(line, []byte("="))
	})
}

// headerName names the template of header i. Random values depend on the name, so
// the second header of one name has another.
func headerName(header []http1.Field, i int) string {
	before := 0
	for _, f := range header[:i] {
		if f.Name == header[i].Name {
			before++
		}
	}
	if before == 0 {
		return "header " + header[i].Name
	}
	return fmt.Sprintf("header %s (%d)", header[i].Name, before+1)
}

func checkTarget(line []byte) error { return http1.CheckTarget("/" + string(line)) }

func (t *templated) isFixed() bool {
	for _, p := range t.header {
		if !p.Fixed() {
			return false
		}
	}
	return t.target.Fixed() && (t.body == nil || t.body.Fixed())
}

// Append implements http1.Requests. It allocates nothing.
func (t *templated) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	q := t.text
	dst = append(append(dst, q.Method...), ' ')
	dst = t.target.Append(dst, op.Seq)
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), q.Host...), "\r\n"...)
	for i, p := range t.header {
		dst = append(append(dst, q.Header[i].Name...), ": "...)
		dst = append(p.Append(dst, op.Seq), "\r\n"...)
	}
	if q.Close {
		dst = append(dst, "Connection: close\r\n"...)
	}
	begin := len(dst)
	dst = t.appendBody(dst, op.Seq)
	if n := len(dst) - begin; n > 0 || http1.ExpectsBody(q.Method) {
		dst = insertLength(dst, begin)
	} else {
		dst = append(dst, "\r\n"...)
	}
	return dst, q.Method == "HEAD", t.closes
}

func (t *templated) appendBody(dst []byte, seq uint64) []byte {
	if t.body == nil {
		return append(dst, t.text.Body...)
	}
	return t.body.Append(dst, seq)
}

// insertLength puts the end of the head before the body that begins at begin: its
// length is known only when it is there, and moving it is cheaper than a buffer
// for each connection.
func insertLength(dst []byte, begin int) []byte {
	var line [48]byte
	end := append(line[:0], "Content-Length: "...)
	end = strconv.AppendInt(end, int64(len(dst)-begin), 10)
	end = append(end, "\r\n\r\n"...)
	size := len(dst) - begin
	dst = append(dst, end...)
	copy(dst[begin+len(end):], dst[begin:begin+size])
	copy(dst[begin:], end)
	return dst
}

// Message implements requests.
func (t *templated) Message(op *takt.Op) (*httpreq.Message, error) {
	m := *t.text
	m.Target = string(t.target.Append(nil, op.Seq))
	m.Header = slices.Clone(m.Header)
	for i, p := range t.header {
		m.Header[i].Value = string(p.Append(nil, op.Seq))
	}
	if t.body != nil {
		m.Body = t.body.Append(nil, op.Seq)
	}
	at, err := url.ParseRequestURI(m.Target)
	if err != nil {
		return nil, fmt.Errorf("the url's placeholders do not result in a path: %w; percent-encode it", err)
	}
	m.URL = httpreq.Complete(t.text.URL, at)
	return &m, nil
}

func (t *templated) Describe(v map[string]any) {
	(&httpreq.Fixed{Sends: t.text}).Describe(v)
	if t.body != nil && !t.body.Fixed() {
		delete(v, "body_bytes")
		v["body"] = string(t.text.Body)
	}
	if t.any((*payload.Template).Random) {
		v["seed"] = t.seed
	}
	if t.any((*payload.Template).Traces) {
		v[payload.VariableTraces] = true
	}
}

// any reports whether a template has a property.
func (t *templated) any(has func(*payload.Template) bool) bool {
	return slices.ContainsFunc(append(slices.Clone(t.header), t.target, t.body), func(p *payload.Template) bool { return p != nil && has(p) })
}
