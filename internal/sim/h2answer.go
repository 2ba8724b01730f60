package sim

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http2/allowed"
)

// greet sends the first settings now, or after the client's preface.
func (h *h2side) greet() {
	if h.late = h.w.rng.IntN(3) == 0; !h.late {
		h.hello()
	}
}

func (h *h2side) hello() {
	h.late = false
	first := h.newest
	first.streams = h2Unlimited
	if h.w.sc.Allows > 0 {
		first.streams = h.w.sc.Allows
	}
	if h.w.sc.Window > 0 {
		first.window = int64(h.w.sc.Window)
	}
	h.sendSettings(first)
}

// sendSettings sends settings.
func (h *h2side) sendSettings(t settings) {
	if h.s.over || h.s.gone || h.mute || h.late {
		return
	}
	var b []byte
	for _, s := range []struct{ id, value uint32 }{{1, t.table}, {3, uint32(t.streams)}, {4, uint32(t.window)}} {
		if s.id == 3 && t.streams == h2Unlimited && h.newest.streams == h2AtFirst {
			continue // without it the client knows no limit
		}
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(s.id)), s.value)
	}
	h.newest = t
	h.may.Announce(allowed.Setting{ID: allowed.Table, Value: t.table}, allowed.Setting{ID: allowed.Streams, Value: uint32(t.streams)}, allowed.Setting{ID: allowed.Window, Value: uint32(t.window)})
	h.put(frame(h2Settings, 0, 0, b), nil, func(time.Duration) {
		if h.c.allows = t.streams; h.c.mux != nil {
			h.c.mux.most = t.streams
			h.w.idles()
		}
	})
}

// changeSettings changes the settings, for a while so that the client may open no stream.
func (h *h2side) changeSettings() {
	w, t := h.w, h.newest
	t.window = int64(w.rng.IntN(70_000))
	t.table = uint32(w.rng.IntN(2) * w.rng.IntN(5000))
	if t.streams = w.rng.IntN(12); w.rng.IntN(4) == 0 {
		t.streams = h2Unlimited
	}
	h.sendSettings(t)
	if t.streams == 0 {
		w.at(w.now+time.Duration(w.rng.Int64N(int64(5*time.Millisecond))), func() {
			t := h.newest
			t.streams = max(t.streams, 1+w.rng.IntN(99))
			h.sendSettings(t)
		})
	}
}

// disturb injects what may happen on a connection at any time.
func (h *h2side) disturb() {
	w, sc := h.w, h.w.sc
	if w.chance("new settings", sc.NewSettings) {
		h.changeSettings()
	}
	if w.chance("frames of no use", sc.Noise) {
		h.noise()
	}
	switch {
	case h.last >= 0:
	case w.chance("GOAWAY", sc.GoAways):
		h.goAwayInOrder()
	case w.chance("early GOAWAY", sc.EarlyGoAways):
		h.goAwayEarly()
	}
}

// noise sends frames that a client has to bear.
func (h *h2side) noise() {
	w := h.w
	list := [][]byte{
		frame(h2Ping, 0, 0, make([]byte, 8)),
		frame(0xbe, byte(w.rng.IntN(256)), uint32(w.rng.IntN(9)), make([]byte, w.rng.IntN(100))),
		frame(h2Priority, 0, 1+2*uint32(w.rng.IntN(9)), make([]byte, 5)),
		frame(h2Settings, 0, 0, []byte{0x99, 0, 0, 0, 0, 1}),
	}
	i := w.rng.IntN(len(list))
	switch i {
	case 0:
		h.pings++
	case 3:
		h.may.Announce()
	}
	h.put(list[i], nil, nil)
}

// refuseStream gives st back without having begun it.
func (h *h2side) refuseStream(st *stream) {
	st.ignored = true
	h.put(frame(h2Reset, 0, st.id, number(7)), func() { st.r.arrived-- }, func(time.Duration) { st.r.streamRefused++; st.r.given++ })
	h.close(st)
}

// goAwayInOrder closes the connection as servers should: what has come is answered.
func (h *h2side) goAwayInOrder() {
	if h.w.rng.IntN(2) == 0 { // first a warning
		h.goAway(h2Unlimited)
		h.w.at(h.w.now+time.Duration(h.w.rng.Int64N(int64(2*time.Millisecond))), func() {
			h.goAway(h.may.Highest)
			h.finish()
		})
		return
	}
	h.goAway(h.may.Highest)
	h.finish()
}

