package correlate

import (
	"fmt"
	"html"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/session"
)

// given is a place in an answer that has a value.
type given struct {
	from    int    // number of the exchange
	source  string // as behind @capture NAME; "": sourceAt finds it
	at      int    // in the body, if source is ""
	key     string // name of the value there
	rank    int    // the least is the most stable
	coded   string // how the answer encodes the value, which no capture undoes; "": not at all
	long    int    // bytes of the coded value at at
	address bool   // it is a part of the Location, which the next request follows
}

// The ranks of sources. A path in JSON has one more for each key, and ten for each index.
const (
	rankJSON     = 0
	rankHeader   = 15
	rankCookie   = 16
	rankLocation = 17
	rankBody     = 18
	rankText     = 100
)

// maxGiven bounds the places that are known of one value.
const maxGiven = 20

// splits are the signs between the parts of a value: first of sentences and lists, then of URLs and names.
var splits = []*signTable{
	signs(" \t\r\n\"'`,;<>()[]{}\\"),
	signs("/?&=:.|#@!*"),
}

// signTable says which bytes are signs. It is asked for each byte of all answers.
type signTable [256]bool

func signs(list string) *signTable {
	var table signTable
	for _, c := range []byte(list) {
		table[c] = true
	}
	return &table
}

// parts calls do for each part of a text between signs, and with the signs between them.
func parts(text string, signs *signTable, do func(part string, at int), sign func(string)) {
	start := 0
	flush := func(end int) {
		if end > start {
			do(text[start:end], start)
		}
	}
	for i := range len(text) {
		if signs[text[i]] {
			flush(i)
			start = i + 1
			sign(text[i:start])
		}
	}
	flush(len(text))
}

func noSign(string) {}

// look notes which of the wanted values an answer gives.
func (b *builder) look(i int) {
	e := b.exchanges[i]
	note := func(v string, g given) {
		k := b.values[v]
		if k == nil || len(k.given) >= maxGiven || slices.ContainsFunc(k.given, func(old given) bool { return old.from == i && old.source == g.source && g.source != "" }) {
			return
		}
		g.from = i
		k.given = append(k.given, g)
	}
	for name, lines := range e.Answer {
		for _, line := range lines {
			switch name {
			case "Set-Cookie":
				noteCookie(line, note)
			case "Location", "Content-Location":
				noteLocation(name, line, note)
			default:
				note(line, given{source: "header " + name, key: name, rank: rankHeader})
				if word, rest, ok := strings.Cut(line, " "); ok && !strings.Contains(rest, " ") {
					note(rest, given{source: fmt.Sprintf("header %s regexp ^%s (.+)$", name, regexp.QuoteMeta(word)), key: name, rank: rankHeader})
				}
			}
		}
	}
	b.lookIntoBody(e, note)
}

func noteCookie(line string, note func(string, given)) {
	c, err := http.ParseSetCookie(line)
	if err != nil {
		return
	}
	g := given{source: "cookie " + c.Name, key: c.Name, rank: rankCookie}
	note(c.Value, g)
	if short := strings.TrimRight(strings.ReplaceAll(c.Value, "%3D", "="), "="); short != c.Value && !strings.Contains(short, "%") {
		note(short, given{source: g.source + " regexp ^([^%=]+)", key: c.Name, rank: rankCookie}) // without the end of base64, which stays
	}
	if plain, err := url.QueryUnescape(c.Value); err == nil && plain != c.Value {
		g.coded = "percent-encoded in the cookie " + c.Name
		note(plain, g)
	}
}

// noteLocation notes the segments of a path and the values of a query.
func noteLocation(name, line string, note func(string, given)) {
	u, err := url.Parse(line)
	if err != nil {
		return
	}
	before, key := "", "location"
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		if v, err := url.PathUnescape(segment); err == nil && v == segment && v != "" {
			note(v, given{source: fmt.Sprintf("header %s regexp %s/([^/?#]+)", name, regexp.QuoteMeta(before)), key: key, rank: rankLocation, address: true})
		}
		if before = segment; segment != "" {
			before, key = "/"+segment, singular(segment)+"_id"
		}
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		key, raw, _ := strings.Cut(pair, "=")
		if v, err := url.QueryUnescape(raw); err == nil && v == raw && v != "" {
			note(v, given{source: fmt.Sprintf("header %s regexp [?&]%s=([^&#]+)", name, regexp.QuoteMeta(key)), key: key, rank: rankLocation, address: true})
		}
	}
}

