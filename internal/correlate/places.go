package correlate

import (
	"encoding/json"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/scene"
)

// where says how a place encodes its value.
type where int

const (
	inPath where = iota
	inQuery
	inHeader
	inForm // takt encodes it
	inString
	inNumber
	inText
)

// place is a part of a request that has a value of its own.
type place struct {
	in    where
	name  string // of the header, field or key; of a path, what stands before it
	value string // decoded
	raw   string // as sent
}

// chunk is text that stays, or a place.
type chunk struct {
	text string
	at   *place
}

// named are the chunks of a header line or of a field.
type named struct {
	name   string
	chunks []chunk
}

// request is a request taken apart.
type request struct {
	url    []chunk
	header []named
	form   []named
	body   []chunk
}

// places calls do for each place. Those of the Referer repeat what earlier requests sent.
func (q *request) places(do func(p *place, repeats bool)) {
	each := func(list []chunk, repeats bool) {
		for _, c := range list {
			if c.at != nil {
				do(c.at, repeats)
			}
		}
	}
	each(q.url, false)
	for _, h := range q.header {
		each(h.chunks, h.name == "Referer")
	}
	for _, f := range q.form {
		each(f.chunks, false)
	}
	each(q.body, false)
}

// takeApart takes a request apart.
func takeApart(e *Exchange) *request {
	q := &request{url: urlChunks(e.URL)}
	formed := q.takeBody(e)
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		if !keeps(name, e) || formed && name == "Content-Type" {
			continue
		}
		for _, v := range e.Header[name] {
			q.header = append(q.header, named{name, headerChunks(name, v)})
		}
	}
	return q
}

// dropped are the headers that belong to a connection, to the browser and its cache, or that takt sets itself.
const dropped = " accept-charset accept-encoding accept-language alt-used cache-control connection content-length cookie dnt expect host http2-settings if-modified-since if-none-match if-range keep-alive pragma priority proxy-authorization proxy-connection save-data te trailer transfer-encoding upgrade upgrade-insecure-requests user-agent x-client-data "

// keeps reports whether a header matters for the answer.
func keeps(name string, e *Exchange) bool {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "sec-") || strings.HasPrefix(lower, ":") || strings.Contains(dropped, " "+lower+" "):
		return false
	case lower == "origin" || lower == "referer": // a server that checks them does so before it changes something
		return !isSafe(e.Method)
	case lower == "content-type":
		return len(e.Body) > 0
	case lower == "accept":
		return e.Header.Get(name) != "*/*"
	}
	return true
}

// isSafe reports whether a method only reads: RFC 9110, 9.2.1.
func isSafe(method string) bool {
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, method)
}

// urlChunks are scheme and host, which stay, and the places of path and query.
func urlChunks(u *url.URL) []chunk {
	list := []chunk{{text: u.Scheme + "://" + u.Host}}
	before := ""
	for i, raw := range strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/") {
		list = append(list, chunk{text: "/"})
		v, err := url.PathUnescape(raw)
		if err != nil || raw == "" {
			list = append(list, chunk{text: raw})
			continue
		}
		p := &place{in: inPath, name: before, value: v, raw: raw}
		if before = v; i == 0 && before == "" {
			before = "path"
		}
		list = append(list, chunk{at: p})
	}
	if u.RawQuery == "" {
		return list
	}
	return append(append(list, chunk{text: "?"}), pairChunks(u.RawQuery, inQuery)...)
}

// pairChunks are the places of a query, or of a form as it is sent.
func pairChunks(query string, in where) (list []chunk) {
	for i, pair := range strings.Split(query, "&") {
		if i > 0 {
			list = append(list, chunk{text: "&"})
		}
		name, raw, found := strings.Cut(pair, "=")
		v, err := url.QueryUnescape(raw)
		plain, err2 := url.QueryUnescape(name)
		if !found || err != nil || err2 != nil || raw == "" {
			list = append(list, chunk{text: pair})
			continue
		}
		list = append(list, chunk{text: name + "="}, chunk{at: &place{in: in, name: plain, value: v, raw: raw}})
	}
	return list
}

