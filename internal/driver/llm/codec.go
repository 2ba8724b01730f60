package llm

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/parts"
	"github.com/taktload/takt/pkg/takt"
)

// Failure classes of answers with a good status.
const (
	classEvent     = "error_event" // the server sent an error within the stream
	classCut       = "cut"         // the stream ended without its last event
	classNoChoices = "no_choices"  // the answer has no output and no reason for that
	classNoStream  = "no_stream"   // the answer is one body
)

// plan is what a run sends and counts.
type plan struct {
	*requests
	o *Options

	// Of requests that ended well and were not due in the warm-up:
	missed           []atomic.Uint64 // for each SLO, those that do not meet it
	output, input    atomic.Uint64   // tokens
	cached           atomic.Uint64   // of input, those that servers had in their caches
	byUsage, byParts atomic.Uint64   // where the number of output tokens is from
	length           atomic.Uint64   // they ended at the limit of tokens
	last             atomic.Int64    // when the last of them ended, in nanoseconds since the start of the run
}

// reading is the answer under way of a connection, or of a stream of one.
type reading struct {
	plan    *plan
	turn    *turn // of a conversation; nil: there is none
	stream  answer.Stream
	said    answer.Said   // of the parts in this read
	counted bool          // the first token is
	first   time.Duration // instant of the first output that is no reasoning; 0: none
	end     time.Duration // instant of the part that ended the answer; 0: none
	failed  time.Duration // instant of the server's own error; 0: none
}

// newReading prepares a reading for all answers of a connection, one after the other.
func newReading(p *plan) *reading {
	a := &reading{plan: p}
	if p.o.converses() {
		a.stream.Gather(func(text []byte) { a.turn.talk.hear(text) })
	}
	return a
}

// begin prepares a for the answer to op.
func (a *reading) begin(op *takt.Op) {
	if a.turn, _ = op.Data.(*turn); a.turn != nil {
		a.turn.talk.answer = nil
	}
}

// starts prepares a for an answer.
func (a *reading) starts() {
	a.stream.Reset(a.plan.o.api)
	a.said, a.counted, a.first, a.end, a.failed = answer.Said{}, false, 0, 0, 0
}

// hear reads a part, and reports whether it has output.
func (a *reading) hear(p parts.Part, form http.Form) bool {
	if !form.Streams {
		return false
	}
	said := a.stream.Read(p)
	a.said.Output |= said.Output
	a.said.Terminal = a.said.Terminal || said.Terminal
	return said.Output != 0
}

// note notes when the parts of this read came.
func (a *reading) note(in *engine.Coming, t http.Timing, r *takt.Result) {
	if t.First > 0 && !a.counted {
		if a.counted = true; a.turn != nil {
			in.Record(a.turn.phase(), t.Due, max(1, t.First-t.Due))
		}
	}
	if a.first == 0 && a.said.Output&^answer.Reasoning != 0 {
		a.first = in.At
		r.Timed[rowTTFO] = max(1, a.first-t.Due)
		in.Record(phaseTTFO, t.Due, r.Timed[rowTTFO])
	}
	if a.said.Terminal {
		a.end = in.At
	}
	if a.failed == 0 && a.stream.Failed() {
		a.failed = in.At
	}
	a.said = answer.Said{}
}

// judge is http.Listener.Judge.
func (a *reading) judge(form http.Form, r *takt.Result) time.Duration {
	r.Class, r.Err = a.fault(form, int(r.Status))
	return a.failed
}

// ended counts an answer.
func (a *reading) ended(in *engine.Coming, t http.Timing, r *takt.Result) {
	if r.Class != "" {
		return
	}
	f := a.figures(in, t)
	if t.FirstKnown && f[tpot].high > 0 {
		r.Timed[rowTPOT] = f[tpot].high
		in.Record(phaseTPOT, t.Due, f[tpot].high)
	}
	if t.Due >= a.plan.o.warmup {
		a.plan.ends(a.end)
		r.Goal = a.plan.count(&a.stream, &f)
	}
}

// fault is why an answer with a good status failed; "": it did not.
func (a *reading) fault(form http.Form, status int) (class string, err error) {
	switch {
	case form.Streams:
	case status >= 300:
		return classNoStream, fmt.Errorf("the server answers with status %d and no stream; give the url that it redirects to", status)
	case form.Coding != "":
		return classNoStream, fmt.Errorf("the answer is compressed with %q, which takt did not ask for; turn that off in the server", form.Coding)
	default:
		return classNoStream, fmt.Errorf("the answer is no stream, its content type is %q; check that the url is that of the API, and that the server streams", form.ContentType)
	}
	var event *answer.EventError
	switch err = a.stream.Err(); {
	case err == nil:
		return "", nil
	case errors.As(err, &event):
		return classEvent, err
	case errors.Is(err, answer.ErrNoChoices):
		return classNoChoices, err
	}
	return classCut, err
}

// figures are those of a good answer. An answer without output has the first token at its end.
func (a *reading) figures(in *engine.Coming, t http.Timing) (f figures) {
	if a.end == 0 {
		a.end = in.At
	}
	f[e2e] = exactly(a.end - t.Due)
	f[ttfo] = f[e2e]
	if a.first > 0 {
		f[ttfo] = exactly(a.first - t.Due)
	}
	first, earliest := t.First, t.First
	if first == 0 {
		first, earliest = a.end, a.end
	} else if !t.FirstKnown {
		earliest = t.Sent
	}
	f[ttft] = span{earliest - t.Due, first - t.Due}
	f[maxGap] = span{t.MaxGap, max(t.MaxGap, t.Doubt)}
	if n, _ := a.stream.Tokens(); n > 1 {
		f[tpot] = span{(a.end - first) / time.Duration(n-1), max(1, (a.end-earliest)/time.Duration(n-1))}
	}
	return f
}

