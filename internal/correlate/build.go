package correlate

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/session"
)

// Options say what becomes of exchanges.
type Options struct {
	Static bool     // keep images, fonts, styles and scripts
	Only   []string // hosts, with the port unless it is the usual one; nil: that of most requests, and those of usualHosts
}

// Made is a scenario, and what is to be said of it.
type Made struct {
	Scene    scene.File
	Notes    []string    // what was found, and what was left out
	Unknown  []string    // values whose origin is not known
	Captured int         // values that answers give
	Invented int         // values that the client makes
	Sent     []*Exchange // all requests to the hosts of the scenario that were answered, static files included
}

// maxSteps is how many steps takt reads from a scenario.
const maxSteps = 1000

// shortPause is the longest pause that is no think time, and longestPause the longest that takt reads.
const (
	shortPause   = 200 * time.Millisecond
	longestPause = time.Hour
)

// value is a text that requests send.
type value struct {
	text    string
	first   int // number of the first exchange that sends it as a value of its own; -1: none does
	uses    int // places that send it
	given   []given
	fixed   bool   // a script or a style has it, so it is the same for all users
	name    string // of the capture or of @set; "": there is none
	source  *given // of the capture; nil: it is not captured
	told    bool   // it is said that its origin is not known
	refused string // why no capture gives it
}

// builder makes one scenario.
type builder struct {
	exchanges []*Exchange // in the order of their beginnings
	requests  []*request
	values    map[string]*value
	names     map[string]bool // of captures
	stepNames map[string]bool // of steps without a name of their own
	captures  [][]string      // lines, by step
	sets      [][]string      // lines, by step
	comments  [][]string      // by step
	out       Made
}

