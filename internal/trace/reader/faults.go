package reader

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/hist"
)

// Fault is one kind of fault of one log.
type Fault struct {
	Kind   string   `json:"kind"`
	Count  uint64   `json:"count"`
	Text   string   `json:"text"`
	Places []string `json:"places,omitempty"` // the first three
	Skews  string   `json:"-"`                // what makes figures by time wrong, such as "step"; "": they are right
}

// maxPlaces limits Fault.Places.
const maxPlaces = 3

// String is the text and the places.
func (f Fault) String() string {
	if len(f.Places) == 0 {
		return f.Text
	}
	more := ""
	if f.Count > uint64(len(f.Places)) {
		more = "; …"
	}
	return f.Text + ": " + strings.Join(f.Places, "; ") + more
}

// tally counts one kind of fault.
type tally struct {
	count  uint64
	most   time.Duration
	places []string
}

func (t *tally) add(place fmt.Stringer, size time.Duration) {
	t.count++
	t.most = max(t.most, size)
	if len(t.places) < maxPlaces {
		t.places = append(t.places, place.String())
	}
}

// fault makes a Fault of a tally; form gets the count.
func (t *tally) fault(kind, text string) Fault {
	return Fault{Kind: kind, Count: t.count, Text: text, Places: t.places}
}

// watch is a stream that passes the records of one log on, in the order of the file, and finds what is
// wrong with the log: gaps, steps of its clock, lines out of order, repeated lines and mixed time zones.
// It says nothing about what a log cannot show, such as requests that were never logged.
type watch struct {
	src  trace.Stream
	most time.Duration // longest time without a request that is not a gap; 0: the log decides

	parts    parts
	disorder tally // small steps back
	adjacent tally // lines that equal the line before
	zones    zones
	last     trace.Place
	latest   time.Time // latest stamp so far
	coarse   bool      // stamps are whole seconds
	started  bool      // the stamps are starts, which come in another order than the lines
	ended    bool      // the stamps are ends

	seed     maphash.Seed
	before   uint64              // hash of the last record
	sampled  map[uint64]struct{} // hashes of one record in sampleOf
	samples  uint64              // records whose hash is of the sample
	repeated uint64              // of samples: their hash was there already, and not of the record before
}

// A record in sampleOf is remembered, at most maxSampled of them: about 4 MB.
const (
	sampleOf   = 64
	maxSampled = 1 << 17
)

// newWatch watches src. most is the longest time between two requests that is not a gap; 0: a minute, or
// ten times what nine of ten distances are below if that is more.
func newWatch(src trace.Stream, most time.Duration) *watch {
	return &watch{src: src, most: most, seed: maphash.MakeSeed(), sampled: map[uint64]struct{}{}, parts: parts{distances: hist.New()}}
}

// Next implements Stream.
func (w *watch) Next(rec *trace.Record) error {
	err := w.src.Next(rec)
	if err == nil {
		w.note(rec)
	}
	return err
}

func (w *watch) note(r *trace.Record) {
	w.noteText(r)
	if r.At.IsZero() {
		return
	}
	place := trace.PlaceOf(r)
	if !r.Ended && w.parts.long(place, r.Latency) {
		return
	}
	if back := w.last.At.Sub(r.At); back > 0 && back <= stepBack {
		w.disorder.add(trace.Gap{From: w.last, To: place, Length: back}, back)
	}
	w.started, w.ended = w.started || !r.Ended, w.ended || r.Ended
	w.zones.note(r, place)
	w.parts.note(place)
	w.last, w.coarse = place, w.coarse || r.Second
	if r.At.After(w.latest) {
		w.latest = r.At
	}
}

// noteText looks whether the record was there before.
func (w *watch) noteText(r *trace.Record) {
	var h maphash.Hash
	h.SetSeed(w.seed)
	for _, text := range [][]byte{r.Method, r.URI, r.Host, r.Client, r.Agent, r.Body} {
		_, _ = h.Write(text)
		_ = h.WriteByte(0)
	}
	maphash.WriteComparable(&h, [6]int64{r.At.UnixNano(), int64(r.Latency), int64(r.Status), r.Bytes, r.RequestBytes, int64(r.Transfer)})
	sum := h.Sum64()
	same := sum == w.before && !r.At.IsZero()
	if same {
		w.adjacent.add(trace.PlaceOf(r), 0)
	}
	if sum%sampleOf == 0 && !r.At.IsZero() {
		w.samples++
		if _, known := w.sampled[sum]; known && !same {
			if !r.Second || w.latest.Sub(r.At) > stepBack { // else it may be another request of that second
				w.repeated++
			}
		} else if len(w.sampled) < maxSampled {
			w.sampled[sum] = struct{}{}
		}
	}
	w.before = sum
}

