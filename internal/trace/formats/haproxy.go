package formats

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// haproxyShape is "option httplog" (docs.haproxy.org, HTTP log format). Captured headers, if
// any, follow the queues.
const haproxyShape = `%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %{+Q}r`

// haproxyNames are the variables of HAProxy's log-format. Those in quotes here are texts: the
// flag %{+Q} quotes their values.
const haproxyNames = `B "CC" "CS" "H" "HM" "HP" "HPO" "HQ" "HU" "HV" "ID" ST T Ta Tc Td Th Ti Tl Tq TR Tr Trg Trl Ts Tt Tu Tw U ac "b" bc bi bp bq ci cia cp
"f" fc fi fp "ft" "hr" "hrl" "hs" "hsl" lc ms o pid "r" rc "rt" "s" sc si sp sq "sslc" "sslv" t tr trg trl "ts" "tsc"`

var haproxyItem = regexp.MustCompile(`%(\{[+-][^}]*\})?(\([^)]*\))?(ci|cp|tr|trg|trl|ft|ST|Ta|TR|Tt|HM|HU|HP|HV|tsc?)\b|%(\{[+-][^}]*\})?\[`)

// isHAProxy reports whether a format is a log-format of HAProxy, by its names of several
// letters: Apache's have one letter.
func isHAProxy(text string) bool {
	return text == "haproxy" || strings.HasPrefix(strings.TrimSpace(text), "log-format") || haproxyItem.MatchString(text)
}

// haproxyVariables lists the variables that takt uses. Times are in milliseconds.
func haproxyVariables() map[string]parse.Variable {
	millis := signed(parse.Latency(time.Millisecond))
	return map[string]parse.Variable{
		"cia": {Set: setClientPort}, // %ci:%cp as one value: an IPv6 address has colons, too
		"ci":  {Set: parse.Client},
		"t":   {Set: parse.Start, Role: parse.RoleTime},
		"tr":  {Set: parse.Start, Role: parse.RoleTime},
		"trg": {Set: parse.Start, Role: parse.RoleTime, Blanks: 1},
		"trl": {Set: parse.Start, Role: parse.RoleTime, Blanks: 1},
		"T":   {Set: parse.Start, Role: parse.RoleTime, Blanks: 1},
		"Tl":  {Set: parse.Start, Role: parse.RoleTime, Blanks: 1},
		"Ts":  {Set: parse.Start, Role: parse.RoleTime},
		"Ta":  {Set: millis},
		"Tt":  {Set: unlessKnown(millis)}, // worse than Ta: includes the time before the request came
		"ST":  {Set: signed(parse.Status)},
		"B":   {Set: signed(parse.Size(parse.AnswerBytes, true))}, // with the head
		"U":   {Set: signed(parse.Size(parse.RequestBytes, false))},
		"r":   {Set: parse.Request, Role: parse.RoleRequest, Blanks: 2},
		"HM":  {Set: parse.Method},
		"HU":  {Set: parse.URI, Role: parse.RoleRequest},
		"HP":  {Set: parse.URI, Role: parse.RoleRequest},
		"HPO": {Set: parse.URI, Role: parse.RoleRequest},
		"HQ":  {Set: parse.Query},
	}
}

// setHTTPS takes what follows the request in lines of option httpslog (docs.haproxy.org, HTTPS log format): five
// codes between slashes, then the name that the client asked for, the version of TLS and the cipher.
func setHTTPS(f *parse.Line, v []byte) error {
	codes, connection, ok := bytes.Cut(bytes.TrimLeft(v, " "), []byte(" "))
	if ok && bytes.Count(codes, []byte("/")) == 4 && bytes.Count(connection, []byte("/")) == 2 {
		f.Rec.Scheme = f.Rec.Join(nil, "https", nil)
	}
	return nil
}

// setClientPort stores the address of address:port; an IPv6 address has no brackets.
func setClientPort(f *parse.Line, v []byte) error {
	return parse.Client(f, v[:max(bytes.LastIndexByte(v, ':'), 0)])
}

// signed ignores a value with a sign: -1 is a step that did not happen, and + marks a value
// of a line that was written before the end of the request.
func signed(set parse.Setter) parse.Setter {
	return func(f *parse.Line, v []byte) error {
		if len(v) > 0 && (v[0] == '-' || v[0] == '+') {
			return nil
		}
		return set(f, v)
	}
}

func unlessKnown(set parse.Setter) parse.Setter {
	return func(f *parse.Line, v []byte) error {
		if f.Rec.Latency != trace.Unknown {
			return nil
		}
		return set(f, v)
	}
}

// haproxyPieces cuts a log-format, or its whole line from haproxy.cfg.
func haproxyPieces(text string) ([]parse.Piece, error) {
	text = haproxyDirective(text)
	text = strings.NewReplacer("%ci:%cp", "%cia", "%HP%HQ", "%HU", "%HPO%HQ", "%HU").Replace(text)
	always := false // the flag +Q of %o is for all values after it
	return parse.Pieces(text, '%', func(text string) ([]parse.Piece, string, error) {
		if rest, ok := strings.CutPrefix(text, "%%"); ok {
			return []parse.Piece{{Literal: "%"}}, rest, nil
		}
		name, flags, rest, err := haproxyName(text)
		if err != nil {
			return nil, "", err
		}
		if name == "o" {
			always = strings.Contains(flags, "+Q") || always && !strings.Contains(flags, "-Q")
			return nil, strings.TrimLeft(rest, " "), nil // %o has no value, so HAProxy writes no blank after it
		}
		v := parse.Piece{Name: "%" + name, Variable: haproxyVariables()[name]}
		isText := strings.HasPrefix(name, "[") || strings.Contains(haproxyNames, `"`+name+`"`)
		if isText && (always || strings.Contains(flags, "+Q")) && !strings.Contains(flags, "-Q") {
			return []parse.Piece{{Literal: `"`}, v, {Literal: `"`}}, rest, nil
		}
		return []parse.Piece{v}, rest, nil
	})
}

// haproxyName cuts off %{flags}(name)letters, or %[expression].
func haproxyName(text string) (name, flags, rest string, err error) {
	rest = text[1:]
	if strings.HasPrefix(rest, "{") {
		flags, rest, _ = strings.Cut(rest[1:], "}")
	}
	if strings.HasPrefix(rest, "(") {
		_, rest, _ = strings.Cut(rest, ")")
	}
	if strings.HasPrefix(rest, "[") {
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return "", "", "", fmt.Errorf("%.40q has no ]; write it as HAProxy has it", text)
		}
		return rest[:end+1], flags, rest[end+1:], nil
	}
	n := 0
	for n < len(rest) && rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' {
		n++
	}
	for _, known := range strings.Fields(strings.ReplaceAll(haproxyNames, `"`, "")) {
		if len(known) > len(name) && strings.HasPrefix(rest[:n], known) {
			name = known
		}
	}
	if name == "" {
		return "", "", "", fmt.Errorf("%.40q is not a variable of a log-format of HAProxy", text)
	}
	return name, flags, rest[len(name):], nil
}

// haproxyDirective extracts the string from a line log-format. The string is quoted, or has
// a backslash before each blank.
func haproxyDirective(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "log-format")
	if !ok {
		return text
	}
	rest = strings.TrimSpace(rest)
	if len(rest) > 1 && (rest[0] == '"' || rest[0] == '\'') && rest[len(rest)-1] == rest[0] {
		rest = rest[1 : len(rest)-1]
	}
	return strings.NewReplacer(`\ `, " ", `\"`, `"`).Replace(rest)
}
