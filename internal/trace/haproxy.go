package trace

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// haproxyShape is "option httplog" (docs.haproxy.org, HTTP log format). What is captured of
// headers stands behind the queues, or nothing does.
const haproxyShape = `%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %{+Q}r`

// haproxyNames are the variables of HAProxy's log-format; those with quotes are texts, which
// %{+Q} puts into quotes.
const haproxyNames = `B "CC" "CS" "H" "HM" "HP" "HPO" "HQ" "HU" "HV" "ID" ST T Ta Tc Td Th Ti Tl Tq TR Tr Trg Trl Ts Tt Tu Tw U ac "b" bc bi bp bq ci cia cp
"f" fc fi fp "ft" "hr" "hrl" "hs" "hsl" lc ms o pid "r" rc "rt" "s" sc si sp sq "sslc" "sslv" t tr trg trl "ts" "tsc"`

var haproxyItem = regexp.MustCompile(`%(\{[+-][^}]*\})?(\([^)]*\))?(ci|cp|tr|trg|trl|ft|ST|Ta|TR|Tt|HM|HU|HP|HV|tsc?)\b|%(\{[+-][^}]*\})?\[`)

// isHAProxy reports whether a format is a log-format of HAProxy: Apache's items have one
// letter.
func isHAProxy(text string) bool {
	return text == "haproxy" || strings.HasPrefix(strings.TrimSpace(text), "log-format") || haproxyItem.MatchString(text)
}

func haproxy(text string) func(Options) (parser, error) {
	return func(Options) (parser, error) { return compileHAProxy(text) }
}

// haproxyVariables lists what is read of a line. Times are milliseconds.
func haproxyVariables() map[string]variable {
	millis := signed(setLatency(time.Millisecond))
	return map[string]variable{
		"cia": {set: setClientPort}, // %ci:%cp, whose parts nobody can tell apart in IPv6
		"ci":  {set: setClient},
		"t":   {set: setStart, kind: timeKind},
		"tr":  {set: setStart, kind: timeKind},
		"trg": {set: setStart, kind: timeKind, blanks: 1},
		"trl": {set: setStart, kind: timeKind, blanks: 1},
		"T":   {set: setStart, kind: timeKind, blanks: 1},
		"Tl":  {set: setStart, kind: timeKind, blanks: 1},
		"Ts":  {set: setStart, kind: timeKind},
		"Ta":  {set: millis},
		"Tt":  {set: unlessKnown(millis)}, // also the time before the request came
		"ST":  {set: signed(setStatus)},
		"B":   {set: signed(setSize(answerBytes, true))}, // with the head
		"U":   {set: signed(setSize(requestBytes, false))},
		"r":   {set: setRequest, kind: requestKind, blanks: 2},
		"HM":  {set: setMethod},
		"HU":  {set: setURI, kind: requestKind},
		"HP":  {set: setURI, kind: requestKind},
		"HPO": {set: setURI, kind: requestKind},
		"HQ":  {set: setQuery},
	}
}

// setClientPort takes address:port, where an IPv6 address has no brackets.
func setClientPort(f *filler, v []byte) error {
	return setClient(f, v[:max(bytes.LastIndexByte(v, ':'), 0)])
}

// signed passes over -1, which stands for what did not happen, and over +109, with which
// the line was written before the end.
func signed(set setter) setter {
	return func(f *filler, v []byte) error {
		if len(v) > 0 && (v[0] == '-' || v[0] == '+') {
			return nil
		}
		return set(f, v)
	}
}

func unlessKnown(set setter) setter {
	return func(f *filler, v []byte) error {
		if f.rec.Latency != Unknown {
			return nil
		}
		return set(f, v)
	}
}

// compileHAProxy understands a log-format, or the whole line of haproxy.cfg.
func compileHAProxy(text string) (*pattern, error) {
	text = haproxyDirective(text)
	text = strings.NewReplacer("%ci:%cp", "%cia", "%HP%HQ", "%HU", "%HPO%HQ", "%HU").Replace(text)
	var pieces []piece
	always := false
	for text != "" {
		at := strings.IndexByte(text, '%')
		if at != 0 {
			if at < 0 {
				at = len(text)
			}
			pieces, text = append(pieces, piece{literal: text[:at]}), text[at:]
			continue
		}
		if rest, ok := strings.CutPrefix(text, "%%"); ok {
			pieces, text = append(pieces, piece{literal: "%"}), rest
			continue
		}
		name, flags, rest, err := haproxyName(text)
		if err != nil {
			return nil, err
		}
		text = rest
		if name == "o" {
			always = strings.Contains(flags, "+Q") || always && !strings.Contains(flags, "-Q")
			text = strings.TrimLeft(text, " ") // HAProxy writes no blank behind nothing
			continue
		}
		v := piece{name: "%" + name, variable: haproxyVariables()[name]}
		isText := strings.HasPrefix(name, "[") || strings.Contains(haproxyNames, `"`+name+`"`)
		if isText && (always || strings.Contains(flags, "+Q")) && !strings.Contains(flags, "-Q") {
			pieces = append(pieces, piece{literal: `"`}, v, piece{literal: `"`})
			continue
		}
		pieces = append(pieces, v)
	}
	return newPattern(pieces)
}

// haproxyName cuts %{flags}(name)letters, or %[expression], off.
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
		return "", "", "", fmt.Errorf("%.40q is no variable of a log-format of HAProxy", text)
	}
	return name, flags, rest[len(name):], nil
}

// haproxyDirective takes the string out of a line log-format, in quotes or with a
// backslash before each blank.
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