// From makes a scenario of exchanges, which may be in any order.
func From(list []Exchange, o Options) Made {
	b := &builder{values: map[string]*value{}, names: map[string]bool{}, stepNames: map[string]bool{}}
	all := make([]*Exchange, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	slices.SortStableFunc(all, func(x, y *Exchange) int { return x.Began.Compare(y.Began) })
	scripts := b.choose(all, o)
	for i, e := range b.exchanges {
		b.requests = append(b.requests, takeApart(e))
		b.want(i)
	}
	for i := range b.exchanges {
		b.look(i)
	}
	for _, e := range scripts {
		b.lookIntoScript(e)
	}
	b.captures, b.sets, b.comments = make([][]string, len(b.exchanges)), make([][]string, len(b.exchanges)), make([][]string, len(b.exchanges))
	for i := range b.exchanges {
		b.out.Scene.Steps = append(b.out.Scene.Steps, b.step(i))
	}
	for i := range b.out.Scene.Steps {
		s := &b.out.Scene.Steps[i]
		s.Lines = slices.Concat(b.sets[i], s.Lines, b.captures[i])
		s.Comment = strings.Join(b.comments[i], "\n")
	}
	b.pause(all)
	b.countCookies()
	b.out.Notes = append(append(b.out.Notes, b.overlaps()...), b.browsers()...)
	return b.out
}

// hostOf is the host of a URL as people write it.
func hostOf(e *Exchange) string {
	return strings.TrimPrefix(strings.TrimPrefix(scene.Origin(scene.Text(e.URL.Scheme+"://"+e.URL.Host)), "http://"), "https://")
}

// choose keeps the exchanges that become steps. It returns those whose texts are the same for all users.
func (b *builder) choose(all []*Exchange, o Options) (scripts []*Exchange) {
	left, others := map[string]int{}, map[string]int{}
	var reasons []string
	leave := func(reason string) {
		if left[reason]++; left[reason] == 1 {
			reasons = append(reasons, reason)
		}
	}
	hosts := o.Only
	if hosts == nil {
		hosts = usualHosts(all)
	}
	for _, e := range all {
		switch static := isStatic(e); {
		case e.URL.Scheme != "http" && e.URL.Scheme != "https":
			leave("to URLs such as " + e.URL.Scheme + ":")
		case !slices.Contains(hosts, hostOf(e)) && !slices.Contains(hosts, e.URL.Hostname()):
			others[hostOf(e)]++
		case e.Method == "" || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
			leave("whose method has other characters than capitals")
		case e.Status == 0:
			leave("without an answer")
		case e.Status == 101:
			leave("that became a websocket")
		case e.Open || strings.HasPrefix(e.Answer.Get("Content-Type"), "text/event-stream"):
			leave("whose answer did not end")
			b.out.Sent = append(b.out.Sent, e)
		case e.Method == "OPTIONS" && e.Header.Get("Access-Control-Request-Method") != "":
			leave("by which a browser asks for permission (OPTIONS)")
		case static && !o.Static:
			leave("for static files; --static keeps them")
			scripts, b.out.Sent = append(scripts, e), append(b.out.Sent, e)
		case len(b.exchanges) == maxSteps:
			leave(fmt.Sprintf("after the first %d, the most that a scenario has", maxSteps))
			b.out.Sent = append(b.out.Sent, e)
		default:
			b.exchanges, b.out.Sent = append(b.exchanges, e), append(b.out.Sent, e)
			if static {
				scripts = append(scripts, e)
			}
		}
	}
	if len(others) > 0 {
		b.out.Notes = append(b.out.Notes, "left out: requests to other hosts: "+most(others)+"; --only names the hosts to keep")
	}
	home, beside := usualHost(b.exchanges), map[string]int{}
	for _, e := range b.exchanges {
		if h := hostOf(e); h != home {
			beside[h]++
		}
	}
	if len(beside) > 0 {
		b.out.Notes = append(b.out.Notes, "steps on other hosts, which takt loads, too: "+most(beside)+"; --only names the hosts to keep")
	}
	for _, r := range reasons {
		b.out.Notes = append(b.out.Notes, fmt.Sprintf("left out: %s %s", figure.Plural(left[r], "request"), r))
	}
	return scripts
}

// mostNamed is how many hosts a message names.
const mostNamed = 5

// most are the hosts with most requests, and how many they have.
func most(count map[string]int) string {
	hosts := slices.SortedFunc(maps.Keys(count), func(x, y string) int { return cmp.Or(cmp.Compare(count[y], count[x]), strings.Compare(x, y)) })
	var list []string
	for _, h := range hosts[:min(len(hosts), mostNamed)] {
		list = append(list, fmt.Sprintf("%s %d", h, count[h]))
	}
	if more := len(hosts) - mostNamed; more > 0 {
		list = append(list, fmt.Sprintf("and %d more hosts", more))
	}
	return strings.Join(list, ", ")
}

// usualHost is the host of most requests that are not for static files; "": there is none.
func usualHost(all []*Exchange) (host string) {
	most, count := 0, map[string]int{}
	for _, static := range []bool{false, true} {
		for _, e := range all {
			if h := hostOf(e); h != "" && e.Status > 0 && isStatic(e) == static {
				if count[h]++; count[h] > most {
					most, host = count[h], h
				}
			}
		}
		if host != "" {
			break
		}
	}
	return host
}

// usualHosts are the usual one, those of its site, and those that redirects lead to and from, such as a server for logins.
// Others are of other people: they count visits, or show advertisements.
func usualHosts(all []*Exchange) (hosts []string) {
	home := usualHost(all)
	if home == "" {
		return nil
	}
	hosts = []string{home}
	add := func(h string) (added bool) {
		if added = !slices.Contains(hosts, h); added {
			hosts = append(hosts, h)
		}
		return added
	}
	for _, e := range all {
		if h := hostOf(e); !isStatic(e) && sameSite(home, h) {
			add(h)
		}
	}
	for more := true; more; {
		more = false
		for _, e := range all {
			to, err := e.URL.Parse(e.Answer.Get("Location"))
			if err != nil || e.Answer.Get("Location") == "" {
				continue
			}
			from, target := hostOf(e), hostOf(&Exchange{URL: to})
			if slices.Contains(hosts, from) && target != "" {
				more = add(target) || more
			} else if slices.Contains(hosts, target) {
				more = add(from) || more
			}
		}
	}
	return hosts
}

// sameSite reports whether two hosts are likely to be of the same people: one is below the other without www, or both are
// below a name that is not one of the kind of co.uk.
func sameSite(a, b string) bool {
	name := func(host string) string {
		u := url.URL{Host: host}
		return strings.TrimPrefix(u.Hostname(), "www.")
	}
	a, b = name(a), name(b)
	_, above, _ := strings.Cut(a, ".")
	site, _, named := strings.Cut(above, ".")
	if net.ParseIP(a) != nil {
		return a == b
	}
	return a == b || strings.HasSuffix(b, "."+a) || strings.HasSuffix(a, "."+b) && strings.Contains(b, ".") || named && !strings.Contains(" co com org net ac gov edu or ne ", " "+site+" ") && strings.HasSuffix(b, "."+above)
}

// staticEnds are the ends of names of static files.
const staticEnds = " .css .js .mjs .map .png .jpg .jpeg .gif .svg .ico .webp .avif .woff .woff2 .ttf .otf .eot .mp4 .webm .mp3 .wasm .webmanifest "

// isStatic reports whether an exchange fetches a file that is the same for all users.
func isStatic(e *Exchange) bool {
	if !isSafe(e.Method) {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(e.Answer.Get("Content-Type")), ";")
	main, sub, _ := strings.Cut(strings.TrimSpace(kind), "/")
	switch {
	case main == "image" || main == "font" || main == "audio" || main == "video" || sub == "css" || sub == "wasm" || strings.HasSuffix(sub, "javascript") || strings.HasPrefix(sub, "font-"):
		return true
	case main == "text" || strings.HasSuffix(sub, "json") || strings.HasSuffix(sub, "xml"):
		return false
	}
	end := strings.ToLower(path.Ext(e.URL.Path))
	return end != "" && strings.Contains(staticEnds, " "+end+" ")
}

// want notes the values that a request sends.
func (b *builder) want(i int) {
	b.requests[i].places(func(p *place, repeats bool) {
		b.wantPart(p, p.value, 0, i, repeats)
	})
}

// wantPart notes a value or a part of one, and its own parts.
func (b *builder) wantPart(p *place, text string, depth, i int, repeats bool) {
	if n := len(text); n > 0 && n <= session.MaxValue && (depth == 0 || looksRandom(text) || madeTime(text, b.exchanges[i].Began) != nil) {
		k := b.values[text]
		if k == nil {
			k = &value{text: text, first: -1}
			b.values[text] = k
		}
		if k.uses++; k.first < 0 && !repeats && (looksRandom(text) || p.in == inPath || tells(p.name)) {
			k.first = i
		}
	}
	b.divide(text, depth, func(part string, depth int) { b.wantPart(p, part, depth, i, repeats) }, noSign)
}

// divide calls do for each part of a text, and with the signs between them. A text of one part is divided by the next signs.
func (b *builder) divide(text string, depth int, do func(part string, depth int), sign func(string)) (divided bool) {
	for ; depth < len(splits); depth++ {
		signs := splits[depth]
		if slices.ContainsFunc([]byte(text), func(c byte) bool { return signs[c] }) {
			parts(text, signs, func(part string, _ int) { do(part, depth+1) }, sign)
			return true
		}
	}
	return false
}

// lookIntoScript notes which values a script has.
func (b *builder) lookIntoScript(e *Exchange) {
	if !HasText(e.Answer) {
		return
	}
	note := func(part string, _ int) {
		if k := b.values[part]; k != nil {
			k.fixed = true
		}
	}
	parts(string(e.Content), splits[0], func(one string, at int) {
		note(one, at)
		parts(one, splits[1], note, noSign)
	}, noSign)
}

// piece is a part of a value as a file has it.
type piece struct {
	text string
	fill string // placeholder without its braces; "": text stays
	safe bool   // what is filled in needs no encoding
}

func (p piece) fills() bool { return p.fill != "" }

// pieces are a value, with what an answer gave or the client made.
func (b *builder) pieces(p *place, i int, repeats bool) []piece {
	if p.in == inHeader && traceContext().MatchString(p.value) {
		return []piece{{text: "00-"}, {fill: "randHex 32", safe: true}, {text: "-"}, {fill: "randHex 16", safe: true}, {text: p.value[len(p.value)-3:]}}
	}
	list := b.part(p, p.value, 0, i, repeats)
	if repeats {
		return list
	}
	if !slices.ContainsFunc(list, piece.fills) {
		b.tell(p.value, p, i)
	}
	for _, one := range list {
		b.tell(one.text, p, i)
	}
	return list
}

// part are the pieces of a part of a value.
func (b *builder) part(p *place, text string, depth, i int, repeats bool) (list []piece) {
	if one, ok := b.refer(p, text, depth == 0, i, repeats); ok {
		return []piece{one}
	}
	if !b.divide(text, depth, func(part string, depth int) {
		list = append(list, b.part(p, part, depth, i, repeats)...)
	}, func(sign string) { list = append(list, piece{text: sign}) }) {
		return []piece{{text: text}}
	}
	return list
}

// refer finds what a value refers to; false: it stays.
func (b *builder) refer(p *place, text string, whole bool, i int, repeats bool) (piece, bool) {
	k := b.values[text]
	if k == nil {
		return piece{}, false
	}
	if k.name != "" && (k.source == nil || plausible(text, p, whole, k.source, b)) {
		return piece{fill: k.name, safe: k.source == nil}, true
	}
	if repeats || k.name != "" {
		return piece{}, false
	}
	if isDay(text) {
		if m := madeTime(text, b.exchanges[i].Began); m != nil {
			b.out.Invented++
			return piece{fill: m.fill, safe: true}, true
		}
	}
	if b.capture(k, p, whole, i) {
		return piece{fill: k.name}, true
	}
	if fill := b.make(k, p, i); fill != "" {
		return piece{fill: fill, safe: true}, true
	}
	return piece{}, false
}

// mostSources bounds the places in answers that are tried for one value.
const mostSources = 6

// capture makes a capture of a value; false: no answer gave it.
func (b *builder) capture(k *value, p *place, whole bool, i int) bool {
	first := i
	if k.first >= 0 {
		first = min(i, k.first)
	}
	tried, list := 0, slices.Clone(k.given)
	slices.SortStableFunc(list, func(x, y given) int { return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.from, y.from)) })
	for _, g := range list {
		if g.from >= first || b.exchanges[g.from].answered().After(b.exchanges[first].Began.Add(time.Millisecond)) || !plausible(k.text, p, whole, &g, b) {
			continue
		}
		if tried++; tried > mostSources {
			break
		}
		source := ""
		if g.coded == "" {
			source = b.sourceOf(&g, k.text)
		} else {
			source = b.decoding(&g, k.text)
		}
		if source == "" {
			k.refused = strings.TrimSpace("an answer has it, but no source of a capture finds it there " + g.coded)
			continue
		}
		k.source, k.name = &g, b.unique(b.nameOf(&g, p))
		b.captures[g.from] = append(b.captures[g.from], scene.Capture(k.name, source))
		b.out.Captured++
		return true
	}
	return false
}

