package http

import (
	"context"
	"hash/maphash"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Asker sends requests of the load one by one, without measuring them, and keeps their answers.
type Asker struct {
	c    *netClient
	seed maphash.Seed
}

// Asker opens an asker, after Validate. Only net/http sends its requests: they are the same as those of takt's own
// client.
func (o *Options) Asker() (*Asker, error) {
	if o.Scenario != "" {
		return nil, value.Faultf("the requests of a scenario depend on its answers, so base and head would not get the same ones; compare the answers of its URLs by --targets")
	}
	return &Asker{o.newNetClient(), sums}, nil
}

// sums is the seed of the hashes of long bodies, which two askers compare.
var sums = maphash.MakeSeed()

// Ask sends the request of an operation, and returns its answer.
func (a *Asker) Ask(ctx context.Context, op *takt.Op) (answer answers.Answer) {
	ctx, cancel := context.WithTimeout(ctx, a.c.o.Timeout)
	defer cancel()
	start := time.Now()
	t := &trace{start: start, since: start, r: &takt.Result{}, cancel: cancel, observed: &engine.Observed{}}
	ctx = context.WithValue(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: switched}), traceKey{}, t)
	req, err := a.c.request(ctx, op)
	if err != nil {
		answer.Failed = classRequest
		return answer
	}
	answer.Request = req.Method + " " + req.URL.RequestURI()
	w := &netWorker{c: a.c, client: a.c.clients[0]}
	resp, err := w.send(req)
	if err != nil {
		w.fail(ctx, t.r, err, t)
		answer.Failed = t.r.Class
		return answer
	}
	answer.Status, answer.Header = resp.StatusCode, resp.Header
	if resp.StatusCode != http.StatusSwitchingProtocols { // what comes now would have no end
		a.read(resp, &answer)
	}
	resp.Body.Close()
	return answer
}

// read reads a body within the bounds of answers.
func (a *Asker) read(resp *http.Response, to *answers.Answer) {
	var k http1.Kept
	var rest maphash.Hash
	rest.SetSeed(a.seed)
	in := make([]byte, 32<<10)
	var err error
	for err == nil && to.Size < answers.MostRead {
		var n int
		n, err = resp.Body.Read(in)
		k.Add(in[:n], answers.MostKept, nil)
		if to.Size += int64(n); to.Size > answers.MostKept {
			_, _ = rest.Write(in[max(0, n-int(to.Size-answers.MostKept)):n]) // cannot fail
		}
	}
	if err != nil && err != io.EOF {
		to.Broken = engine.Classify(err)
	}
	c, release := http1.ContentOf(&k, http1.CodingOf(resp.Header["Content-Encoding"]))
	defer release()
	to.Body, to.Whole, to.Rest = append([]byte(nil), c.Bytes...), c.Why == nil || to.Size == 0, rest.Sum64()
}

// Close closes the connections.
func (a *Asker) Close() error { return a.c.close() }
