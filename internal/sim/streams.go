package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// stream makes a run whose answers are streams of events, as docs/http.md (--stream) has them.
func (sc *Scenario) stream(r *rand.Rand) {
	*sc = Scenario{
		Mode: []string{modeLoop, modeLoop, modeLoopTLS, modeH2, modeH2TLS}[r.IntN(5)], Loops: 1 + r.IntN(2), InFlight: 10_000, Room: unbounded,
		Drain: 20 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: 5 * time.Second,
		Service: between(r, 20*time.Microsecond, 5*time.Millisecond),
		Parts:   1 + r.IntN(30), Gap: between(r, 10*time.Microsecond, 8*time.Millisecond), Together: r.Float64() * float64(r.IntN(2)),
	}
	if r.IntN(3) == 0 {
		sc.Connections, sc.Requests = 1+r.IntN(20), uint64(1+r.IntN(100))
	} else {
		sc.Rate, sc.Poisson = between(r, 50, 2000.0), r.IntN(2) == 0
		sc.Duration = min(between(r, 5*time.Millisecond, 300*time.Millisecond), time.Duration(150/sc.Rate*1e9))
		if r.IntN(2) == 0 {
			sc.Connections = 1 + r.IntN(40)
		}
		if r.IntN(4) == 0 {
			sc.Warmup = sc.Duration / 4
		}
	}
	if sc.shared() {
		sc.share(r)
		sc.Upload, sc.Window, sc.Early, sc.Odd = 0, 0, 0, 0
	}
	often := between(r, 0.02, 0.3)
	end := sc.Duration + sc.Warmup
	kinds := []func(){
		func() {
			for at := between(r, 0, end/2+1); len(sc.Halts) < 5; at += between(r, time.Millisecond, 30*time.Millisecond) {
				to := at + between(r, time.Millisecond, 50*time.Millisecond)
				sc.Halts, at = append(sc.Halts, freeze{at, to}), to
			}
		},
		func() { sc.Hangs, sc.Timeout = often, between(r, 20*time.Millisecond, 60*time.Millisecond) },
		func() { sc.Resets = often },
		func() { sc.Cuts = often },
		func() { sc.Drips = often },
		func() { sc.Refuses = often },
		func() { sc.LateWakes = often },
		func() { sc.Stalls, sc.StallMost = often/500, between(r, time.Millisecond, 40*time.Millisecond) },
		func() { sc.Cancel = between(r, 1, max(2, end)) },
		func() { sc.Drain = between(r, 0, 5*time.Millisecond) },
	}
	for range r.IntN(5) {
		kinds[r.IntN(len(kinds))]()
	}
	if sc.shared() && r.IntN(2) == 0 {
		sc.calls(r)
	}
	if sc.Model = !sc.shared() && r.IntN(2) == 0; sc.Model && r.IntN(2) == 0 {
		sc.Errors, sc.Unended = often, often
	}
}

// streamed is a codec that measures the parts of answers, as takt http --stream has it.
func (w *world) streamed() *http.StreamCodec {
	return http.New().ListenTo(&url.URL{}, requests{w}, nil)
}

// partedMux is a watchedMux that measures them.
type partedMux struct {
	*watchedMux
	engine.Parted
}

var _ http1.Requests = requests{}

// framing is how the events of a stream come over a connection.
type framing struct {
	head  func() []byte
	event func(b []byte, last bool) []byte
	tail  func() []byte
	send  func(b []byte, last bool, arrived func())
	gone  func() bool
	over  func() // all was sent
}