// manyRepeated is the number of repeated samples from which lines are called repeated, and one in
// oftenAdjacent of all lines the share from which neighbours are. A client may send a request twice
// within a second.
const (
	manyRepeated  = 3
	oftenAdjacent = 20
)

// found lists the faults so far.
func (w *watch) found() []Fault {
	var list []Fault
	w.parts.end()
	gaps, steps := w.parts.faults(w.limit())
	for _, f := range []struct {
		tally tally
		kind  string
		text  string
	}{
		{gaps, "gap", fmt.Sprintf("%d without requests for more than %s, up to %s; a clock that was set forward looks the same", gaps.count, trace.Span(w.limit()), trace.Span(gaps.most))},
		{steps, "step", fmt.Sprintf("%d back in time, by up to %s; the clock was set back, or the log has parts in the wrong order", steps.count, trace.Span(steps.most))},
		{w.parts.stray, "stray", fmt.Sprintf("%d far from the lines around them, by up to %s", w.parts.stray.count, trace.Span(w.parts.stray.most))},
		{w.disorder, "disorder", fmt.Sprintf("%d before the line above them, by up to %s%s", w.disorder.count, trace.Span(w.disorder.most), w.usual())},
	} {
		if f.tally.count > 0 {
			found := f.tally.fault(f.kind, named(f.kind)+f.text)
			found.Skews = skews(f.kind, f.tally.most)
			list = append(list, found)
		}
	}
	if w.adjacent.count*oftenAdjacent > w.parts.n {
		list = append(list, w.adjacent.fault("duplicate", fmt.Sprintf("duplicates: %d lines equal the line before them%s", w.adjacent.count, w.alike())))
	}
	if w.repeated >= manyRepeated && w.repeated*oftenAdjacent > w.samples {
		share := float64(w.repeated) / float64(w.samples)
		list = append(list, Fault{Kind: "repeated", Count: w.repeated, Text: fmt.Sprintf("repeated: about %.0f %% of the lines were in the log before (by %d of %d lines)", 100*share, w.repeated, w.samples)})
	}
	if f, ok := w.zones.fault(); ok {
		list = append(list, f)
	}
	return list
}

// skews names a fault that makes rates, gaps and times wrong. Small disorder is put in order before.
func skews(kind string, most time.Duration) string {
	switch {
	case kind == "step":
		return "step"
	case kind == "stray":
		return "stray times"
	case kind == "disorder" && most > sortedWithin:
		return "disorder"
	}
	return ""
}

func named(kind string) string {
	switch kind {
	case "gap":
		return "gaps: "
	case "step":
		return "steps: "
	case "stray":
		return "stray times: "
	}
	return "out of order: "
}

// sortedWithin is how far out of order takt replay accepts a log without a flag, see trace.Timed.
const sortedWithin = 30 * time.Second

// usual says why a log may be out of order, or what to do.
func (w *watch) usual() string {
	if w.disorder.most > sortedWithin {
		return "; give takt replay --disorder 1m"
	}
	if w.started && !w.ended {
		return "; usual where the time is the start, because lines are written at the end"
	}
	return ""
}

// alike says why lines may be equal in a sound log.
func (w *watch) alike() string {
	if w.coarse {
		return "; equal requests within a second look the same, because the stamps are whole seconds"
	}
	return ""
}

// limit is the longest time between two requests that is not a gap.
func (w *watch) limit() time.Duration {
	if w.most > 0 {
		return w.most
	}
	return max(time.Minute, 10*w.parts.distances.Quantile(0.9).Truncate(time.Second))
}

// longest is the longest part of the log without a gap or a step, if the log has several.
func (w *watch) longest() (logPart, bool) {
	w.parts.end()
	return w.parts.longest(w.limit())
}
