// Package answers decides whether two servers answer the same requests alike. It learns from two answers of
// one server to the same request what varies by itself, such as dates and ids, and tells by path what else
// differs. It works on values; others send the requests.
package answers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// The bounds of an answer.
const (
	// MostKept is how many bytes of a body are kept, decoded. A longer body is compared as bytes.
	MostKept = 1 << 20
	// MostRead is how many bytes of a body are read at most. What follows is not compared.
	MostRead = 8 << 20
)

// Answer is an answer to one request.
type Answer struct {
	Request string // first line of the request, for people
	Failed  string // why there is no answer, such as the class of the failure; "": there is one
	Status  int
	Header  http.Header
	Body    []byte // decoded, at most MostKept bytes
	Whole   bool   // Body is all of it
	Size    int64  // bytes of the body as it came, as far as it was read
	Rest    uint64 // hash of what is not in Body, of a body that is not compressed
	Broken  string // why the body ended before its end; "": it did not
}

// bytes is about how much memory the answer takes.
func (a *Answer) bytes() int {
	n := len(a.Body) + len(a.Request) + 200
	for name, values := range a.Header {
		n += len(name) + 100
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// Kept are answers that wait for their second one, in bounded memory.
type Kept struct {
	list []Answer
	used int
}

// mostWaiting bounds the memory of Kept.
const mostWaiting = 128 << 20

// Add keeps an answer. It returns false if there is no room for more answers.
func (k *Kept) Add(a Answer) (more bool) {
	k.list = append(k.list, a)
	k.used += a.bytes()
	return k.used < mostWaiting
}

// Len is the number of answers.
func (k *Kept) Len() int { return len(k.list) }

// Take returns the i-th answer and forgets it.
func (k *Kept) Take(i int) Answer {
	a := k.list[i]
	k.list[i] = Answer{}
	return a
}

// view is an answer whose body is read at most once.
type view struct {
	*Answer
	read bool
	doc  any // value of a JSON body, as encoding/json has it, with json.Number
	json bool
}

// document reads the body as JSON. Text behind the value, more than 10 000 levels and invalid JSON make it bytes.
func (v *view) document() (doc any, ok bool) {
	if v.read {
		return v.doc, v.json
	}
	v.read = true
	if !v.Whole || v.Broken != "" || !v.looksLikeJSON() {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(v.Body))
	d.UseNumber()
	if d.Decode(&v.doc) != nil || len(bytes.TrimSpace(v.Body[d.InputOffset():])) > 0 {
		v.doc = nil
		return nil, false
	}
	v.json = true
	return v.doc, true
}

// looksLikeJSON saves reading other bodies. Servers send JSON as text/plain, too.
func (v *view) looksLikeJSON() bool {
	b := bytes.TrimLeft(v.Body, " \t\r\n")
	return len(b) > 0 && (b[0] == '{' || b[0] == '[' || strings.Contains(v.Header.Get("Content-Type"), "json"))
}