// finish ends the connection as soon as all open streams are over.
func (h *h2side) finish() {
	if h.leaving = true; len(h.open) == 0 {
		h.end()
	}
}

// goAwayEarly gives back some streams that have come, and answers the others or not.
func (h *h2side) goAwayEarly() {
	w := h.w
	last := uint32(0)
	if n := w.rng.IntN(len(h.open) + 1); n > 0 {
		last = h.open[n-1].id
	}
	rude := w.rng.IntN(4) == 0 // gives back what it has begun to answer: nobody may repeat that
	for _, st := range h.open {
		if st.begun && !rude {
			last = max(last, st.id)
		}
	}
	h.goAway(last)
	for _, st := range append([]*stream(nil), h.open...) {
		if st.id > last {
			switch {
			case st.begun:
				st.r.fault, st.strange = "early GOAWAY", true
			case st.r.fault == "silence":
				st.r.fault = "" // the client may ask again
			}
			st.ignored = true
			h.close(st)
		}
	}
	if w.rng.IntN(3) == 0 {
		w.report.injected["cut"]++
		h.c.faults++
		h.s.over = true
		w.net.end(h.c, h.c.back+time.Microsecond)
		return
	}
	h.finish()
}

// goAway says that the target takes no stream after last.
func (h *h2side) goAway(last uint32) {
	if h.s.over || h.s.gone || h.mute {
		return
	}
	h.last = int64(last)
	var back []*stream
	for _, st := range h.open {
		if st.id > last && !st.begun {
			back = append(back, st)
		}
	}
	h.put(frame(h2GoAway, 0, 0, append(number(last), 0, 0, 0, 0)), func() {
		for _, st := range back {
			st.r.arrived--
		}
	}, func(time.Duration) {
		h.c.away = h.w.cur.at
		for _, st := range back {
			st.r.given++
		}
	})
}