// plausible reports whether a value that an answer has is what a request sends.
func plausible(v string, p *place, whole bool, g *given, b *builder) bool {
	if looksRandom(v) {
		return true
	}
	if !whole || word().MatchString(v) {
		return false
	}
	inAddress := p.in == inPath || tells(p.name)
	telling := tells(g.key) || b.isLink(g, p)
	switch n := len(v); {
	case !digits().MatchString(v):
		return n >= 4 && telling && (inAddress || sameName(p.name, g.key))
	case g.address:
		return inAddress
	case n >= 6:
		return telling && (inAddress || sameName(p.name, g.key))
	case n >= 2:
		return telling && inAddress
	}
	return telling && inAddress && !isSafe(b.exchanges[g.from].Method)
}

// isLink reports whether a value is part of a link in a page, as a request sends it.
func (b *builder) isLink(g *given, p *place) bool {
	if g.source != "" && !strings.HasPrefix(g.source, "regexp ") || g.coded != "" {
		return false
	}
	before := string(b.exchanges[g.from].Content[:g.at])
	switch p.in {
	case inPath:
		return strings.HasSuffix(before, "/"+p.name+"/")
	case inQuery:
		return strings.HasSuffix(before, p.name+"=") && tells(p.name)
	}
	return strings.Contains(before[max(0, len(before)-100):], `"`+p.name+`"`) && tells(p.name)
}

