package http

import (
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/parts"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// defaultStreamMost is the largest size of an answer in parts.
const defaultStreamMost = 1 << 30

// apartMost is how far apart parts of one read may have come for their gaps to be known: as 0. Parts that a server
// sends together come in one read, and so do those that a client reads late.
const apartMost = 2 * time.Millisecond

// checkStream refuses what means nothing, and ways that measure no parts. why is what needs net/http.
func (o *Options) checkStream(why string) (faults value.Faults) {
	faults.If(o.StreamMost != defaultStreamMost && !o.Stream, "--stream-max is given without --stream; add that")
	faults.If(o.StreamMost < 1, "--stream-max must be above 0; a stream without a bound can go on for ever")
	switch {
	case !o.Stream:
		return faults
	case o.Scenario != "":
		why = "steps of users (--scenario)"
	case o.UnixSocket != "":
		why = "unix sockets (--unix-socket)"
	case o.Client == clientNet:
		why = o.lacks(byNet)
	}
	faults.If(why != "", "--stream measures no parts with %s; drop one of the two", why)
	return faults
}

// streamCodec measures the parts of answers.
type streamCodec struct {
	*http1.Codec
	reader parts.Reader
	kind   parts.Kind
	coded  bool // the answer is compressed
	coming engine.Coming
	ended  int           // parts in this read
	parts  int           // of the answer
	last   time.Duration // when the last part came
	known  bool          // last is exact
	most   time.Duration // longest known gap
}

// streamed is a codec that measures parts.
func (o *Options) streamed(requests http1.Requests, opt http1.Options) *streamCodec {
	c := &streamCodec{}
	opt.MaxBody = o.StreamMost
	opt.Field, opt.Body = c.field, c.body
	c.Codec = http1.NewCodec(requests, opt)
	c.begin()
	return c
}

// begin prepares c for another answer.
func (c *streamCodec) begin() {
	c.reader.Reset(parts.Chunks, 0)
	c.kind, c.coded = parts.Chunks, false
	c.parts, c.last, c.known, c.most = 0, 0, false, 0
}

// Reset implements takt.Codec.
func (c *streamCodec) Reset() {
	c.Codec.Reset()
	c.begin()
}

// field notes how the answer comes in parts.
func (c *streamCodec) field(name, value []byte) {
	switch {
	case len(name) == len("content-type") && strings.EqualFold(string(name), "content-type"):
		c.kind = parts.KindOf(string(value))
	case len(name) == len("content-encoding") && strings.EqualFold(string(name), "content-encoding"):
		c.coded = c.coded || http1.JoinCodings("", value) != ""
	default:
		return
	}
	if c.reader.Reset(c.kind, 0); c.coded {
		c.reader.Reset(parts.Chunks, 0) // events cannot be seen
	}
}

// body reads a piece of the answer.
func (c *streamCodec) body(b []byte, ends bool) error {
	c.reader.Feed(b)
	c.count()
	if ends {
		c.reader.Cut()
		c.count()
	}
	return c.reader.Err()
}

// count counts the parts that ended.
func (c *streamCodec) count() {
	for _, ok := c.reader.Next(); ok; _, ok = c.reader.Next() {
		c.ended++
	}
}

// Came implements engine.Parted.
func (c *streamCodec) Came(in engine.Coming) { c.coming = in }

// Parse implements takt.Codec.
func (c *streamCodec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	c.ended = 0
	n, p = c.Codec.Parse(in, eof, r)
	if p != takt.More && r.Class == "" {
		c.reader.End()
		c.count()
	}
	if c.ended > 0 {
		c.measure()
	}
	if p != takt.More {
		if c.most > 0 {
			c.record(engine.PhaseMaxGap, c.most)
		}
		c.begin()
	}
	return n, p
}

// measure notes when the parts of a read came. The bytes of a read have one instant, that of the last of them. So only
// of a part that ends a read the instant is known, or if all that was read came within apartMost. The gaps of other
// parts are the client's, which read too late to know them.
func (c *streamCodec) measure() {
	in, gaps := &c.coming, c.ended
	near := in.At-in.From <= apartMost
	late := !near && (c.ended > 1 || c.reader.Open())
	if c.parts == 0 {
		gaps--
		first := engine.PhaseFirstPart
		if late {
			first = engine.PhaseFirstPartUnknown
		}
		c.record(first, in.At-in.Sent)
		c.record(engine.PhaseFirstPartDue, in.At-in.Due)
	}
	if late || c.parts > 0 && !c.known {
		c.unknown(gaps)
	} else {
		c.gaps(gaps)
	}
	c.parts += c.ended
	c.last, c.known = in.At, near || !c.reader.Open()
}

// unknown notes n gaps of which only the longest possible length is known.
func (c *streamCodec) unknown(n int) {
	most := c.coming.At - c.coming.From
	if c.parts > 0 {
		most = c.coming.At - c.last
	}
	for range n {
		c.record(engine.PhaseGapUnknown, most)
	}
}

// gaps notes n known gaps. Parts that came together have none.
func (c *streamCodec) gaps(n int) {
	for i := range n {
		var d time.Duration
		if c.parts > 0 && i == 0 {
			d = c.coming.At - c.last
			if c.ended > 1 {
				d = c.coming.From - c.last // so that it is never longer than it was
			}
		}
		c.record(engine.PhaseGap, d)
		c.most = max(c.most, d, 1)
	}
}

func (c *streamCodec) record(phase int, d time.Duration) {
	c.coming.Record(phase, c.coming.Due, max(1, d))
}
