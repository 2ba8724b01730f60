package target

import (
	"fmt"
	"net/http"
	"strings"
)

// answers are all answers there are, rendered once, by what the client needs.
type answers struct{ ok, failed [shapes]answer }

// answer is head and body in one piece, so that one write sends it.
type answer []byte

// The shapes of an answer: a sum of the two, or 0.
const (
	shapeHead  = 1 << iota // no body: the request was HEAD
	shapeClose             // the connection ends
	shapes
)

// continueAnswer tells a client that waits before it sends a body to go on. curl
// waits a second.
const continueAnswer = "HTTP/1.1 100 Continue\r\n\r\n"

// failure is the body of status 500.
const failure = "takt target: failed on purpose, see --error-rate\n"

func renderAnswers(status, size int) (a answers) {
	body := filler(size)
	for shape := range a.ok {
		a.ok[shape] = renderAnswer(status, body, shape)
		a.failed[shape] = renderAnswer(http.StatusInternalServerError, failure, shape)
	}
	return a
}

// filler is the body of an answer.
func filler(size int) string { return strings.Repeat("takt target\n", size/12+1)[:size] }

// renderAnswer leaves the Date out: it would have to be rendered anew each
// second, and no load generator reads it. "keep-alive" is for clients of
// HTTP/1.0 such as ab.
func renderAnswer(status int, body string, shape int) answer {
	connection := "keep-alive"
	if shape&shapeClose != 0 {
		connection = "close"
	}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nConnection: %s\r\n", status, http.StatusText(status), connection)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return answer(head + "\r\n")
	}
	head += fmt.Sprintf("Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n", len(body))
	if shape&shapeHead != 0 {
		return answer(head)
	}
	return answer(head + body)
}

// of chooses the answer to a request.
func (a *answers) of(o Outcome, q request) answer {
	shape := 0
	if q.head {
		shape |= shapeHead
	}
	if q.close {
		shape |= shapeClose
	}
	if o == Error {
		return a.failed[shape]
	}
	return a.ok[shape]
}