// sameName reports whether two names say the same.
func sameName(a, b string) bool {
	x, y := strings.Join(wordsOf(a), ""), strings.Join(wordsOf(b), "")
	return x != "" && (strings.HasSuffix(x, y) || strings.HasSuffix(y, x)) && y != ""
}

// isCredential reports whether a place has what a server knows beforehand, so that no client makes it up.
func isCredential(p *place) bool {
	words := wordsOf(p.name)
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return slices.Contains(words, w) })
	}
	switch {
	case has("idempotency", "request", "correlation", "trace", "span"):
		return false
	case has("apikey", "authorization", "auth", "signature", "sig", "hash", "verifier", "challenge", "token", "csrf", "xsrf", "tenant"):
		return true
	}
	return has("api", "client", "app", "application", "access", "secret") && has("key", "id", "secret")
}

// make is the placeholder for a value that the client makes; "": it does not.
func (b *builder) make(k *value, p *place, i int) string {
	m := madeBy(k.text, b.exchanges[i].Began)
	id := isID(k.text)
	if m == nil || k.fixed || id && (secret(p.name) || isCredential(p) || p.in == inPath && isSafe(b.exchanges[i].Method) || len(k.given) > 0 && k.given[0].from < i) {
		return ""
	}
	b.out.Invented++
	if k.uses < 2 || !m.moment {
		return m.fill
	}
	k.name = b.unique(cmp.Or(strings.Join(wordsOf(p.name), "_"), "made"))
	b.sets[i] = append(b.sets[i], "@set "+k.name+" {{"+m.fill+"}}")
	return k.name
}