// codec reads the answers of one connection.
type codec struct {
	*http.StreamCodec
	reading *reading
	in      engine.Coming // the read under way
}

func newCodec(p *plan) *codec {
	c := &codec{reading: newReading(p)}
	c.StreamCodec = p.o.conn.ListenTo(p.o.url, p.requests, c)
	return c
}

// Hear implements http.Listener.
func (c *codec) Hear(_ int, p parts.Part) bool { return c.reading.hear(p, c.Form()) }

// Judge implements http.Listener.
func (c *codec) Judge(_ int, r *takt.Result) time.Duration { return c.reading.judge(c.Form(), r) }

// Append implements takt.Codec.
func (c *codec) Append(dst []byte, op *takt.Op) []byte {
	c.reading.begin(op)
	return c.StreamCodec.Append(dst, op)
}

// Starts implements engine.Parted.
func (c *codec) Starts(tag int, due, sent time.Duration, r *takt.Result) {
	c.StreamCodec.Starts(tag, due, sent, r)
	c.reading.starts()
}

// Came implements engine.Parted.
func (c *codec) Came(in engine.Coming) {
	c.in = in
	c.StreamCodec.Came(in)
}

// Parse implements takt.Codec.
func (c *codec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	n, p = c.StreamCodec.Parse(in, eof, r)
	c.reading.note(&c.in, c.Known(), r)
	if p != takt.More {
		c.reading.ended(&c.in, c.Known(), r)
	}
	return n, p
}

// mux reads the answers of one connection over HTTP/2.
type mux struct {
	*http.StreamMux
	plan     *plan
	readings []*reading     // by tag
	results  []*takt.Result // by tag
	heard    []int          // tags of the answers in this read
	in       engine.Coming
}

func newMux(p *plan) *mux {
	m := &mux{plan: p}
	m.StreamMux = p.o.conn.ListenMux(p.requests, m)
	return m
}

// Hear implements http.Listener.
func (m *mux) Hear(tag int, p parts.Part) bool {
	m.heard = append(m.heard, tag)
	return m.readings[tag].hear(p, m.Form(tag))
}

// Judge implements http.Listener.
func (m *mux) Judge(tag int, r *takt.Result) time.Duration {
	return m.readings[tag].judge(m.Form(tag), r)
}

// reading is the answer with this tag.
func (m *mux) reading(tag int) *reading {
	for tag >= len(m.readings) {
		m.readings, m.results = append(m.readings, newReading(m.plan)), append(m.results, nil)
	}
	return m.readings[tag]
}

// Begin implements takt.Mux.
func (m *mux) Begin(op *takt.Op, tag int, r *takt.Result) {
	m.reading(tag).begin(op)
	m.results[tag] = r
	m.StreamMux.Begin(op, tag, r)
}

// Starts implements engine.Parted.
func (m *mux) Starts(tag int, due, sent time.Duration, r *takt.Result) {
	m.StreamMux.Starts(tag, due, sent, r)
	m.reading(tag).starts()
}

// Came implements engine.Parted.
func (m *mux) Came(in engine.Coming) {
	m.in = in
	m.StreamMux.Came(in)
}

// Parse implements takt.Mux.
func (m *mux) Parse(in []byte, eof bool, list []takt.MuxEvent) (n int, _ []takt.MuxEvent, alive bool) {
	m.heard = m.heard[:0]
	had := len(list)
	n, list, alive = m.StreamMux.Parse(in, eof, list)
	for _, tag := range m.heard {
		m.readings[tag].note(&m.in, m.Known(tag), m.results[tag])
	}
	for _, e := range list[had:] {
		if e.Kind == takt.MuxEnd {
			m.readings[e.Tag].ended(&m.in, m.Known(e.Tag), m.results[e.Tag])
		}
	}
	return n, list, alive
}

// ends notes that a good answer ended at this instant.
func (p *plan) ends(at time.Duration) {
	for last := p.last.Load(); int64(at) > last && !p.last.CompareAndSwap(last, int64(at)); last = p.last.Load() {
	}
}

// count counts a good answer, and says whether it meets the SLOs.
func (p *plan) count(s *answer.Stream, f *figures) takt.Goal {
	n, usage := s.Tokens()
	p.output.Add(uint64(n))
	p.input.Add(uint64(s.Input()))
	p.cached.Add(uint64(s.Cached()))
	if usage {
		p.byUsage.Add(1)
	} else {
		p.byParts.Add(1)
	}
	if s.Length() {
		p.length.Add(1)
	}
	anyMissed, anyUnknown := false, false
	for i, condition := range p.o.slos {
		missed, unknown := condition.misses(f)
		if missed {
			p.missed[i].Add(1)
		}
		anyMissed, anyUnknown = anyMissed || missed, anyUnknown || unknown
	}
	switch {
	case len(p.o.slos) == 0:
		return takt.NoGoal
	case anyMissed:
		return takt.GoalMissed
	case anyUnknown:
		return takt.GoalUnknown
	}
	return takt.GoalMet
}
