package reader

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/taktload/takt/internal/trace/parse"
)

// haproxyTCP is a line of HAProxy's option tcplog: client, time, frontend, backend, times, bytes.
var haproxyTCP = regexp.MustCompile(`^\S+:\d+ \[[^\]]+\] \S+ \S+/\S+ -?\d+/-?\d+/\+?\d+ \+?\d+ [A-Za-z-]{2} `)

// advice says what to do with a log of unknown format, judging by its first line.
func advice(first []byte) string {
	line := new(head).behind(first)
	headed := len(line) < len(first)
	words := bytes.Fields(line)
	has := func(text string) bool { return bytes.Contains(line, []byte(text)) }
	if text := foreignResults(line, words); text != "" {
		return text
	}
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

// foreignResults names results of other load generators that have no requests, and W3C logs without their head;
// "": it is none of these.
func foreignResults(line []byte, words [][]byte) string {
	first := string(words[0])
	switch {
	case slices.Contains([]string{"RUN", "ASSERTION", "USER", "REQUEST", "GROUP"}, first) && bytes.IndexByte(line, '\t') > 0:
		return "it is the simulation.log of Gatling, which has the names of requests and not their methods and URLs; give takt the access log of the server, or a HAR that Gatling's recorder imports"
	case bytes.HasPrefix(line, []byte(`{"type":"Metric"`)), bytes.HasPrefix(line, []byte(`{"metric":"`)):
		return "it is the JSON of k6, which has a line for each metric; write CSV, which takt reads: k6 run --out csv=FILE"
	case bytes.HasPrefix(line, []byte("response-time,DNS+dialup,")):
		return "it is the CSV of hey, which has no URLs; give takt the access log of the server"
	case bytes.HasPrefix(line, []byte("<Event ")):
		return "it is an event of Windows in XML; IIS writes its own files beside it, which takt reads"
	case len(words) > 9 && w3cDate.Match(line):
		return "it may be a W3C log, such as IIS's, without its head; put the line #Fields of the server before it, as in (head -n 4 OTHER.log; cat LOG) | takt trace stats -"
	}
	return ""
}

// w3cDate begins the lines of W3C logs.
var w3cDate = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d `)

// isListedWord reports whether a line may be of a list of paths: one word, or a path or a
// method and a path with more words after it.
func isListedWord(words [][]byte) bool {
	return len(words) == 1 && !bytes.ContainsAny(words[0], ":;,") || len(words) > 1 && (words[0][0] == '/' || parse.IsMethod(words[0]) && words[1][0] == '/')
}
