package recorder

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/correlate"
	"github.com/taktload/takt/internal/http1"
)

// taking is an exchange that is being recorded.
type taking struct {
	mu          sync.Mutex
	e           correlate.Exchange
	sent, given http1.Kept
	kept        *atomic.Int64
	over        bool
}

// take begins to record a request; nil: there are enough.
func (r *Recorder) take(q *http.Request) *taking {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.taken) == maxExchanges {
		r.beyond++
		return nil
	}
	at := *q.URL
	if q.Host != "" { // what the client asked for, whatever it connected to
		at.Host = q.Host
	}
	t := &taking{kept: &r.kept, e: correlate.Exchange{Began: time.Now(), Method: q.Method, URL: &url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path, RawPath: at.RawPath, RawQuery: at.RawQuery}, Header: q.Header.Clone()}}
	r.taken = append(r.taken, t)
	return t
}

// head notes the head of the answer.
func (t *taking) head(a *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.e.Answered, t.e.Status, t.e.Answer = time.Now(), a.StatusCode, a.Header.Clone()
}

// end notes that the answer is over; whole: it came to its end, and neither side left before.
func (t *taking) end(whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over, t.e.Ended, t.e.Open = true, time.Now(), !whole
	}
}

// exchange is what was recorded until now; whole is false if a body is not kept to its end.
func (t *taking) exchange(now time.Time, decode bool) (e correlate.Exchange, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e = t.e
	if !t.over {
		e.Ended, e.Open = now, true
	}
	sent, release := http1.ContentOf(&t.sent, "") // the request's own coding stays
	defer release()
	e.Body = append([]byte(nil), sent.Bytes...)
	if sent.Size > int64(len(sent.Bytes)) {
		e.Lacks = "takt keeps 1 MiB of it"
	}
	given, release := http1.ContentOf(&t.given, http1.CodingOf(e.Answer.Values("Content-Encoding")))
	defer release()
	if e.Size = given.Size; decode {
		e.Content = append([]byte(nil), given.Bytes...)
	}
	return e, e.Lacks == "" && (given.Size == 0 || (given.Why == nil && decode || !correlate.HasText(e.Answer)))
}

// teeing keeps what is read of a body.
type teeing struct {
	io.ReadCloser
	to    *http1.Kept
	t     *taking
	limit int  // bytes to keep
	kept  int  // bytes
	last  bool // it is the body of the answer
}

func (b *teeing) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.t.mu.Lock()
	limit, more := b.limit, min(n, b.limit-b.kept)
	if b.kept += more; b.t.kept.Add(int64(more)) > maxKept {
		limit = 0
	}
	b.to.Add(p[:n], limit, nil)
	b.t.mu.Unlock()
	if err == io.EOF && b.last {
		b.t.end(true)
	}
	return n, err
}

func (b *teeing) Close() error {
	if b.last {
		b.t.end(false)
	}
	return b.ReadCloser.Close()
}
