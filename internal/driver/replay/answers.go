package replay

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// classUnexpected is the failure class of an answer whose status does not match the recorded one.
const classUnexpected = "unexpected"

// answers is the http.Recording of a log: it says what to send and how to judge the answer.
type answers struct{ o *Options }

// Ask implements http.Recording.
func (a *answers) Ask(op *takt.Op, q *http.Asked) {
	o, rec := a.o, op.Data.(*trace.Record)
	q.Method, q.URI, q.Lines, q.Typed = rec.Method, rec.URI, rec.Header, rec.Typed
	if o.KeepHost && isHost(rec.Host) {
		q.Host = rec.Host
	}
	switch n := o.bodySize(rec); {
	case len(rec.Body) > 0:
		q.Body = append(q.Body, rec.Body...)
	case n > 0:
		q.Body = o.random.Append(q.Body, int(n), op.Seq)
	}
	if o.Seed.S3 {
		a.sign(q)
	}
}

// bodySize is the size of a request's body: of the recorded body, or of random bytes in the recorded
// size, at most mostBody.
func (o *Options) bodySize(rec *trace.Record) int64 {
	switch {
	case isReading(rec.Method):
		return 0
	case len(rec.Body) > 0:
		return int64(len(rec.Body))
	}
	return min(max(0, rec.RequestBytes), o.mostBody())
}

// isHost reports whether a recorded host is valid in a Host header.
func isHost(host []byte) bool {
	for _, c := range host {
		if c <= ' ' || c >= 0x7f || c == '/' || c == '?' || c == '#' || c == '@' || c == '\\' || c == ',' || c == '"' {
			return false
		}
	}
	return len(host) > 0
}

// sign puts the bucket in front of the URI and signs the request with the current time.
func (a *answers) sign(q *http.Asked) {
	s := &a.o.Seed
	q.URI = append([]byte("/"+s.Bucket), q.URI...)
	host, prefix := a.o.HTTP.Endpoint()
	if len(q.Host) > 0 {
		host = string(q.Host)
	}
	signer := signer{Key: s.Key, Secret: s.Secret, Region: s.Region}
	signed := signer.Sign(signedRequest{
		Method: string(q.Method), Host: host, URI: prefix + string(q.URI), PayloadHash: payloadHash(q.Body), At: time.Now(),
	})
	q.Header = append(q.Header,
		http1.Field{Name: "Authorization", Value: signed.Authorization},
		http1.Field{Name: "X-Amz-Date", Value: signed.Date},
		http1.Field{Name: "X-Amz-Content-Sha256", Value: signed.PayloadHash})
}

// Class implements http.Recording.
func (a *answers) Class(op *takt.Op, status int) string {
	want := op.Data.(*trace.Record).Expected
	switch {
	case !trace.IsAnswer(want):
		return a.o.HTTP.FailOn.Class(status)
	case trace.IsExpected(want, status):
		return ""
	}
	return classUnexpected
}

// isBad reports a bad reply as the predecessor defines it: a status from 400 on, except a 404 to a
// GET or HEAD.
func isBad(method []byte, status int) bool {
	return status >= 400 && !(status == 404 && isReading(method))
}

// shown is how many failures are shown without --verbose.
const shown = 10

// Wants implements http.Recording.
func (a *answers) Wants() bool {
	return a.o.Seed.Verbose || a.o.run.Load().printer.count.Load() < shown
}

// Answered implements http.Recording.
func (a *answers) Answered(op *takt.Op, e *http.Exchange) {
	o, rec := a.o, op.Data.(*trace.Record)
	o.run.Load().ledger.answered(op.Seq, e.BodyBytes)
	r := e.Result
	if r.Class == classUnexpected && r.Err == nil {
		r.Err = fmt.Errorf("status %d, recorded was %d: %s %s (%s:%d)", r.Status, rec.Expected, rec.Method, rec.URI, rec.File, rec.Line)
	}
	if len(e.Request) == 0 || !o.Seed.Verbose && r.Class == "" && !isBad(rec.Method, r.Status) {
		return
	}
	o.run.Load().printer.exchange(rec, e, o.Seed.Verbose)
}

// Describe implements http.Recording. Options.Variables already has everything.
func (a *answers) Describe(map[string]any) {}