func (b *builder) lookIntoBody(e *Exchange, note func(string, given)) {
	body := string(e.Content)
	if body == "" || !HasText(e.Answer) {
		return
	}
	note(body, given{source: "body", key: "body", rank: rankBody})
	leaves(e.Content, func(l leaf) {
		if b.values[l.value] == nil {
			return
		}
		key := l.key
		if words := wordsOf(key); len(words) == 1 && len(l.path) > 1 && isBare(words[0]) {
			key = above(l.path) + key
		}
		note(l.value, given{source: "json " + gjsonPath(l.path), key: key, rank: rankJSON + len(l.path) + 10*l.indexes})
	})
	parts(body, splits[0], func(one string, at int) {
		note(one, given{at: at, rank: rankText})
		parts(one, splits[1], func(inner string, in int) {
			if len(inner) < len(one) {
				note(inner, given{at: at + in, rank: rankText + 1})
			}
		}, noSign)
	}, noSign)
	for _, found := range entities().FindAllStringSubmatchIndex(body, -1) {
		raw := body[found[2]:found[3]]
		if plain := html.UnescapeString(raw); plain != raw {
			note(plain, given{at: found[2], coded: "with HTML entities in the page", rank: rankText + 2, long: len(raw)})
		}
	}
}

// entities matches values of attributes that have entities.
var entities = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`="([^"&]*&[^"]*)"`) })

// isBare reports whether a word says nothing without the name of what has it.
func isBare(w string) bool {
	return w == "id" || w == "key" || w == "uuid" || w == "code" || w == "ref" || w == "number"
}

// above is the name of what has the last key of a path: order_ of order.id and of orders.0.id.
func above(path []string) string {
	for _, p := range slices.Backward(path[:len(path)-1]) {
		if !digits().MatchString(p) && !isBare(p) && p != "data" && p != "items" && p != "results" && p != "result" {
			return singular(p) + "_"
		}
	}
	return ""
}

// singular is the name of one of several things.
func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "ies") && len(name) > 4:
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "sses"), strings.HasSuffix(name, "xes"):
		return strings.TrimSuffix(name, "es")
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") && len(name) > 2:
		return strings.TrimSuffix(name, "s")
	}
	return name
}

// HasText reports whether an answer with this header has text.
func HasText(answer http.Header) bool {
	kind, _, err := mime.ParseMediaType(answer.Get("Content-Type"))
	if err != nil {
		return true
	}
	main, _, _ := strings.Cut(kind, "/")
	return main != "image" && main != "font" && main != "audio" && main != "video" && kind != "application/octet-stream" && kind != "application/pdf" && kind != "application/zip"
}

// decoding is the source of a value that a page has with entities; "": there is none.
func (b *builder) decoding(g *given, v string) string {
	if g.long == 0 {
		return ""
	}
	for _, one := range selectors(string(b.exchanges[g.from].Content), g.at, g.at+g.long) {
		if b.finds(g.from, one, v) {
			return one
		}
	}
	return ""
}

// sourceOf is the source of a value as @capture has it, which finds this value in the recorded answer; "": there is none.
func (b *builder) sourceOf(g *given, v string) string {
	if g.source == "" {
		g.source = sourceAt(string(b.exchanges[g.from].Content), g.at, v, func(source string) bool { return b.finds(g.from, source, v) })
		return g.source
	}
	if !b.finds(g.from, g.source, v) {
		return ""
	}
	return g.source
}

// finds reports whether a source gives this value of an answer.
func (b *builder) finds(i int, source, v string) bool {
	e := b.exchanges[i]
	c, err := session.ParseCapture("v " + scene.Source(source))
	if err != nil || strings.ContainsAny(source, "\r\n") { // a file has a line for it
		return false
	}
	var s session.Session
	list := []session.Capture{c}
	for name, lines := range e.Answer {
		for _, line := range lines {
			if s.Field(list, session.Place{Host: e.URL.Hostname(), Path: e.URL.Path, Secure: e.URL.Scheme == "https"}, []byte(name), []byte(line)) != nil {
				return false
			}
		}
	}
	return s.Body(list, e.Content, nil) == nil && string(s.Value("v")) == v
}

