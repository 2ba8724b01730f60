package http

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/internal/parts"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
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
	case o.Client == clientNet:
		why = o.lacks(byNet)
	}
	faults.If(why != "", "--stream measures no parts with %s; drop one of the two", why)
	return faults
}

// unknownMost is the share of gaps that may be unknown without a warning.
const unknownMost = 0.01

// ReportParts warns if takt knows too little of the gaps.
func ReportParts(r *takt.Report) {
	known, unknown := r.Latency["gap"].Count, r.Latency["gap_unknown"].Count
	if share := float64(unknown) / float64(max(1, known+unknown)); share > unknownMost {
		r.Warn(warn.UnknownGaps, "%.2g %% of the gaps between parts are unknown: takt read several parts at once, later than they came; %s",
			takt.Percent("share", 100*share), takt.Advice("give takt a core of its own, or lower the rate"))
	}
}

// Timing is what is known of the parts of one answer. Instants count from the start of the run.
type Timing struct {
	Due, Sent  time.Duration
	First      time.Duration // instant of the first part; 0: none came
	FirstKnown bool          // First is exact; else the part came between Sent and First
	MaxGap     time.Duration // longest known gap
	Doubt      time.Duration // largest length that a gap of unknown length may have
}

// Form is how an answer comes, by its headers.
type Form struct {
	ContentType, Coding string
	Streams             bool // it is cut into events or lines
}

// Listener reads the parts of answers of a protocol on top of HTTP. The tag is that of a mux, of a codec 0.
type Listener interface {
	// Hear reads each part of an answer that did not fail, and reports whether the part is counted and timed. The bytes of a
	// part change after the call.
	Hear(tag int, p parts.Part) bool
	// Judge sets the class and error of an answer that ended as HTTP wants it and failed nevertheless. It returns when the
	// server said so; 0: with its end.
	Judge(tag int, r *takt.Result) time.Duration
}

// meter measures the parts of one answer.
type meter struct {
	Timing
	tag    int
	result *takt.Result
	reader parts.Reader
	hearer Listener // nil: all parts are counted
	form   Form
	ended  int           // parts in this read
	tail   bool          // a part that is counted ended with the last bytes of this read
	parts  int           // of the answer
	last   time.Duration // when the last part came
	known  bool          // last is exact
	over   bool          // the answer ended in this read
	broke  bool          // and not as it should
	failed time.Duration // and the server had said so at this instant; 0: it had not
	behind bool          // and its end came behind its last part
}

// begin prepares m for an answer.
func (m *meter) begin(due, sent time.Duration, r *takt.Result) {
	r.Timed = [takt.MaxTimed]time.Duration{} // the operation may begin again
	m.reader.Reset(parts.Chunks, 0)
	*m = meter{Timing: Timing{Due: due, Sent: sent}, tag: m.tag, result: r, reader: m.reader, hearer: m.hearer}
}

// head says how the answer comes in parts. The events of what is compressed cannot be seen.
func (m *meter) head(contentType, coding string) {
	kind := parts.KindOf(contentType)
	if coding != "" {
		kind = parts.Chunks
	}
	m.form = Form{contentType, coding, kind != parts.Chunks}
	keep := 0
	if m.hearer != nil {
		keep = parts.Most
	}
	m.reader.Reset(kind, keep)
}

// body reads a piece of the answer; ends: a chunk ends with it.
func (m *meter) body(b []byte, ends bool) error {
	m.reader.Feed(b)
	m.tail = m.tail && len(b) == 0
	m.count()
	if ends {
		m.reader.Cut()
		m.count()
	}
	return m.reader.Err()
}

// end ends the answer. well: as HTTP wants it.
func (m *meter) end(well bool) {
	m.over, m.broke, m.behind = true, !well, true
	if had := m.ended; well {
		m.reader.End()
		m.count()
		m.behind = m.ended == had
		if m.hearer != nil {
			m.failed = m.hearer.Judge(m.tag, m.result)
			m.broke = m.result.Class != ""
		}
	}
}

// count counts the parts that ended.
func (m *meter) count() {
	for p, ok := m.reader.Next(); ok; p, ok = m.reader.Next() {
		counts := m.hearer == nil || m.hearer.Hear(m.tag, p)
		if m.tail = counts && m.reader.Empty(); counts {
			m.ended++
		}
	}
}

