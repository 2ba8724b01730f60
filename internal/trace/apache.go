package trace

import (
	"bytes"
	"fmt"
	"strings"
	"time"
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
func apachePieces(text string) ([]piece, error) {
	text = apacheDirective(text)
	text = strings.ReplaceAll(text, "%U%q", "%U") // one value
	pieces, err := cut(text, '%', apacheItem)
	if err != nil {
		return nil, err
	}
	return joinTimes(pieces)
}

// vhostPieces is apachePieces for a string that begins with the host, with or without a port,
// and the client.
func vhostPieces(text string) ([]piece, error) {
	pieces, err := apachePieces(text)
	if err == nil {
		pieces[0].set, pieces[2].set = setVhost, setVhostClient
	}
	return pieces, err
}

// apacheDirective extracts the string from `LogFormat "…" name`.
func apacheDirective(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "LogFormat")
	if ok {
		_, rest, _ = strings.Cut(rest, `"`)
		end := endQuote([]byte(rest))
		text = rest[:max(end, 0)]
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\t`, "\t").Replace(text)
}

// apacheItem reads %[!<>status…][{argument}]letter at the start of text.
func apacheItem(text string) (item []piece, rest string, err error) {
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
		return []piece{{literal: "%"}}, text[n+1:], nil
	}
	if letter == 't' {
		item, err = apacheTime(name, argument)
		return item, text[n+1:], err
	}
	return []piece{{name: name, variable: apacheVariables(letter, argument)}}, text[n+1:], nil
}

// apacheVariables returns the meaning of a letter; takt ignores the values of other letters.
func apacheVariables(letter byte, argument string) variable {
	switch letter {
	case 'r':
		return variable{set: setRequest, blanks: 2, kind: requestKind}
	case 'm':
		return variable{set: setMethod}
	case 'U':
		return variable{set: setURI, kind: requestKind}
	case 'q':
		return variable{set: setQuery}
	case 's':
		return variable{set: setStatus}
	case 'b', 'B':
		return variable{set: setSize(answerBytes, false)}
	case 'O':
		return variable{set: setSize(answerBytes, true)}
	case 'I':
		return variable{set: setSize(requestBytes, false)}
	case 'D':
		return variable{set: setLatency(time.Microsecond)}
	case 'T':
		return apacheTaken()[argument]
	case 'u':
		return variable{set: setUser}
	case 'h', 'a':
		return variable{set: setClient}
	case 'v', 'V':
		return variable{set: setHost, kind: hostKind}
	case 'i':
		return map[string]variable{"referer": {set: setReferer}, "user-agent": {set: setAgent}, "host": {set: setHost, kind: hostKind}}[strings.ToLower(argument)]
	}
	return variable{}
}

func apacheTaken() map[string]variable {
	second := variable{set: setLatency(time.Second)}
	return map[string]variable{"": second, "s": second, "ms": {set: setLatency(time.Millisecond)}, "us": {set: setLatency(time.Microsecond)}}
}

// apacheTime returns %t, which writes its own brackets, or %{FORMAT}t. The time is when the
// request arrived, unless FORMAT begins with end:.
func apacheTime(name, format string) ([]piece, error) {
	v := variable{kind: timeKind, set: setStart}
	if rest, ok := strings.CutPrefix(format, "end:"); ok {
		format, v.set = rest, setEnd
	}
	format = strings.TrimPrefix(format, "begin:")
	switch format {
	case "":
		v.blanks = 1
		return []piece{{literal: "["}, {name: name, variable: v}, {literal: "]"}}, nil
	case "sec", "msec", "usec": // clock.number tells the unit by the number of digits
		v.layout = "sec"
		return []piece{{name: name, variable: v}}, nil
	case "msec_frac":
		v.layout = "000"
	case "usec_frac":
		v.layout = "000000"
	default:
		layout, err := layoutOf(format)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v.layout = layout
	}
	return []piece{{name: name, variable: v}}, nil
}

// joinTimes joins the pieces of a time, such as %{%T}t.%{msec_frac}t, into one value.
func joinTimes(pieces []piece) ([]piece, error) {
	var out []piece
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		for n := timeBehind(p, pieces[i+1:]); n > 0; n = timeBehind(p, pieces[i+1:]) {
			for _, more := range pieces[i+1 : i+1+n] {
				p.layout += more.literal + more.layout
				p.name += more.literal + more.name
			}
			i += n
		}
		if p.layout != "" && !strings.HasPrefix(p.layout, "sec") {
			if err := checkLayout(p.layout); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			p.blanks, p.set = strings.Count(p.layout, " "), setLayout(p.layout, p.set)
		}
		out = append(out, p)
	}
	return out, nil
}

// timeBehind counts the pieces after a time that continue it: a further time, with or
// without a literal before it.
func timeBehind(p piece, rest []piece) int {
	switch {
	case p.layout == "" || len(rest) == 0:
		return 0
	case rest[0].layout != "":
		return 1
	case rest[0].name == "" && len(rest) > 1 && rest[1].layout != "":
		return 2
	}
	return 0
}

// setVhost stores the host of host:port or host.
func setVhost(f *filler, v []byte) error {
	if at := bytes.LastIndexByte(v, ':'); at > 0 && digits(v[at+1:]) >= 0 && (v[at-1] == ']' || bytes.IndexByte(v, ':') == at) {
		v = v[:at]
	}
	return setHost(f, v)
}

// setVhostClient refuses a line that begins with the client instead of the host: its second
// word is then the identity, which is always -.
func setVhostClient(f *filler, v []byte) error {
	if absent(v) {
		return errShape
	}
	return setClient(f, v)
}

// setUser refuses a value that is identity and user, or client, identity and user: the line
// has more words before the time than the format.
func setUser(_ *filler, v []byte) error {
	if i := bytes.IndexByte(v, ' '); i == 1 && v[0] == '-' || i > 0 && bytes.Contains(v[i:], []byte(" - ")) {
		return errShape
	}
	return nil
}

// setTail looks for the latency at the end of a line of combined: nginx users append
// $request_time ("0.123", seconds), and Traefik writes "12ms".
func setTail(f *filler, v []byte) error {
	v = bytes.TrimSpace(v)
	v = bytes.Trim(v[bytes.LastIndexByte(v, ' ')+1:], `"`)
	unit := time.Second
	if ms, ok := bytes.CutSuffix(v, []byte("ms")); ok {
		v, unit = ms, time.Millisecond
	} else if bytes.IndexByte(v, '.') < 0 {
		return nil // a number without a point may be anything, such as Apache's %D
	}
	for _, b := range v {
		if !isDigit(b) && b != '.' {
			return nil // such as 4.2.2) of a user agent
		}
	}
	if d, ok := decimal(v, unit); ok {
		f.rec.Latency, f.rec.Ended = d, unit == time.Second
	}
	return nil
}

// setPlainTail refuses quotes: a truncated line of combined must not count as common.
func setPlainTail(f *filler, v []byte) error {
	if bytes.IndexByte(v, '"') >= 0 {
		return errShape
	}
	return setTail(f, v)
}
