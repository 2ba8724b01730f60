package formats

import (
	"errors"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

var errUnit = errors.New("the time taken has no fraction, as $request_time of nginx always has; write $request_time_ms in the format if it is milliseconds, $request_time_us if microseconds")

// ingressShape is the default of the nginx ingress controller (kubernetes.github.io/ingress-nginx,
// log format), up to the names of the upstreams.
const ingressShape = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $rest`

// nginxVariables lists the variables that takt uses, with their meaning at
// nginx.org/en/docs/varindex.html. nginx writes a line when the request has ended, so its
// times are ends.
func nginxVariables() map[string]parse.Variable {
	return map[string]parse.Variable{
		"time_local":      {Set: parse.End, Blanks: 1, Role: parse.RoleTime},
		"time_iso8601":    {Set: parse.End, Role: parse.RoleTime},
		"msec":            {Set: parse.End, Role: parse.RoleTime},
		"request":         {Set: parse.Request, Blanks: 2, Role: parse.RoleRequest},
		"request_method":  {Set: parse.Method},
		"request_uri":     {Set: parse.URI, Role: parse.RoleRequest},
		"uri":             {Set: parse.URI, Role: parse.RoleRequest},
		"document_uri":    {Set: parse.URI, Role: parse.RoleRequest},
		"args":            {Set: parse.Query},
		"query_string":    {Set: parse.Query},
		"status":          {Set: parse.Status},
		"body_bytes_sent": {Set: parse.Size(parse.AnswerBytes, false)},
		"bytes_sent":      {Set: parse.Size(parse.AnswerBytes, true)},
		"request_length":  {Set: parse.Size(parse.RequestBytes, false)},
		"request_time":    {Set: setFraction},
		"request_time_ms": {Set: parse.Latency(time.Millisecond)}, // not nginx's: for users whose log has the time in another unit
		"request_time_us": {Set: parse.Latency(time.Microsecond)},
		"host":            {Set: parse.Host, Role: parse.RoleHost},
		"http_host":       {Set: parse.Host, Role: parse.RoleHost},
		"server_name":     {Role: parse.RoleHost},
		"scheme":          {Set: parse.Scheme},
		"remote_addr":     {Set: parse.Client},
		"remote_user":     {Set: setUser},
		"http_referer":    {Set: parse.Referer},
		"http_user_agent": {Set: parse.Agent},
	}
}

// nginxPieces cuts the string of a log_format, or the whole directive from nginx.conf.
func nginxPieces(text string) ([]parse.Piece, error) {
	text = nginxDirective(text)
	// A path followed by its query is one value.
	text = strings.NewReplacer("${uri}", "$uri", "$uri$is_args$args", "$request_uri", "$uri?$args", "$request_uri").Replace(text)
	return namedPieces(text, nginxVariables())
}

// namedPieces cuts a string with $name or ${name} for each value; takt ignores the values of
// names that are not known.
func namedPieces(text string, known map[string]parse.Variable) ([]parse.Piece, error) {
	return parse.Pieces(text, '$', func(text string) ([]parse.Piece, string, error) {
		name, rest := nginxName(text[1:])
		return []parse.Piece{{Name: "$" + name, Variable: known[name]}}, rest, nil
	})
}

// nginxName cuts off name or {name}.
func nginxName(text string) (name, rest string) {
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		name, rest, _ = strings.Cut(inner, "}")
		return name, rest
	}
	n := 0
	for n < len(text) && (text[n] == '_' || parse.IsDigit(text[n]) || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z') {
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
		for end < len(inner) && (inner[end] != quote || parse.IsEscaped([]byte(inner), end)) {
			end++
		}
		b.WriteString(strings.ReplaceAll(inner[:end], `\`+string(quote), string(quote)))
		rest = inner[min(end+1, len(inner)):]
	}
}

// setFraction is the setter of $request_time, which nginx writes with three decimals. A
// value without decimals is of another program, and may be in milliseconds.
func setFraction(f *parse.Line, v []byte) error {
	if !parse.Absent(v) && parse.Digits(v) >= 0 {
		return errUnit
	}
	return f.Latency(v, time.Second)
}
