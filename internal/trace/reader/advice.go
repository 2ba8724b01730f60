package reader

import (
	"bytes"
	"regexp"

	"github.com/taktload/takt/internal/trace/fill"
)

// haproxyTCP is a line of HAProxy's option tcplog: client, time, frontend, backend, times, bytes.
var haproxyTCP = regexp.MustCompile(`^\S+:\d+ \[[^\]]+\] \S+ \S+/\S+ -?\d+/-?\d+/\+?\d+ \+?\d+ [A-Za-z-]{2} `)

// advice says what to do with a log of unknown format, judging by its first line.
func advice(first []byte) string {
	line := new(head).behind(first)
	headed := len(line) < len(first)
	words := bytes.Fields(line)
	has := func(text string) bool { return bytes.Contains(line, []byte(text)) }
	switch {
	case line[0] == '[' && (len(line) == 1 || line[1] == '{'):
		return "it is a JSON array: give takt one object per line, as jq -c '.[]' writes them"
	case line[0] == '{':
		return "say where the fields are, as in --format json --fields 'end=time,method=req.method,uri=req.path,status=res.code'"
	case haproxyTCP.Match(line):
		return "it is HAProxy's log of TCP connections, which has no requests; log them with option httplog"
	case has(" [error] ") || has(" [warn] ") || has(" [notice] ") || has("[error]"):
		return "it is an error log; the access log has the requests"
	case headed:
		return "it is a log of the system; extract the lines of the web server"
	case isListedWord(words):
		return "for a list of paths without their first slash, or with something behind them, give --format paths"
	}
	return "give it by --format: a name that takt trace --help lists, a log_format of nginx, a LogFormat of Apache, a log-format of HAProxy, a format string of Envoy, or takt's own such as '{start} {method} {uri} {status}' (docs/log-formats.md)"
}

// isListedWord reports whether a line may be of a list of paths: one word, or a path or a
// method and a path with more words after it.
func isListedWord(words [][]byte) bool {
	return len(words) == 1 && !bytes.ContainsAny(words[0], ":;,") || len(words) > 1 && (words[0][0] == '/' || fill.IsMethod(words[0]) && words[1][0] == '/')
}