var (
	attribute = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([\w:.-]+)\s*=\s*["']?$`) })
	// identity are the attributes by which a tag is known.
	identity = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\s((?:name|id|property|data-name)\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))`)
	})
)

// sourceAt is a selector or a regexp for the value at a place of a text; fits tries it. "": there is none.
func sourceAt(body string, at int, v string, fits func(source string) bool) string {
	end := at + len(v)
	for _, one := range selectors(body, at, end) {
		if fits(one) {
			return one
		}
	}
	closing := ` \t\r\n<>"'`
	if end < len(body) {
		if c := body[end]; !strings.ContainsRune(" \t\r\n<>\"'", rune(c)) {
			closing += regexp.QuoteMeta(string(c))
			if c == '-' || c == '^' {
				closing += `\` + string(c)
			}
		}
		switch body[end] { // what the value itself may have between quotes
		case '"', '\'':
			closing = string(body[end])
		}
	}
	group := "([^" + closing + "]+)"
	for _, one := range tagSources(body, at, end, group) {
		if fits("regexp " + one) {
			return "regexp " + one
		}
	}
	tried := 0
	for _, left := range lefts(body[:at]) {
		for _, right := range []string{"", rightOf(body[end:])} {
			if first := strings.Index(body, left); right == "" && first != at-len(left) {
				continue // the expression would find another value
			}
			if tried++; tried > mostTried {
				return ""
			}
			if one := "regexp " + pattern(left) + group + pattern(right); fits(one) {
				return one
			}
		}
	}
	return ""
}

// tagSources are expressions for the value of an attribute, by the name or id of its tag.
func tagSources(body string, at, end int, group string) (list []string) {
	open := strings.LastIndexByte(body[:at], '<')
	if open < 0 || strings.IndexByte(body[open:at], '>') >= 0 {
		return nil
	}
	shut := strings.IndexByte(body[end:], '>')
	of := attribute().FindStringSubmatch(body[open:at])
	if shut < 0 || of == nil {
		return nil
	}
	before := body[open:at]
	value := regexp.QuoteMeta(strings.TrimLeft(before[strings.LastIndex(before, of[0]):], " "))
	for _, who := range identity().FindAllStringSubmatch(before, -1) {
		list = append(list, regexp.QuoteMeta(who[1])+`[^>]*?\s`+value+group)
	}
	for _, who := range identity().FindAllStringSubmatch(body[end:end+shut], -1) {
		list = append(list, value+group+`[^>]*?\s`+regexp.QuoteMeta(who[1]))
	}
	return list
}

// mostTried bounds the expressions that are tried for one place of a value, each on a body of up to 1 MiB.
const mostTried = 12

// tagName begins a tag, and bare is a value that a selector can have without quotes.
var (
	tagName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<([a-zA-Z][a-zA-Z0-9-]*)`) })
	bare    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_][\w-]*$`) })
)

// selectors are css sources for the value of an attribute, by the name or id of its tag.
func selectors(body string, at, end int) (list []string) {
	open, shut := strings.LastIndexByte(body[:at], '<'), strings.IndexByte(body[end:], '>')
	if open < 0 || shut < 0 {
		return nil
	}
	name, of := tagName().FindStringSubmatch(body[open:at]), attribute().FindStringSubmatch(body[open:at])
	if name == nil || of == nil {
		return nil
	}
	for _, who := range identity().FindAllStringSubmatch(body[open:end+shut], -1) {
		key, v, _ := strings.Cut(who[1], "=")
		if v = strings.Trim(strings.TrimSpace(v), `"'`); !bare().MatchString(v) {
			v = strconv.Quote(v)
		}
		list = append(list, fmt.Sprintf("css %s[%s=%s] attr %s", name[1], strings.TrimSpace(key), v, of[1]))
	}
	return list
}

// mostContext is the longest text before a value by which an expression finds it.
const mostContext = 120

// lefts are ends of a text, each longer than the one before, that begin with a word and have nothing random.
func lefts(text string) (list []string) {
	text = text[max(0, len(text)-mostContext):]
	letters := 0
	for i := len(text) - 1; i >= 0; i-- {
		if c := text[i]; c >= 0x80 {
			break
		} else if c|0x20 >= 'a' && c|0x20 <= 'z' {
			letters++
		}
		edge := i == 0 || !isWord(text[i-1])
		if edge && isWord(text[i]) && looksRandom(strings.FieldsFunc(text[i:], func(r rune) bool { return !isWord(byte(r)) })[0]) {
			break
		}
		if edge && letters >= 3 {
			list = append(list, text[i:])
		}
	}
	return list
}

func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// rightOf is the next word of a text, with the signs before it.
func rightOf(text string) string {
	text = text[:min(len(text), 40)]
	seen := false
	for i := range len(text) {
		switch {
		case text[i] >= 0x80, text[i] == '\n':
			return ""
		case isWord(text[i]):
			seen = true
		case seen:
			return text[:i]
		}
	}
	return ""
}

var blanks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s+`) })

// pattern matches a text, with any blanks where it has some.
func pattern(text string) string {
	return blanks().ReplaceAllString(regexp.QuoteMeta(text), `\s+`)
}