// read ends a read: its parts came as in says. The bytes of a read have one instant, that of the last of them. So only
// of a part that ends a read the instant is known (alone: the read has nothing but this answer), or if all that was read
// came within apartMost. The gaps of other parts are the client's, which read too late to know them. What ends an answer
// may come long after its last part, and no reader of parts sees it.
func (m *meter) read(in *engine.Coming, alone bool) {
	if m.ended > 0 {
		m.measure(in, alone)
	}
	switch {
	case m.over && m.broke:
		m.stop(cmp.Or(m.failed, in.At), in.Record)
	case m.over && m.MaxGap > 0:
		m.longest(m.MaxGap, in.Record)
	}
	m.ended, m.over, m.behind, m.tail = 0, false, false, false
}

func (m *meter) measure(in *engine.Coming, alone bool) {
	gaps, from := m.ended, max(in.From, m.Sent)
	near := in.At-from <= apartMost
	ends := alone && m.tail && !m.behind
	exact := ends && m.ended == 1
	if m.parts == 0 {
		gaps--
		m.First, m.FirstKnown = in.At, near || exact
		first := engine.PhaseFirstPart
		if !near && !exact {
			first = engine.PhaseFirstPartUnknown
		}
		m.record(in, first, in.At-m.Sent)
		m.record(in, engine.PhaseFirstPartDue, in.At-m.Due)
		m.result.Timed[engine.RowFirstPart] = max(1, in.At-m.Due)
	}
	if !near && !exact || m.parts > 0 && !m.known {
		m.unknown(in, from, gaps)
	} else {
		m.gaps(in, from, gaps)
	}
	m.parts += m.ended
	m.last, m.known = in.At, near || ends
}

// stop ends an answer whose rest does not come: the time since its last part is a gap, too, which had not ended.
func (m *meter) stop(at time.Duration, record func(phase int, due, d time.Duration)) {
	if m.parts > 0 {
		m.longest(max(1, m.MaxGap, at-m.last), record)
	}
	m.parts, m.MaxGap = 0, 0
}

// longest notes the longest gap of an answer.
func (m *meter) longest(d time.Duration, record func(phase int, due, d time.Duration)) {
	record(engine.PhaseMaxGap, m.Due, d)
	m.result.Timed[engine.RowMaxGap] = d
}

// unknown notes n gaps of which only the longest possible length is known.
func (m *meter) unknown(in *engine.Coming, from time.Duration, n int) {
	if m.parts > 0 {
		from = m.last
	}
	for range n {
		m.record(in, engine.PhaseGapUnknown, in.At-from)
		m.Doubt = max(m.Doubt, in.At-from)
	}
}

// gaps notes n known gaps. Parts that came together have none.
func (m *meter) gaps(in *engine.Coming, from time.Duration, n int) {
	for i := range n {
		var d time.Duration
		if m.parts > 0 && i == 0 {
			d = in.At - m.last
			if m.ended > 1 || !m.tail {
				d = from - m.last // so that it is never longer than it was
			}
		}
		m.record(in, engine.PhaseGap, d)
		m.MaxGap = max(m.MaxGap, d, 1)
	}
}

func (m *meter) record(in *engine.Coming, phase int, d time.Duration) {
	in.Record(phase, m.Due, max(1, d))
}

// StreamCodec measures the parts of answers over HTTP/1.1.
type StreamCodec struct {
	*http1.Codec
	meter
	coming engine.Coming
}

// streamed is a codec that measures parts.
func (o *Options) streamed(requests http1.Requests, opt http1.Options) *StreamCodec {
	c := &StreamCodec{}
	opt.MaxBody, opt.Field, opt.Body = o.StreamMost, c.field, c.body
	c.Codec = http1.NewCodec(requests, opt)
	return c
}

// ListenTo is a codec of one connection to u for a protocol on top of HTTP.
func (o *Options) ListenTo(u *url.URL, requests http1.Requests, l Listener) *StreamCodec {
	c := o.streamed(o.throughProxyTo(u, requests), o.judging())
	c.hearer = l
	return c
}

// Known is what is known of the present answer.
func (c *StreamCodec) Known() Timing { return c.Timing }

// Form is how the present answer comes.
func (c *StreamCodec) Form() Form { return c.form }

