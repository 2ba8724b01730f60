package sim

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/llm"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// goodWithin is the condition of requests to a language model: end to end.
const goodWithin = 20 * time.Millisecond

// failures are the classes of answers that fail with status 200, by the fault that the model injects.
var failures = map[string]string{"error event": "error_event", "no last event": "cut"}

// speech is what a language model says in the answer to a request.
type speech struct {
	events    int // with a token
	reasoning int // of them, at the beginning
	counted   int // tokens by usage; 0: the answer has no usage
	input     int
	length    bool // ended at the limit of tokens
	fault     string
	first     time.Duration // when the first token reached the client that is no reasoning; 0: none did
}

// speak decides what the model says in n events with a token.
func (v *server) speak(r *request, n int) {
	w := v.w
	s := &speech{events: n, input: 1 + w.rng.IntN(500), length: w.rng.IntN(2) == 0}
	if w.rng.IntN(3) == 0 {
		s.reasoning = w.rng.IntN(n + 1)
	}
	if w.rng.IntN(4) > 0 {
		s.counted = n + w.rng.IntN(3)
	}
	switch {
	case w.chance("error event", w.sc.Errors):
		s.fault = "error event"
	case w.chance("no last event", w.sc.Unended):
		s.fault = "no last event"
	}
	if s.fault != "" {
		r.fault = s.fault
	}
	r.speech = s
}

// sse is a server-sent event with these data.
func sse(format string, args ...any) string { return "data: " + fmt.Sprintf(format, args...) + "\n\n" }

// role is the event before all tokens, which is no token.
func (s *speech) role() string {
	return sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
}

// token is event i, counted from 1.
func (s *speech) token(i int) string {
	channel := "content"
	if i <= s.reasoning {
		channel = "reasoning_content"
	}
	return sse(`{"choices":[{"index":0,"delta":{%q:"word"},"finish_reason":null}]}`, channel)
}

// end has the events behind the last token.
func (s *speech) end() string {
	var b strings.Builder
	switch s.fault {
	case "no last event":
		return sse(`{"choices":[{"index":0,"delta":{}}]}`)
	case "error event":
		b.WriteString(sse(`{"error":{"message":"out of memory"}}`))
	default:
		reason := "stop"
		if s.length {
			reason = "length"
		}
		b.WriteString(sse(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason))
	}
	if s.counted > 0 {
		b.WriteString(sse(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, s.input, s.counted))
	}
	return b.String() + sse("[DONE]")
}

// talker is the codec of takt llm whose requests the target knows by their number.
type talker struct {
	takt.Codec
	engine.Parted
	requests requests
}

// Append implements takt.Codec.
func (t talker) Append(dst []byte, op *takt.Op) []byte {
	t.Codec.Append(nil, op)
	dst, _, _ = t.requests.Append(dst, op)
	return dst
}

// listen makes the driver of p that of takt llm.
func (w *world) listen(e *engine.Options, p *engine.Plan) error {
	o := llm.New()
	o.Words, o.SLOs = "1", []string{fmt.Sprintf("e2e<%v", goodWithin)}
	o.Shape(e)
	if faults := o.Validate([]string{"http://" + address.String() + "/v1/chat/completions"}); len(faults) > 0 {
		return faults[0]
	}
	d, err := o.Open(context.Background(), 0)
	if err != nil {
		return err
	}
	codec, own := d.Loop.Codec, p.Driver.Loop
	own.Codec = func(i int) takt.Codec {
		c := codec(i)
		return talker{c, c.(engine.Parted), requests{w}}
	}
	d.Loop, p.Driver, p.Kind = own, d, tokens.Key
	return nil
}

// speeches checks tokens, classes, goodput and the latencies of takt llm against what the model said, by docs/llm.md.
func (k *checker) speeches(w *world, rep *takt.Report) {
	var want tokens.Figures
	good, last := uint64(0), time.Duration(rep.DurationS*1e9)
	for i := range k.rows {
		r := &k.rows[i]
		q := w.net.srv.requests[r.Seq]
		if q == nil || q.speech == nil {
			continue // not served, or refused
		}
		k.speech(r, q, w.origin, rep.Latency["ttft_unknown"].Count+rep.Latency["gap_unknown"].Count == 0)
		if s := q.speech; r.Class == "" {
			want = want.Plus(s.figures())
			if last = max(last, r.Done-k.sc.Warmup); r.Done-r.Due < goodWithin {
				good++
			}
		}
	}
	want.Lasted = last.Seconds()
	got, ok := tokens.Of(rep)
	if lasted := got.Lasted - want.Lasted; got.Output > 0 && math.Abs(lasted) > 1e-6 {
		k.fault("tokens", "the rate is over %v s, and the last answer ended after %v s", got.Lasted, want.Lasted)
	}
	if want.From == 0 {
		want.From = tokens.Parts
	}
	if got.Lasted = want.Lasted; !ok || got != want {
		k.fault("tokens", "the report has %+v, and the model sent %+v", got, want)
	}
	if g := rep.Goodput; g == nil || g.Good != good || g.Undecided != 0 || g.Missed["e2e<"+goodWithin.String()] != rep.Counts.OK-good {
		k.fault("goodput", "%+v; %d of %d answers ended in time", g, good, rep.Counts.OK)
	}
}

// figures are those of a good answer.
func (s *speech) figures() tokens.Figures {
	f := tokens.Figures{Output: uint64(s.events), From: tokens.Parts}
	if s.counted > 0 {
		f.Output, f.Input, f.From = uint64(s.counted), uint64(s.input), tokens.Usage
	}
	if s.length {
		f.Length = 1
	}
	return f
}

// failed reports whether an operation failed by its fault, although HTTP ended its answer as it should: then one read may
// have its last part and its end.
func (s *speech) failed(r *takt.Sample) bool {
	return s != nil && s.fault != "" && r.Class == failures[s.fault]
}

// speech checks an operation.
func (k *checker) speech(r *takt.Sample, q *request, origin time.Duration, inTime bool) {
	const rowTPOT, rowTTFO = engine.RowOwn, engine.RowOwn + 1
	s := q.speech
	for fault, class := range failures {
		if r.Class == class && s.fault != fault {
			k.fault("class", "operation %d failed (%s), and the fault of its answer is %q", r.Seq, r.Class, s.fault)
		}
	}
	if r.Class == "" && s.fault != "" {
		k.fault("class", "operation %d is ok, and its answer has the fault %q", r.Seq, s.fault)
	}
	off := k.partsExact() + together
	came := s.first - origin - r.Due
	switch got := r.Timed[rowTTFO]; {
	case got > 0 && (s.first == 0 || got < came-k.partsExact()):
		k.fault("parts", "operation %d has its first token of content after %v, and it came after %v", r.Seq, got, came)
	case r.Class == "" && s.first > 0 && (got == 0 || inTime && got > came+off):
		k.fault("parts", "operation %d has its first token of content after %v, although it came after %v", r.Seq, got, came)
	}
	if n := s.figures().Output; r.Class == "" && n > 1 && inTime {
		truly := (q.answered - q.parts[0]) / time.Duration(n-1)
		if got := r.Timed[rowTPOT]; (got - truly).Abs() > off {
			k.fault("parts", "operation %d has %v per token, and truly it was %v", r.Seq, got, truly)
		}
	}
}