// tell says that the origin of a value is not known, once.
func (b *builder) tell(text string, p *place, i int) {
	k := b.values[text]
	if k == nil || k.told || k.fixed || !looksRandom(text) || secret(p.name) || strings.HasPrefix(p.value, "Basic ") {
		return
	}
	k.told = true
	line := fmt.Sprintf("%s, %.40q", p, text)
	if k.refused != "" {
		line += " (" + k.refused + ")"
	}
	b.out.Unknown = append(b.out.Unknown, fmt.Sprintf("step %d: %s", i+1, line))
	b.comments[i] = append(b.comments[i], "not known where from: "+line)
}

// String is how messages name a place.
func (p *place) String() string {
	switch p.in {
	case inPath:
		return "a part of the path"
	case inQuery:
		return "the parameter " + p.name
	case inHeader:
		return "the header " + p.name
	case inForm:
		return "the field " + p.name
	case inString, inNumber:
		return "the JSON value " + p.name
	}
	return "the body"
}

// nameOf is a name for a value.
func (b *builder) nameOf(g *given, p *place) string {
	words := wordsOf(g.key)
	switch {
	case g.key == "" || len(words) == 0 || g.key == "body" || g.key == "location":
		if words = wordsOf(p.name); p.in == inPath && len(words) > 0 {
			words = append(words[:len(words)-1], singular(words[len(words)-1]), "id")
		}
	case len(words) == 1 && isBare(words[0]): // of what the request is about
		words = append(wordsOf(thing(b.exchanges[g.from])), words[0])
	}
	if len(words) > 1 && words[0] == "x" {
		words = words[1:]
	}
	return cmp.Or(strings.Join(words, "_"), "value")
}

// thing is the name of what a URL is about: order for /api/orders/17.
func thing(e *Exchange) string {
	for _, one := range slices.Backward(strings.Split(e.URL.Path, "/")) {
		if word().MatchString(one) {
			return singular(one)
		}
	}
	return ""
}

func (b *builder) unique(name string) string {
	name = scene.Name(name)
	for one, n := name, 2; ; n++ {
		if !b.names[one] {
			b.names[one] = true
			return one
		}
		one = fmt.Sprintf("%s_%d", name, n)
	}
}