// violation returns bytes that no client may accept: the connection ends.
func (h *h2side) violation() []byte {
	w := h.w
	list := [][]byte{
		[]byte("\x00\xff nothing\r\n\r\n"),
		[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		frame(h2Continuation, h2EndHeaders, 1, nil),
		frame(h2Headers, h2EndHeaders, h.may.Highest|1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		frame(h2Headers, h2EndHeaders, h.may.Highest|1, []byte{0xbe | 0x40, 0xff}),
		frame(h2Settings, 0, 0, []byte{0, 4, 0xff, 0xff, 0xff, 0xff}),
		frame(h2Settings, 0, 0, []byte{0}),
		frame(h2Settings, h2Ack, 0, make([]byte, 6)),
		frame(h2Window, 0, 0, number(0)),
		append(frame(h2Window, 0, 0, number(h2Unlimited)), frame(h2Window, 0, 0, number(h2Unlimited))...),
		frame(h2Push, h2EndHeaders, 1, make([]byte, 5)),
		frame(h2Ping, 0, 0, make([]byte, 7)),
		frame(h2GoAway, 0, 0, make([]byte, 7)),
		frame(h2Data, 0, 0, []byte("none")),
		frame(h2Data, h2EndStream, 1<<30+1, []byte("none")),
		frame(h2Headers, h2EndHeaders|h2EndStream, 1<<30+1, []byte{0x88}),
		frame(h2Reset, 0, 1<<30+1, number(8)),
		frame(h2Reset, 0, h.may.Highest|1, number(7)[:3]),
		frame(h2Window, 0, 1<<30+1, number(1)),
		frame(h2Data, h2Padded, h.may.Highest|1, []byte{200, 1}),
		{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1},
		frame(h2Headers, h2EndHeaders, 2, []byte{0x88}),
	}
	return list[w.rng.IntN(len(list))]
}

// unasked sends something that no request asked for and that no client may accept.
func (h *h2side) unasked() {
	h.c.faults++
	h.put(h.violation(), func() { h.c.strange = append(h.c.strange, h.w.now) }, func(time.Duration) { h.c.bad = h.w.cur.at })
	h.mute = true
	if h.w.rng.IntN(2) == 0 {
		h.s.over = true
		h.w.net.end(h.c, h.c.back+10*time.Microsecond)
	}
}

// reply answers st, or injects a fault instead.
func (h *h2side) reply(st *stream) {
	w, sc, s, r := h.w, h.w.sc, h.s, st.r
	if st.over || st.ignored || s.gone || s.over || h.mute {
		return
	}
	fault := func(name string, p float64) bool {
		if !w.chance(name, p) {
			return false
		}
		if r.fault, st.strange = name, true; r.call != nil {
			r.call.other = true
		}
		return true
	}
	r.status = 200
	if w.rng.Float64() < sc.Refuses {
		r.status = 503
		w.report.injected["503"]++
	}
	if sc.GRPC && r.status == 200 {
		h.decide(st)
	}
	switch {
	case sc.Parts == 0 || r.status == 503 || r.call != nil && r.call.alone:
	case sc.GRPC:
		st.begun = true
		h.v.stream(r, h.c, h.callFramed(st))
		return
	default:
		st.begun = true
		h.v.stream(r, h.c, h.framed(st))
		return
	}
	at := w.now + w.oneWay()
	switch {
	case fault("silence", sc.Silence):
	case fault("reset", sc.Resets):
		h.c.faults++
		s.over = true
		w.net.breakOff(h.c, at)
	case fault("cut", sc.Cuts):
		h.c.faults++
		var b []byte
		for _, f := range h.answer(st) {
			b = append(b, f()...)
		}
		b = s.seal(b)
		s.over = true
		if n := w.rng.IntN(len(b)); n > 0 {
			w.net.deliver(h.c, at, b[:n], false)
		}
		w.net.end(h.c, at+time.Microsecond)
	case fault("garbage", sc.Garbage):
		h.unasked()
	case fault("malformed answer", sc.Malformed):
		h.malformed(st)
	default:
		list := h.answer(st)
		if fault("stream reset", sc.StreamResets) {
			if r.call != nil && !r.call.breaks {
				r.call = &call{class: engine.ClassReset, breaks: true}
			}
			n := w.rng.IntN(len(list))
			code := []uint32{0, 1, 2, 3, 5, 8, 11, 13, 99}[w.rng.IntN(9)]
			list = append(list[:n:n], func() []byte { return frame(h2Reset, 0, st.id, number(code)) })
		}
		gap := time.Duration(0)
		if w.rng.IntN(2) == 0 {
			gap = sc.Service / 2
		}
		h.write(st, list, gap)
	}
}

// write sends the parts of an answer, between which other streams may send theirs.
func (h *h2side) write(st *stream, list []func() []byte, gap time.Duration) {
	if st.over || st.ignored || h.s.over || h.s.gone || h.mute {
		return
	}
	st.begun = true
	w, r := h.w, st.r
	if len(list) > 1 {
		h.put(list[0](), nil, nil)
		if gap == 0 {
			h.write(st, list[1:], 0)
			return
		}
		w.at(w.now+time.Duration(w.rng.Int64N(int64(gap))), func() { h.write(st, list[1:], gap) })
		return
	}
	if strange := st.strange; strange {
		h.put(list[0](), nil, nil)
	} else {
		h.put(list[0](), func() { r.answered = w.now }, func(at time.Duration) { r.read = at })
	}
	if h.answered(st); st.strange {
		h.close(st)
	}
	switch {
	case w.chance("silent close", w.sc.Closes):
		h.c.faults++
		w.at(w.now+time.Duration(1+w.rng.Int64N(int64(w.sc.Service))), func() {
			h.s.over = true
			w.net.end(h.c, w.now+w.oneWay())
		})
	case w.chance("bytes behind", w.sc.Stray):
		h.c.faults++
		w.at(w.now+time.Duration(w.rng.Int64N(int64(2*w.sc.Service))), h.unasked)
	}
}

// answer makes the frames of an answer. Each is encoded when it is sent, because header blocks
// depend on those before.
func (h *h2side) answer(st *stream) (list []func() []byte) {
	w := h.w
	if st.r.call != nil {
		return h.called(st)
	}
	odd := w.chance("odd frames", w.sc.Odd)
	sometimes := func() bool { return odd && w.rng.IntN(2) == 0 }
	add := func(f func() []byte) { list = append(list, f) }
	for sometimes() && len(list) < 3 {
		add(func() []byte { return h.headers(st.id, 0, odd, ":status", "103", "link", "</x>") })
	}
	location := h.v.redirect(st.r)
	body := h.v.body(st.r, w.rng.IntN(w.sc.Body+1))
	n := len(body)
	fields := []string{":status", strconv.Itoa(st.r.status), "x-seq", strconv.FormatUint(st.r.seq, 10)}
	if location != "" {
		fields = append(fields, "location", location)
	}
	if !sometimes() {
		fields = append(fields, "content-length", strconv.Itoa(n))
	}
	if sometimes() {
		fields = append(fields, "x-long", strings.Repeat("y", w.rng.IntN(20_000)))
	}
	trailers := sometimes()
	if n == 0 && !trailers && w.rng.IntN(2) == 0 {
		add(func() []byte { return h.headers(st.id, h2EndStream, odd, fields...) })
		return list
	}
	add(func() []byte { return h.headers(st.id, 0, odd, fields...) })
	for first := true; first || n > 0; first = false {
		now := min(n, h2Frame-256)
		if sometimes() {
			now = w.rng.IntN(now + 1)
		}
		n -= now
		part := body[:now]
		body = body[now:]
		flags := byte(0)
		if n == 0 && !trailers {
			flags = h2EndStream
		}
		add(func() []byte { return h.data(st.id, flags, odd, part) })
	}
	if trailers {
		add(func() []byte { return h.headers(st.id, h2EndStream, odd, "x-end", "1") })
	}
	return list
}

func (h *h2side) data(id uint32, flags byte, odd bool, b []byte) []byte {
	if odd && h.w.rng.IntN(3) == 0 {
		flags |= h2Padded
		b = pad(b, h.w.rng.IntN(256))
	}
	return frame(h2Data, flags, id, b)
}

func pad(b []byte, n int) []byte {
	return append(append([]byte{byte(n)}, b...), make([]byte, n)...)
}

// headers makes HEADERS, and CONTINUATION where they are long or odd.
func (h *h2side) headers(id uint32, flags byte, odd bool, fields ...string) []byte {
	w := h.w
	if odd && w.rng.IntN(4) == 0 {
		h.enc.SetTableSize(uint32(w.rng.IntN(5000)))
	}
	block := h.enc.Begin(nil)
	for i := 0; i < len(fields); i += 2 {
		block = h.enc.Field(block, []byte(fields[i]), []byte(fields[i+1]), w.rng.IntN(2) == 0)
	}
	n := min(len(block), h2Frame-300)
	if odd && w.rng.IntN(2) == 0 {
		n = w.rng.IntN(n + 1)
	}
	part, rest := bytes.Clone(block[:n]), block[n:]
	if odd && w.rng.IntN(4) == 0 {
		flags |= h2First
		part = append([]byte{0, 0, 0, 0, 9}, part...)
	}
	if odd && w.rng.IntN(4) == 0 {
		flags |= h2Padded
		part = pad(part, w.rng.IntN(256))
	}
	if len(rest) == 0 {
		return frame(h2Headers, flags|h2EndHeaders, id, part)
	}
	b := frame(h2Headers, flags, id, part)
	for len(rest) > 0 {
		n := min(len(rest), h2Frame)
		if odd && w.rng.IntN(2) == 0 {
			n = 1 + w.rng.IntN(n)
		}
		last := byte(0)
		if n == len(rest) {
			last = h2EndHeaders
		}
		b = append(b, frame(h2Continuation, last, id, rest[:n])...)
		rest = rest[n:]
	}
	return b
}

// malformed sends an answer that breaks a rule; the connection is of use after that.
func (h *h2side) malformed(st *stream) {
	w, id := h.w, st.id
	status := []string{":status", "200"}
	list := []func() []byte{
		func() []byte { return frame(h2Data, h2EndStream, id, []byte("no head")) },
		func() []byte { return h.headers(id, h2EndStream, false, "content-length", "0") },
		func() []byte { return h.headers(id, h2EndStream, false, ":status", "20") },
		func() []byte { return h.headers(id, h2EndStream, false, ":status", "103") },
		func() []byte { return h.headers(id, h2EndStream, false, ":status", "200", ":status", "200") },
		func() []byte { return h.headers(id, h2EndStream, false, ":status", "200", "connection", "close") },
		func() []byte { return h.headers(id, h2EndStream, false, ":status", "200", "X-Upper", "1") },
		func() []byte { return h.headers(id, h2EndStream, false, ":status", "200", "content-length", "5") },
		func() []byte {
			return append(h.headers(id, 0, false, ":status", "200", "content-length", "5"), h.data(id, h2EndStream, false, []byte("xxxxxx"))...)
		},
		func() []byte {
			return append(h.headers(id, 0, false, status...), h.headers(id, 0, false, status...)...)
		},
		func() []byte {
			return append(h.headers(id, 0, false, status...), frame(h2Window, 0, id, number(0))...)
		},
	}
	h.put(list[w.rng.IntN(len(list))](), nil, nil)
	h.close(st)
}
