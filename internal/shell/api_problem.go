package shell

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// problem is an answer that says what is wrong (RFC 9457).
type problem struct {
	Type   string   `json:"type"`
	Title  string   `json:"title"`
	Status int      `json:"status"`
	Detail string   `json:"detail"`           // cause and remedy, as the shell says them
	Cause  string   `json:"cause"`            // what is wrong
	Remedy string   `json:"remedy,omitempty"` // what to do about it
	Errors []string `json:"errors,omitempty"` // all faults, if there are several

	header map[string]string
}

// problemOf returns the problem of an error. An error of takt is a cause, a semicolon and a remedy.
func problemOf(status int, err error) *problem {
	text := strings.ToValidUTF8(err.Error(), "?")
	p := &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: text}
	all := strings.Split(text, "\n")
	if len(all) > 1 {
		p.Errors = all
	}
	p.Cause, p.Remedy = causeAndRemedy(all[0])
	return p
}

// causeAndRemedy splits an error at its semicolon. One between quotes belongs to what the user wrote.
func causeAndRemedy(text string) (cause, remedy string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++ // as strconv.Quote writes a quote
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], "; "):
			return text[:i], text[i+2:]
		}
	}
	return text, ""
}

func (p *problem) write(w http.ResponseWriter) {
	for name, value := range p.header {
		w.Header().Set(name, value)
	}
	writeJSON(w, p.Status, "application/problem+json", p)
}

// writeJSON writes an answer. A client that reads nothing for writeTime loses it.
func writeJSON(w http.ResponseWriter, status int, kind string, what any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)                 // for people who read it
	if err := encoder.Encode(what); err != nil { // only with a value that JSON does not know, which the tests would find
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBytes(w, status, kind, b.Bytes())
}

func writeBytes(w http.ResponseWriter, status int, kind string, b []byte) {
	patient(w)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client is gone
}
