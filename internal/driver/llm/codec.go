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
	good, undecided  atomic.Uint64   // they meet all SLOs; they may, as far as takt knows
	missed           []atomic.Uint64 // for each SLO, those that do not meet it
	output, input    atomic.Uint64   // tokens
	cached           atomic.Uint64   // of input, those that servers had in their caches
	byUsage, byParts atomic.Uint64   // where the number of output tokens is from
	length           atomic.Uint64   // they ended at the limit of tokens
}

// codec reads the answers of one connection.
type codec struct {
	*http.StreamCodec
	plan   *plan
	stream answer.Stream
	in     engine.Coming // the read under way
	said   answer.Said   // of the parts in this read
	first  time.Duration // instant of the first output that is no reasoning; 0: none
	end    time.Duration // instant of the part that ended the answer; 0: none
}

func newCodec(p *plan) *codec {
	c := &codec{plan: p}
	c.StreamCodec = p.o.conn.ListenTo(p, c.hear)
	return c
}

// hear reads a part, and reports whether it has output.
func (c *codec) hear(p parts.Part) bool {
	if _, _, streams := c.Form(); !streams {
		return false
	}
	said := c.stream.Read(p)
	c.said.Output |= said.Output
	c.said.Terminal = c.said.Terminal || said.Terminal
	return said.Output != 0
}

// Starts implements engine.Parted.
func (c *codec) Starts(tag int, due, sent time.Duration) {
	c.StreamCodec.Starts(tag, due, sent)
	c.stream.Reset(c.plan.o.api)
	c.said, c.first, c.end = answer.Said{}, 0, 0
}

// Came implements engine.Parted.
func (c *codec) Came(in engine.Coming) {
	c.in = in
	c.StreamCodec.Came(in)
}

// Parse implements takt.Codec.
func (c *codec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	n, p = c.StreamCodec.Parse(in, eof, r)
	c.note()
	if p != takt.More {
		c.ended(r)
	}
	return n, p
}

// note notes when the parts of this read came.
func (c *codec) note() {
	if c.first == 0 && c.said.Output&^answer.Reasoning != 0 {
		c.first = c.in.At
		c.in.Record(phaseTTFO, c.Known().Due, max(1, c.first-c.Known().Due))
	}
	if c.said.Terminal {
		c.end = c.in.At
	}
	c.said = answer.Said{}
}

// ended judges and counts an answer.
func (c *codec) ended(r *takt.Result) {
	if r.Class == "" {
		r.Class, r.Err = c.fault()
	}
	if r.Class != "" {
		return
	}
	f := c.figures()
	if known := c.Known(); known.FirstKnown && f[tpot].high > 0 {
		c.in.Record(phaseTPOT, known.Due, f[tpot].high)
	}
	if c.Known().Due >= c.plan.o.warmup {
		c.plan.count(&c.stream, &f)
	}
}

// fault is why an answer with a good status failed; "": it did not.
func (c *codec) fault() (class string, err error) {
	switch kind, coding, streams := c.Form(); {
	case streams:
	case coding != "":
		return classNoStream, fmt.Errorf("the answer is compressed with %q, which takt did not ask for; turn that off in the server", coding)
	default:
		return classNoStream, fmt.Errorf("the answer is no stream, its content type is %q; is the path that of the API?", kind)
	}
	var event *answer.EventError
	switch err = c.stream.Err(); {
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
func (c *codec) figures() (f figures) {
	t := c.Known()
	if c.end == 0 {
		c.end = c.in.At
	}
	f[e2e] = exactly(c.end - t.Due)
	f[ttfo] = f[e2e]
	if c.first > 0 {
		f[ttfo] = exactly(c.first - t.Due)
	}
	first, earliest := t.First, t.First
	if first == 0 {
		first, earliest = c.end, c.end
	} else if !t.FirstKnown {
		earliest = t.Sent
	}
	f[ttft] = span{earliest - t.Due, first - t.Due}
	f[maxGap] = span{t.MaxGap, max(t.MaxGap, t.Doubt)}
	if n, _ := c.stream.Tokens(); n > 1 {
		f[tpot] = span{(c.end - first) / time.Duration(n-1), max(1, (c.end-earliest)/time.Duration(n-1))}
	}
	return f
}

// count counts a good answer.
func (p *plan) count(s *answer.Stream, f *figures) {
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
	case anyMissed:
	case anyUnknown:
		p.undecided.Add(1)
	default:
		p.good.Add(1)
	}
}