// Starts implements engine.Parted.
func (c *StreamCodec) Starts(_ int, due, sent time.Duration, r *takt.Result) {
	c.begin(due, sent, r)
}

// Stops implements engine.Parted.
func (c *StreamCodec) Stops(_ int, at time.Duration, record func(phase int, due, d time.Duration)) {
	c.stop(at, record)
}

// field notes how the answer comes in parts.
func (c *StreamCodec) field(name, value []byte) {
	switch {
	case len(name) == len("content-type") && strings.EqualFold(string(name), "content-type"):
		c.head(string(value), c.form.Coding)
	case len(name) == len("content-encoding") && strings.EqualFold(string(name), "content-encoding"):
		c.head(c.form.ContentType, http1.JoinCodings(c.form.Coding, value))
	}
}

// Came implements engine.Parted.
func (c *StreamCodec) Came(in engine.Coming) { c.coming = in }

// Parse implements takt.Codec.
func (c *StreamCodec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	n, p = c.Codec.Parse(in, eof, r)
	if p != takt.More {
		c.end(r.Class == "")
	}
	c.read(&c.coming, true)
	return n, p
}

// StreamMux measures the parts of answers over HTTP/2.
type StreamMux struct {
	*http2.Mux
	meters []meter  // by tag
	hearer Listener // as meter has it
	read   []int    // tags of the answers in this read
	coming engine.Coming
}

// NewStreamMux is m with the parts of its answers measured.
func NewStreamMux(m *http2.Mux) *StreamMux {
	s := &StreamMux{Mux: m}
	m.Watch(s)
	return s
}

// ListenMux is ListenTo for a connection over HTTP/2.
func (o *Options) ListenMux(requests http2.Requests, l Listener) *StreamMux {
	opt := o.judging()
	opt.MaxBody = o.StreamMost
	s := NewStreamMux(o.newMux(requests, opt))
	s.hearer = l
	return s
}

// Known is what is known of the answer with this tag, until the tag is used again.
func (s *StreamMux) Known(tag int) Timing { return s.meters[tag].Timing }

// Form is how it comes.
func (s *StreamMux) Form(tag int) Form { return s.meters[tag].form }

// Starts implements engine.Parted.
func (s *StreamMux) Starts(tag int, due, sent time.Duration, r *takt.Result) {
	for tag >= len(s.meters) {
		s.meters = append(s.meters, meter{tag: len(s.meters), hearer: s.hearer})
	}
	s.meters[tag].begin(due, sent, r)
}

// Stops implements engine.Parted.
func (s *StreamMux) Stops(tag int, at time.Duration, record func(phase int, due, d time.Duration)) {
	s.meters[tag].stop(at, record)
}

// Came implements engine.Parted.
func (s *StreamMux) Came(in engine.Coming) { s.coming = in }

// Head implements http2.Watcher.
func (s *StreamMux) Head(tag int, contentType, coding string) {
	s.meters[tag].head(contentType, coding)
}

// Body implements http2.Watcher.
func (s *StreamMux) Body(tag int, b []byte, ends bool) error {
	m := &s.meters[tag]
	had := m.ended
	err := m.body(b, ends)
	s.note(tag, had)
	return err
}

// End implements http2.Watcher.
func (s *StreamMux) End(tag int, well bool) {
	m := &s.meters[tag]
	had := m.ended
	if m.end(well); had == 0 && m.ended == 0 {
		s.read = append(s.read, tag) // for its longest gap
		return
	}
	s.note(tag, had)
}

// note notes that an answer has its first part in this read.
func (s *StreamMux) note(tag, had int) {
	if had == 0 && s.meters[tag].ended > 0 {
		s.read = append(s.read, tag)
	}
}

// Parse implements takt.Mux.
func (s *StreamMux) Parse(in []byte, eof bool, list []takt.MuxEvent) (n int, _ []takt.MuxEvent, alive bool) {
	s.read = s.read[:0]
	n, list, alive = s.Mux.Parse(in, eof, list)
	for _, tag := range s.read {
		s.meters[tag].read(&s.coming, false) // the last byte may be another answer's
	}
	return n, list, alive
}

// Timed is driver.Load.Timed.
func (a *Answers) Timed() []takt.Timed {
	if !a.Stream {
		return nil
	}
	return engine.PartTimes("first_part_due", "first_part", "first_part_unknown")
}
