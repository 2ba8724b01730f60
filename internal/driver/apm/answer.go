package apm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// answer is the readable part of a server's body. apm-server answers with JSON of several
// forms, under any content type, or in plain words.
type answer struct {
	accepted int    // number of accepted events; -1: unknown
	refused  int    // number of listed errors, at most 5
	message  string // first error; "": none
}

// maxMessage is the largest length of a message in bytes: a message may contain the whole
// event.
const maxMessage = 200

// acceptedIn is the number of accepted events according to an answer; -1: unknown. It does
// not allocate, because it reads every good answer.
func acceptedIn(body []byte) int {
	_, rest, found := bytes.Cut(body, []byte(`"accepted"`))
	if !found {
		return -1
	}
	rest = bytes.TrimLeft(rest, ": \t")
	n, digits := 0, 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' && digits <= 15 {
		n = 10*n + int(rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > 15 {
		return -1
	}
	return n
}

// readAnswer reads the beginning of a failed operation's body. The body may be cut: it may
// repeat a refused event of 300 KB.
func readAnswer(body []byte) answer {
	a := answer{accepted: acceptedIn(body)}
	// A quote within a string has a backslash before it, so these are keys.
	a.refused = bytes.Count(body, []byte(`"message":`))
	for _, key := range []string{`"message":`, `"error":`} {
		if _, rest, found := bytes.Cut(body, []byte(key)); found {
			a.message = firstString(rest)
			return a
		}
	}
	if text := bytes.TrimSpace(body); len(text) > 0 && text[0] != '{' {
		a.message = shorten(string(text))
	}
	return a
}

// firstString is the JSON string at the start of b, possibly cut.
func firstString(b []byte) string {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '"' {
		return ""
	}
	end := 1
	for end < len(b) && b[end] != '"' {
		if b[end] == '\\' {
			end++
		}
		end++
	}
	var s string
	if end < len(b) && json.Unmarshal(b[:end+1], &s) == nil {
		return shorten(s)
	}
	return shorten(string(b[1:]))
}

// shorten returns the first line, cut to maxMessage.
func shorten(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = strings.ToValidUTF8(s, "·") // this may lengthen s
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// hint is the remedy for a status, or "".
func hint(status int, v1 bool) string {
	switch {
	case status == 401:
		return "; give the server's token with --secret or a key with --api-key"
	case status == 403:
		return "; the endpoint is disabled in the server, or not for this sender"
	case status == 404 && v1:
		return "; apm-server has no intake v1 since 7.0, leave --intake out"
	case status == 404:
		return "; the url is that of the server alone, and --endpoint the path"
	case status >= 200 && status < 300:
		return "; apm-server answers 202, is this one?"
	}
	return ""
}

// sentence is the error text of an operation with that answer.
func (a answer) sentence(status int, v1 bool) string {
	s := "answered " + strconv.Itoa(status)
	if a.accepted > 0 {
		s += " with " + strconv.Itoa(a.accepted) + " events accepted"
	}
	if a.message != "" {
		s += ": " + a.message
	}
	return s + hint(status, v1)
}
