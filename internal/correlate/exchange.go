// Package correlate makes a scenario of recorded requests and answers: it finds which values of a request an earlier answer
// gave, and which the client made.
package correlate

import (
	"net/http"
	"net/url"
	"time"
)

// Exchange is one request and its answer.
type Exchange struct {
	Began    time.Time // the request was sent
	Answered time.Time // the head of the answer was there; zero: as Ended
	Ended    time.Time
	Method   string
	URL      *url.URL // absolute
	Header   http.Header
	Body     []byte
	Lacks    string // why Body is not the body that was sent; "": it is
	Status   int    // 0: there was no answer
	Answer   http.Header
	Content  []byte // body of the answer, decoded; as much as was kept
	Size     int64  // bytes of the answer's body as it came
	Open     bool   // the answer did not come to its end
}

// answered is when a client could first know something of the answer.
func (e *Exchange) answered() time.Time {
	if e.Answered.IsZero() {
		return e.Ended
	}
	return e.Answered
}