// chunked are streams over HTTP/1.1.
func (v *server) chunked(r *request) framing {
	w, s, c := v.w, r.s, r.s.c
	const end = "0\r\n\r\n"
	return framing{
		head: func() []byte {
			return []byte("HTTP/1.1 200 Whatever\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		},
		event: func(b []byte, last bool) []byte {
			b = fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b)
			if last {
				b = append(b, end...)
			}
			return b
		},
		tail: func() []byte { return []byte(end) },
		send: func(b []byte, last bool, arrived func()) {
			if !last && len(b) > 8 && w.chance("drip", w.sc.Drips) { // what ends the event comes in one piece
				at := 1 + w.rng.IntN(len(b)-5)
				w.net.deliver(c, w.now+w.oneWay(), s.seal(b[:at]), false)
				b = b[at:]
			}
			w.net.deliver(c, w.now+w.oneWay(), s.seal(b), false)
			w.at(c.back, func() {
				if !c.gone && c.reset < 0 && c.ended < 0 {
					arrived()
				}
			})
		},
		gone: func() bool { return s.gone || s.over },
		over: func() {},
	}
}

// framed are streams over HTTP/2.
func (h *h2side) framed(st *stream) framing {
	return framing{
		head: func() []byte {
			return h.headers(st.id, 0, false, ":status", "200", "content-type", "text/event-stream")
		},
		event: func(b []byte, last bool) []byte {
			flags := byte(0)
			if last {
				flags = h2EndStream
			}
			return frame(h2Data, flags, st.id, b)
		},
		tail: func() []byte { return frame(h2Data, h2EndStream, st.id, nil) },
		send: func(b []byte, last bool, arrived func()) {
			var read func(at time.Duration)
			if last {
				read = func(at time.Duration) { st.r.read = at }
			}
			h.put(b, arrived, read)
		},
		gone: func() bool { return st.over || st.ignored || h.s.gone || h.s.over || h.mute },
		over: func() { h.answered(st) },
	}
}

// stream sends the answer of r as a stream of events, or breaks it off, or leaves it without its rest.
func (v *server) stream(r *request, c *conn, f framing) {
	w, sc := v.w, v.w.sc
	n := 1 + w.rng.IntN(sc.Parts)
	breaks := func(name string, p float64) int {
		if !w.chance(name, p) {
			return n + 1
		}
		r.fault = name
		c.faults++
		return w.rng.IntN(n + 1)
	}
	reset, cut, hang := breaks("reset", sc.Resets), breaks("cut", sc.Cuts), breaks("hang", sc.Hangs)
	f.send(f.head(), false, func() {})
	if sc.Model {
		v.speak(r, n)
		f.send(f.event([]byte(r.speech.role()), false), false, func() {})
	}
	i := 0
	r.holds = true // a worker until the end of the stream
	part := func() {
		i++
		at, last := i, i == n && w.rng.IntN(2) == 0 // some servers end with the last part, and some later
		f.send(f.event(v.part(r, i, last), last), last, func() {
			if r.parts = append(r.parts, w.now); r.speech != nil && at == r.speech.reasoning+1 {
				r.speech.first = w.now
			}
			if last {
				r.ended(w.now)
			}
		})
		if last {
			i++
			f.over()
		}
	}
	var next func()
	next = func() {
		if over := f.gone() || i >= n || i == hang || i == reset || i == cut; over {
			defer v.free()
		}
		switch {
		case f.gone() || i > n || i == hang:
			return
		case i == reset:
			c.peer.over = true
			w.net.breakOff(c, w.now+w.oneWay())
			return
		case i == cut:
			c.peer.over = true
			w.net.end(c, w.now+w.oneWay())
			return
		case i == n:
			i++
			f.send(v.tail(r, f), true, func() { r.ended(w.now) })
			f.over()
			return
		}
		part()
		rest := time.Duration(0)
		if w.rng.Float64() >= sc.Together {
			rest = sc.Gap/2 + time.Duration(w.rng.Int64N(int64(sc.Gap)+1))
			if w.rng.IntN(50) == 0 {
				rest *= 10 // a stall
			}
		}
		w.at(thawed(sc.Freezes, w.now+rest), next)
	}
	if w.rng.IntN(2) == 0 { // some servers send the headers with the first part
		next()
		return
	}
	w.at(w.now+time.Duration(w.rng.Int64N(int64(sc.Gap)+1)), next)
}

// ended notes when the end of the answer reached the client, unless the client broke it off before.
func (r *request) ended(at time.Duration) {
	if r.call == nil || !r.call.breaks {
		r.answered = at
	}
}

// part is part i of an answer, with what follows the last one.
func (v *server) part(r *request, i int, last bool) []byte {
	switch s := r.speech; {
	case s == nil:
		return append(bytes.Repeat([]byte("data: a token\n"), 1+v.w.rng.IntN(2)), '\n')
	case last:
		return []byte(s.token(i) + s.end())
	default:
		return []byte(s.token(i))
	}
}

// tail ends an answer after its last part.
func (v *server) tail(r *request, f framing) []byte {
	if r.speech == nil {
		return f.tail()
	}
	return f.event([]byte(r.speech.end()), true)
}

// together is within what time the parts that takt read at once may have come for their gaps to count as 0 (docs/http.md).
const together = 2 * time.Millisecond

// sharing is how exact the instant of a part is known, where other answers may be in the same read (docs/http.md).
func (k *checker) sharing() time.Duration {
	if k.sc.shared() {
		return together
	}
	return 0
}

func (k *checker) partsExact() time.Duration { return k.exact() + k.sharing() }

// streams checks the latencies of parts against the instants at which the parts came, by docs/http.md: no gap is longer
// than it was, the longest gap of an operation has the time since its last part if its stream breaks off, what takt read
// too late to know is only counted, and that happens only if takt was late.
func (k *checker) streams(w *world, rep *takt.Report) {
	first, longest := hist.New(), hist.New()
	var gaps, longer []time.Duration // true ones, and as long as they may seem
	whole, exact := true, k.partsExact()
	late := k.stood() || k.sc.LateWakes > 0
	firstDue, firstSent, firstUnknown := "first_part_due", "first_part", "first_part_unknown"
	if k.sc.Model {
		firstDue, firstSent, firstUnknown = "ttft", "ttft_sent", "ttft_unknown"
	}
	unknown := rep.Latency["gap_unknown"].Count + rep.Latency[firstUnknown].Count
	for i := range k.rows {
		r := &k.rows[i]
		got, gap := r.Timed[0], r.Timed[1]
		q := w.net.srv.requests[r.Seq]
		if got > 0 {
			first.Record(got)
		}
		if gap > 0 {
			longest.Record(gap)
		}
		if q == nil || len(q.parts) == 0 {
			if got+gap > 0 {
				k.fault("parts", "operation %d has a first part after %v, and the target sent none", r.Seq, got)
			}
			continue
		}
		var most, least time.Duration
		for j, at := range q.parts[1:] {
			gap := at - q.parts[j]
			gaps, least = append(gaps, gap), max(least, gap)
			if j == len(q.parts)-2 && q.answered > at { // one read may have the end of the answer, too
				gap += min(together, q.answered-at)
			}
			longer, most = append(longer, gap), max(most, gap)
		}
		came, since := q.parts[0]-w.origin-r.Due, r.Done-(q.parts[len(q.parts)-1]-w.origin)
		if r.Class != "" {
			whole = false
			enough := since - exact
			if q.speech.failed(r) && !k.sc.shared() {
				enough -= together
			}
			if one := k.sc.shared() || q.speech.failed(r); got > 0 && gap < enough && !(late && one) { // one read may have what came long after the part
				k.fault("parts", "operation %d broke off %v after its last part, and its longest gap is %v", r.Seq, since, gap)
			}
			most = max(most, r.Done-(q.parts[0]-w.origin))
		}
		switch {
		case got == 0 && r.Class == "":
			k.fault("parts", "operation %d has no first part, and the target sent %d", r.Seq, len(q.parts))
		case got > 0 && got < came-exact:
			k.fault("parts", "operation %d has its first part after %v, and it came after %v", r.Seq, got, came)
		case got > came+together+exact && unknown == 0:
			k.fault("parts", "operation %d has its first part after %v, although it came after %v and takt was in time", r.Seq, got, came)
		case gap > most+exact:
			k.fault("parts", "the longest gap of operation %d is %v, and truly it was %v", r.Seq, gap, most)
		case r.Class == "" && unknown == 0 && gap < least-together-exact:
			k.fault("parts", "the longest gap of operation %d is %v, and truly it was %v, and takt was in time", r.Seq, gap, least)
		}
	}
	k.gaps(rep, gaps, longer, whole)
	for name, want := range map[string]*hist.Histogram{firstDue: first, "maxgap": longest} {
		l := rep.Latency[name]
		if c, err := proof.Read(l.Blocks); l.Count > 0 && (err != nil || c.Count() != l.Count) {
			k.fault("parts", "%s: the blocks are not of all values: %v", name, err)
		}
		if l.CI, l.Blocks = nil, nil; l.Count != want.Count() || want.Count() > 0 && l != want.Summary() {
			k.fault("parts", "%s: the report has n %d, p50 %v, max %v; the rows n %d, p50 %v, max %v", name, l.Count, l.P50, l.Max, want.Count(), hist.Micros(want.Quantile(0.5)), hist.Micros(want.Max()))
		}
	}
	if n := rep.Latency[firstSent].Count + rep.Latency[firstUnknown].Count; n != first.Count() {
		k.fault("parts", "%d operations have a first part, %d have one from sent, known or not", first.Count(), n)
	}
	if !late && unknown > 0 {
		k.fault("parts", "%d parts were read too late, and nothing held takt up", unknown)
	}
	for _, name := range []string{firstDue, "maxgap", "gap"} {
		n := uint64(0)
		for _, iv := range rep.Intervals {
			if l, has := iv.Latency[name]; has {
				h, err := hist.Decode(l.HDR)
				if err != nil {
					k.fault("parts", "an interval: %v", err)
					continue
				}
				n += h.Count()
			}
		}
		if all := rep.Latency[name].Count; n > all || n < all && rep.Counts.Unfinished == 0 {
			k.fault("parts", "%s: the intervals have %d values, the report %d", name, n, all)
		}
	}
}

// gaps checks all known gaps together against the true ones: of the k shortest, and of the k longest, none is shorter
// or longer than its true fellow. whole: takt read all parts.
func (k *checker) gaps(rep *takt.Report, truly, longer []time.Duration, whole bool) {
	known, unknown := rep.Latency["gap"], rep.Latency["gap_unknown"].Count
	if n := known.Count + unknown; n > uint64(len(truly)) || whole && n < uint64(len(truly)) {
		k.fault("parts", "%d gaps are known and %d are not, and there were %d", known.Count, unknown, len(truly))
		return
	}
	if known.Count == 0 {
		return
	}
	h, err := hist.Decode(known.HDR)
	if err != nil {
		k.fault("parts", "gap: %v", err)
		return
	}
	slices.Sort(truly)
	slices.Sort(longer)
	i, above := 0, len(truly)-int(known.Count)
	for _, b := range h.Buckets() {
		for range b.Count {
			if short, long := truly[i], longer[above+i]; b.To < short-together-k.partsExact() || b.From > long+k.partsExact() {
				k.fault("parts", "the gap %d of %d by length is %v, and truly it was between %v and %v", i, known.Count, b.To, short, long)
				return
			}
			i++
		}
	}
}
