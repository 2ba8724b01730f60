package replay

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// classUnexpected is the failure class of an answer with another status than was
// recorded.
const classUnexpected = "unexpected"

// answers is the http.Recording of a log: what to send, and what to think of the answer.
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

// bodySize is how many bytes a request brings along: those that were recorded, or as many
// random ones as there may be.
func (o *Options) bodySize(rec *trace.Record) int64 {
	switch {
	case isReading(rec.Method):
		return 0
	case len(rec.Body) > 0:
		return int64(len(rec.Body))
	}
	return min(max(0, rec.RequestBytes), o.mostBody())
}

// isHost reports whether a recorded host can stand in a header.
func isHost(host []byte) bool {
	for _, c := range host {
		if c <= ' ' || c >= 0x7f || c == '/' || c == '?' || c == '#' || c == '@' || c == '\\' || c == ',' || c == '"' {
			return false
		}
	}
	return len(host) > 0
}

// sign puts the request below its bucket and signs it as of now.
func (a *answers) sign(q *http.Asked) {
	s := &a.o.Seed
	q.URI = append([]byte("/"+s.Bucket), q.URI...)
	host, prefix := a.o.HTTP.Endpoint()
	if len(q.Host) > 0 {
		host = string(q.Host)
	}
	signer := trace.Signer{Key: s.Key, Secret: s.Secret, Region: s.Region}
	signed := signer.Sign(trace.SignRequest{
		Method: string(q.Method), Host: host, URI: prefix + string(q.URI), PayloadHash: trace.PayloadHash(q.Body), At: time.Now(),
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

// isBad is what the predecessor calls a bad reply, as far as it is a failure: 404 to a
// GET is none.
func isBad(method []byte, status int) bool {
	return status >= 400 && !(status == 404 && isReading(method))
}

// shown is how many bad exchanges are shown without --verbose.
const shown = 10

// Wants implements http.Recording.
func (a *answers) Wants() bool {
	return a.o.Seed.Verbose || a.o.run.Load().printer.count.Load() < shown
}

// Answered implements http.Recording.
func (a *answers) Answered(op *takt.Op, e *http.Exchange) {
	o, rec := a.o, op.Data.(*trace.Record)
	o.run.Load().ledger.answered(op.Seq/o.shards, op.Seq, e.BodyBytes)
	r := e.Result
	if r.Class == classUnexpected && r.Err == nil {
		r.Err = fmt.Errorf("status %d, recorded was %d: %s %s (%s:%d)", r.Status, rec.Expected, rec.Method, rec.URI, rec.File, rec.Line)
	}
	if len(e.Request) == 0 || !o.Seed.Verbose && r.Class == "" && !isBad(rec.Method, r.Status) {
		return
	}
	o.run.Load().printer.exchange(rec, e, o.Seed.Verbose)
}

// Describe implements http.Recording; Options.Variables says all.
func (a *answers) Describe(map[string]any) {}