// pageAccept is what a browser accepts for a page, without its kinds of images.
const pageAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// plainHeaders have no value of a user.
var plainHeaders = []string{"Accept", "Content-Type", "Origin"}

func headerChunks(name, v string) []chunk {
	if name == "Accept" && strings.HasPrefix(v, "text/html,") && strings.Contains(v, "image/") {
		v = pageAccept
	}
	if slices.Contains(plainHeaders, name) {
		return []chunk{{text: v}}
	}
	if name == "Referer" {
		if u, err := url.Parse(v); err == nil && u.Host != "" {
			return urlChunks(u)
		}
	}
	return []chunk{{at: &place{in: inHeader, name: name, value: v, raw: v}}}
}

// takeBody takes the body apart; true: it is a form that takt encodes.
func (q *request) takeBody(e *Exchange) bool {
	body := string(e.Body)
	kind, parameters, _ := mime.ParseMediaType(e.Header.Get("Content-Type"))
	switch {
	case body == "":
	case kind == "application/x-www-form-urlencoded":
		if q.form = formFields(body); q.form != nil {
			return true
		}
		q.body = pairChunks(body, inQuery)
	case kind == "multipart/form-data" && parameters["boundary"] != "":
		q.body = partChunks(body, parameters["boundary"])
	case strings.HasSuffix(kind, "json") || strings.ContainsAny(body[:1], "{["):
		if q.body = jsonChunks(e.Body); q.body != nil {
			return false
		}
		fallthrough
	default:
		q.body = []chunk{{at: &place{in: inText, name: "body", value: body, raw: body}}}
	}
	return false
}

// formFields are the fields of a form; nil: a line of the file cannot have one of them.
func formFields(body string) (list []named) {
	for pair := range strings.SplitSeq(body, "&") {
		rawName, raw, found := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		v, err2 := url.QueryUnescape(raw)
		if err != nil || err2 != nil || !found || new(scene.Step).AddField(scene.Field{Name: name}) != nil {
			return nil
		}
		list = append(list, named{name, []chunk{{at: &place{in: inForm, name: name, value: v, raw: v}}}})
	}
	return list
}

// partChunks are the places of a form of parts (RFC 7578). The content of files stays.
func partChunks(body, boundary string) (list []chunk) {
	for i, part := range strings.Split(body, "--"+boundary) {
		if i > 0 {
			list = append(list, chunk{text: "--" + boundary})
		}
		head, content, found := strings.Cut(part, "\r\n\r\n")
		if !found || strings.Contains(head, "filename") || !strings.HasSuffix(content, "\r\n") {
			list = append(list, chunk{text: part})
			continue
		}
		_, after, _ := strings.Cut(head, `name="`)
		name, _, _ := strings.Cut(after, `"`)
		v := strings.TrimSuffix(content, "\r\n")
		list = append(list, chunk{text: head + "\r\n\r\n"}, chunk{at: &place{in: inText, name: name, value: v, raw: v}}, chunk{text: "\r\n"})
	}
	return list
}

// jsonChunks are the places of a JSON body, without blanks between them; nil: it is not JSON.
func jsonChunks(body []byte) (list []chunk) {
	if !json.Valid(body) {
		return nil
	}
	at := 0
	add := func(l leaf) {
		between := body[at:l.from]
		list = append(list, chunk{text: compact(between)})
		if raw := string(body[l.from:l.to]); l.quoted {
			list = append(list, chunk{text: `"`}, chunk{at: &place{in: inString, name: l.key, value: l.value, raw: raw[1 : len(raw)-1]}}, chunk{text: `"`})
		} else {
			list = append(list, chunk{at: &place{in: inNumber, name: l.key, value: raw, raw: raw}})
		}
		at = l.to
	}
	leaves(body, add)
	return append(list, chunk{text: compact(body[at:])})
}

// compact is JSON between two values without the blanks outside of keys.
func compact(b []byte) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			out.WriteByte(c)
			i++
			out.WriteByte(b[i])
		case c == '"':
			quoted = !quoted
			out.WriteByte(c)
		case quoted || !strings.ContainsRune(" \t\r\n", rune(c)):
			out.WriteByte(c)
		}
	}
	return out.String()
}
