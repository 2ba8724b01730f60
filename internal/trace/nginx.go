package trace

import (
	"errors"
	"strings"
	"time"
)

var errUnit = errors.New("the time taken has no fraction, as $request_time of nginx always has; write $request_time_ms in the format if it is milliseconds, $request_time_us if microseconds")

// nginxVariables lists the variables that takt uses, with their meaning at
// nginx.org/en/docs/varindex.html. nginx writes a line when the request has ended, so its
// times are ends.
func nginxVariables() map[string]variable {
	return map[string]variable{
		"time_local":      {set: setEnd, blanks: 1, kind: timeKind},
		"time_iso8601":    {set: setEnd, kind: timeKind},
		"msec":            {set: setEnd, kind: timeKind},
		"request":         {set: setRequest, blanks: 2, kind: requestKind},
		"request_method":  {set: setMethod},
		"request_uri":     {set: setURI, kind: requestKind},
		"uri":             {set: setURI, kind: requestKind},
		"document_uri":    {set: setURI, kind: requestKind},
		"args":            {set: setQuery},
		"query_string":    {set: setQuery},
		"status":          {set: setStatus},
		"body_bytes_sent": {set: setSize(answerBytes, false)},
		"bytes_sent":      {set: setSize(answerBytes, true)},
		"request_length":  {set: setSize(requestBytes, false)},
		"request_time":    {set: setFraction},
		"request_time_ms": {set: setLatency(time.Millisecond)}, // not nginx's: for users whose log has the time in another unit
		"request_time_us": {set: setLatency(time.Microsecond)},
		"host":            {set: setHost, kind: hostKind},
		"http_host":       {set: setHost, kind: hostKind},
		"server_name":     {kind: hostKind},
		"scheme":          {set: setScheme},
		"remote_addr":     {set: setClient},
		"remote_user":     {set: setUser},
		"http_referer":    {set: setReferer},
		"http_user_agent": {set: setAgent},
	}
}

// nginxPieces cuts the string of a log_format, or the whole directive from nginx.conf.
func nginxPieces(text string) ([]piece, error) {
	text = nginxDirective(text)
	// A path followed by its query is one value.
	text = strings.NewReplacer("${uri}", "$uri", "$uri$is_args$args", "$request_uri", "$uri?$args", "$request_uri").Replace(text)
	return namedPieces(text, nginxVariables())
}

// namedPieces cuts a string with $name or ${name} for each value; takt ignores the values of
// names that are not known.
func namedPieces(text string, known map[string]variable) ([]piece, error) {
	return cut(text, '$', func(text string) ([]piece, string, error) {
		name, rest := nginxName(text[1:])
		return []piece{{name: "$" + name, variable: known[name]}}, rest, nil
	})
}

// nginxName cuts off name or {name}.
func nginxName(text string) (name, rest string) {
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		name, rest, _ = strings.Cut(inner, "}")
		return name, rest
	}
	n := 0
	for n < len(text) && (text[n] == '_' || isDigit(text[n]) || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z') {
		n++
	}
	return text[:n], text[n:]
}

// nginxDirective joins the quoted parts of "log_format name [escape=…] 'a' 'b';".
func nginxDirective(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "log_format")
	if !ok {
		return text
	}
	var b strings.Builder
	for {
		at := strings.IndexAny(rest, `'"`)
		if at < 0 {
			return b.String()
		}
		quote, inner := rest[at], rest[at+1:]
		end := 0
		for end < len(inner) && (inner[end] != quote || isEscaped([]byte(inner), end)) {
			end++
		}
		b.WriteString(strings.ReplaceAll(inner[:end], `\`+string(quote), string(quote)))
		rest = inner[min(end+1, len(inner)):]
	}
}

// setFraction is the setter of $request_time, which nginx writes with three decimals. A
// value without decimals is of another program, and may be in milliseconds.
func setFraction(f *filler, v []byte) error {
	if !absent(v) && digits(v) >= 0 {
		return errUnit
	}
	return f.latency(v, time.Second)
}
