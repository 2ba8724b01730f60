package formats

import (
	"errors"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/pattern"
	"github.com/taktload/takt/internal/trace/stamp"
)

var errUnit = errors.New("the time taken has no fraction, as $request_time of nginx always has; write $request_time_ms in the format if it is milliseconds, $request_time_us if microseconds")

// ingressShape is the default of the nginx ingress controller (kubernetes.github.io/ingress-nginx,
// log format), up to the names of the upstreams.
const ingressShape = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $rest`

// nginxVariables lists the variables that takt uses, with their meaning at
// nginx.org/en/docs/varindex.html. nginx writes a line when the request has ended, so its
// times are ends.
func nginxVariables() map[string]pattern.Variable {
	return map[string]pattern.Variable{
		"time_local":      {Set: fill.End, Blanks: 1, Role: pattern.Time},
		"time_iso8601":    {Set: fill.End, Role: pattern.Time},
		"msec":            {Set: fill.End, Role: pattern.Time},
		"request":         {Set: fill.Request, Blanks: 2, Role: pattern.Request},
		"request_method":  {Set: fill.Method},
		"request_uri":     {Set: fill.URI, Role: pattern.Request},
		"uri":             {Set: fill.URI, Role: pattern.Request},
		"document_uri":    {Set: fill.URI, Role: pattern.Request},
		"args":            {Set: fill.Query},
		"query_string":    {Set: fill.Query},
		"status":          {Set: fill.Status},
		"body_bytes_sent": {Set: fill.Size(fill.AnswerBytes, false)},
		"bytes_sent":      {Set: fill.Size(fill.AnswerBytes, true)},
		"request_length":  {Set: fill.Size(fill.RequestBytes, false)},
		"request_time":    {Set: setFraction},
		"request_time_ms": {Set: fill.Latency(time.Millisecond)}, // not nginx's: for users whose log has the time in another unit
		"request_time_us": {Set: fill.Latency(time.Microsecond)},
		"host":            {Set: fill.Host, Role: pattern.Host},
		"http_host":       {Set: fill.Host, Role: pattern.Host},
		"server_name":     {Role: pattern.Host},
		"scheme":          {Set: fill.Scheme},
		"remote_addr":     {Set: fill.Client},
		"remote_user":     {Set: setUser},
		"http_referer":    {Set: fill.Referer},
		"http_user_agent": {Set: fill.Agent},
	}
}

// nginxPieces cuts the string of a log_format, or the whole directive from nginx.conf.
func nginxPieces(text string) ([]pattern.Piece, error) {
	text = nginxDirective(text)
	// A path followed by its query is one value.
	text = strings.NewReplacer("${uri}", "$uri", "$uri$is_args$args", "$request_uri", "$uri?$args", "$request_uri").Replace(text)
	return namedPieces(text, nginxVariables())
}

// namedPieces cuts a string with $name or ${name} for each value; takt ignores the values of
// names that are not known.
func namedPieces(text string, known map[string]pattern.Variable) ([]pattern.Piece, error) {
	return pattern.Cut(text, '$', func(text string) ([]pattern.Piece, string, error) {
		name, rest := nginxName(text[1:])
		return []pattern.Piece{{Name: "$" + name, Variable: known[name]}}, rest, nil
	})
}

// nginxName cuts off name or {name}.
func nginxName(text string) (name, rest string) {
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		name, rest, _ = strings.Cut(inner, "}")
		return name, rest
	}
	n := 0
	for n < len(text) && (text[n] == '_' || stamp.IsDigit(text[n]) || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z') {
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
		for end < len(inner) && (inner[end] != quote || fill.IsEscaped([]byte(inner), end)) {
			end++
		}
		b.WriteString(strings.ReplaceAll(inner[:end], `\`+string(quote), string(quote)))
		rest = inner[min(end+1, len(inner)):]
	}
}

// setFraction is the setter of $request_time, which nginx writes with three decimals. A
// value without decimals is of another program, and may be in milliseconds.
func setFraction(f *fill.Line, v []byte) error {
	if !fill.Absent(v) && stamp.Digits(v) >= 0 {
		return errUnit
	}
	return f.Latency(v, time.Second)
}
