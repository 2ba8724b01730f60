package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/pkg/takt"
)

// driver makes a driver that calls h.
func driver(h RequestHandler) *takt.Driver {
	call := func(_ context.Context, i int) error { return h.ExecuteRequest(i) }
	if c, ok := h.(ContextHandler); ok {
		call = c.ExecuteRequestContext
	}
	return &takt.Driver{Worker: func(int) (takt.Worker, error) { return &worker{call: call}, nil }}
}

// worker numbers its calls.
type worker struct {
	call func(ctx context.Context, localIndex int) error
	next int
}

// Do implements takt.Worker. Each error text is a class, so the recorder counts it exactly,
// up to 64 texts.
func (w *worker) Do(ctx context.Context, _ *takt.Op, r *takt.Result) {
	i := w.next
	w.next++
	if err := w.call(ctx, i); err != nil {
		r.Class = message(err)
	}
}

// Close implements takt.Worker; there is nothing to close.
func (*worker) Close() error { return nil }

// maxMessage is the largest length of an error's text in bytes, as in drivers' samples.
const maxMessage = 300

// message is err's text for the report: one line without terminal control characters, of
// limited length. It is never empty, because an empty text means success.
func message(err error) string {
	s := err.Error()
	if len(s) > 2*maxMessage {
		s = s[:2*maxMessage] // limits the work as well
	}
	s = foreign.Line(localPort(s))
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage-len("…")], "") + "…"
	}
	if s == "" {
		return fmt.Sprintf("an error of type %T without a text", err)
	}
	return s
}

// localPort removes the generator's own port from a network error, as in "read tcp
// 127.0.0.1:41412->127.0.0.1:80: …". Every broken connection has another port, and would be a
// text of its own.
func localPort(s string) string {
	parts := strings.Split(s, "->")
	for i, part := range parts[:len(parts)-1] {
		bare := strings.TrimRight(part, "0123456789")
		if bare != part && strings.HasSuffix(bare, ":") {
			parts[i] = bare + "*"
		}
	}
	return strings.Join(parts, "->")
}
