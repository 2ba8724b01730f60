package formats

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// The built-in shapes of access logs, as Apache writes them.
const (
	combinedShape    = `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`
	commonShape      = `%h %l %u %t "%r" %>s %b`
	vhostShape       = `%v %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`
	vhostCommonShape = `%v %h %l %u %t "%r" %>s %b`
)

// apachePieces cuts the string of a LogFormat, or the whole directive from httpd.conf; see
// httpd.apache.org/docs/2.4/mod/mod_log_config.html.
func apachePieces(text string) ([]parse.Piece, error) {
	text = apacheDirective(text)
	text = strings.ReplaceAll(text, "%U%q", "%U") // one value
	pieces, err := parse.Pieces(text, '%', apacheItem)
	if err != nil {
		return nil, err
	}
	return joinTimes(pieces)
}

// vhostPieces is apachePieces for a string that begins with the host, with or without a port,
// and the client.
func vhostPieces(text string) ([]parse.Piece, error) {
	pieces, err := apachePieces(text)
	if err == nil {
		pieces[0].Set, pieces[2].Set = setVhost, setVhostClient
	}
	return pieces, err
}

// apacheDirective extracts the string from `LogFormat "…" name`.
func apacheDirective(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "LogFormat")
	if ok {
		_, rest, _ = strings.Cut(rest, `"`)
		end := parse.EndQuote([]byte(rest))
		text = rest[:max(end, 0)]
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\t`, "\t").Replace(text)
}

// apacheItem reads %[!<>status…][{argument}]letter at the start of text.
func apacheItem(text string) (item []parse.Piece, rest string, err error) {
	n := 1
	for n < len(text) && strings.IndexByte("<>!,0123456789", text[n]) >= 0 {
		n++
	}
	argument := ""
	if n < len(text) && text[n] == '{' {
		end := strings.IndexByte(text[n:], '}')
		if end < 0 {
			return nil, "", fmt.Errorf("%.40q has no }; write it as Apache has it", text)
		}
		argument, n = text[n+1:n+end], n+end+1
	}
	if n < len(text) && text[n] == '^' { // %{…}^ti
		n += 2
	}
	if n >= len(text) {
		return nil, "", fmt.Errorf("%.40q is not an item of a LogFormat: its letter is missing", text)
	}
	name, letter := text[:n+1], text[n]
	if letter == '%' {
		return []parse.Piece{{Literal: "%"}}, text[n+1:], nil
	}
	if letter == 't' {
		item, err = apacheTime(name, argument)
		return item, text[n+1:], err
	}
	key := string(letter)
	switch {
	case letter == 'i':
		key += " " + strings.ToLower(argument)
	case letter == 'T' && argument != "":
		key += " " + argument
	}
	return []parse.Piece{{Name: name, Variable: apacheVariables()[key]}}, text[n+1:], nil
}

// apacheVariables lists the items that takt uses, by their letter; for %T and %i also by their
// argument, in small letters.
func apacheVariables() map[string]parse.Variable {
	second, host := parse.Variable{Set: parse.Latency(time.Second)}, parse.Variable{Set: parse.Host, Role: parse.RoleHost}
	return map[string]parse.Variable{
		"r": {Set: parse.Request, Blanks: 2, Role: parse.RoleRequest},
		"m": {Set: parse.Method},
		"U": {Set: parse.URI, Role: parse.RoleRequest},
		"q": {Set: parse.Query},
		"s": {Set: parse.Status},
		"b": {Set: parse.Size(parse.AnswerBytes, false)},
		"B": {Set: parse.Size(parse.AnswerBytes, false)},
		"O": {Set: parse.Size(parse.AnswerBytes, true)},
		"I": {Set: parse.Size(parse.RequestBytes, false)},
		"D": {Set: parse.Latency(time.Microsecond)},
		"u": {Set: setUser},
		"l": {Set: setIdentity},
		"h": {Set: parse.Client},
		"a": {Set: parse.Client},
		"v": host,
		"V": host,

		"T": second, "T s": second, "T ms": {Set: parse.Latency(time.Millisecond)}, "T us": {Set: parse.Latency(time.Microsecond)},
		"i referer": {Set: parse.Referer}, "i user-agent": {Set: parse.Agent}, "i host": host,
	}
}

// apacheTime returns %t, which writes its own brackets, or %{FORMAT}t. The time is when the
// request arrived, unless FORMAT begins with end:.
func apacheTime(name, format string) ([]parse.Piece, error) {
	v := parse.Variable{Role: parse.RoleTime, Set: parse.Start}
	if rest, ok := strings.CutPrefix(format, "end:"); ok {
		format, v.Set = rest, parse.End
	}
	format = strings.TrimPrefix(format, "begin:")
	switch format {
	case "":
		v.Blanks = 1
		return []parse.Piece{{Literal: "["}, {Name: name, Variable: v}, {Literal: "]"}}, nil
	case "sec", "msec", "usec": // parse.Clock tells the unit by the number of digits
		v.Layout = "sec"
		return []parse.Piece{{Name: name, Variable: v}}, nil
	case "msec_frac":
		v.Layout = "000"
	case "usec_frac":
		v.Layout = "000000"
	default:
		layout, err := parse.LayoutOf(format)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v.Layout = layout
	}
	return []parse.Piece{{Name: name, Variable: v}}, nil
}

// joinTimes joins the pieces of a time, such as %{%T}t.%{msec_frac}t, into one value.
func joinTimes(pieces []parse.Piece) ([]parse.Piece, error) {
	var out []parse.Piece
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		for n := timeBehind(p, pieces[i+1:]); n > 0; n = timeBehind(p, pieces[i+1:]) {
			for _, more := range pieces[i+1 : i+1+n] {
				p.Layout += more.Literal + more.Layout
				p.Name += more.Literal + more.Name
			}
			i += n
		}
		if p.Layout != "" && !strings.HasPrefix(p.Layout, "sec") {
			if err := parse.CheckLayout(p.Layout); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			p.Blanks, p.Set = strings.Count(p.Layout, " "), parse.Layout(p.Layout, p.Set)
		}
		out = append(out, p)
	}
	return out, nil
}

// timeBehind counts the pieces after a time that continue it: a further time, with or
// without a literal before it.
func timeBehind(p parse.Piece, rest []parse.Piece) int {
	switch {
	case p.Layout == "" || len(rest) == 0:
		return 0
	case rest[0].Layout != "":
		return 1
	case rest[0].Name == "" && len(rest) > 1 && rest[1].Layout != "":
		return 2
	}
	return 0
}

// setVhost stores the host of host:port or host. An address alone, or in a list, is of a client behind a proxy,
// see forwardedParser.
func setVhost(f *parse.Line, v []byte) error {
	bare, listed := bytes.CutSuffix(v, []byte(","))
	if isAddr := bytes.IndexByte(bare, '[') < 0 && bytes.Count(bare, []byte(":")) != 1 && isAddress(bare); listed || isAddr {
		return parse.ErrShape
	}
	if at := bytes.LastIndexByte(v, ':'); at > 0 && parse.Digits(v[at+1:]) >= 0 && (v[at-1] == ']' || bytes.IndexByte(v, ':') == at) {
		v = v[:at]
	}
	return parse.Host(f, v)
}

// setVhostClient refuses a line that begins with the client instead of the host: its second
// word is then the identity, which is always -.
func setVhostClient(f *parse.Line, v []byte) error {
	if parse.Absent(v) {
		return parse.ErrShape
	}
	return parse.Client(f, v)
}

// setIdentity stores a host: lighttpd's default and OVH's logs have it where Apache has the identity.
func setIdentity(f *parse.Line, v []byte) error {
	if bytes.IndexByte(v, '.') > 0 && len(f.Rec.Host) == 0 {
		return parse.Host(f, v)
	}
	return nil
}

// setUser refuses a value that is identity and user, or client, identity and user: the line
// has more words before the time than the format.
func setUser(_ *parse.Line, v []byte) error {
	if i := bytes.IndexByte(v, ' '); i == 1 && v[0] == '-' || i > 0 && bytes.Contains(v[i:], []byte(" - ")) {
		return parse.ErrShape
	}
	return nil
}

// setTail looks for the latency at the end of a line of combined: nginx users append
// $request_time ("0.123", seconds), and Traefik writes "12ms".
func setTail(f *parse.Line, v []byte) error {
	v = bytes.TrimSpace(v)
	v = bytes.Trim(v[bytes.LastIndexByte(v, ' ')+1:], `"`)
	unit := time.Second
	if ms, ok := bytes.CutSuffix(v, []byte("ms")); ok {
		v, unit = ms, time.Millisecond
	} else if bytes.IndexByte(v, '.') < 0 { // it may be anything, such as Apache's %D
		if len(v) > 0 && parse.Digits(v) >= 0 {
			f.Left.Note(parse.NoUnit)
		}
		return nil
	}
	for _, b := range v {
		if !parse.IsDigit(b) && b != '.' {
			return nil // such as 4.2.2) of a user agent
		}
	}
	if d, ok := parse.Decimal(v, unit); ok {
		f.Rec.Latency, f.Rec.Ended = d, unit == time.Second
	}
	return nil
}

// setPlainTail refuses quotes: a truncated line of combined must not count as common.
func setPlainTail(f *parse.Line, v []byte) error {
	if bytes.IndexByte(v, '"') >= 0 {
		return parse.ErrShape
	}
	return setTail(f, v)
}
