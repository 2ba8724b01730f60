package http2

import (
	"bytes"
	"errors"
	"testing"

	xhttp2 "golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

const fuzzStreams = 4

// begunMux is a Mux with fuzzStreams requests under way, whose results are in the list.
func begunMux(requests Requests) (*Mux, []takt.Result) {
	m := New(requests, http1.Options{}, 10)
	results := make([]takt.Result, fuzzStreams)
	for i := range results {
		m.Begin(anyOp, i, &results[i])
	}
	m.Sent(len(m.Out()))
	return m, results
}

// parseAll parses in in pieces and then the end, and returns what happened to each tag.
func parseAll(t *testing.T, m *Mux, in []byte, piece int) (ends map[int]takt.MuxKind, died bool) {
	t.Helper()
	ends = map[int]takt.MuxKind{}
	first := map[int]bool{}
	var unread []byte
	for {
		n := min(max(1, piece), len(in))
		unread = append(unread, in[:n]...)
		in = in[n:]
		eof := len(in) == 0
		used, list, alive := m.Parse(unread, eof, nil)
		unread = unread[used:]
		for _, e := range list {
			if _, over := ends[e.Tag]; over {
				t.Fatalf("%v of %d, which is over", e.Kind, e.Tag)
			}
			if e.Kind != takt.MuxFirst {
				ends[e.Tag] = e.Kind
			} else if first[e.Tag] {
				t.Fatalf("the answer of %d begins twice", e.Tag)
			}
			first[e.Tag] = true
		}
		for out := m.Out(); len(out) > 0; out = m.Out() {
			m.Sent(len(out))
		}
		if !alive {
			return ends, !eof
		}
		if eof {
			t.Fatal("alive after the end")
		}
	}
}

// Whatever a server sends, in whatever pieces: no panic, each request ends once, the pieces do not
// matter, and little memory is kept. What x/net's framer refuses as an error of the connection is
// refused.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		if len(in) > 1<<17 {
			return
		}
		requests := rendered("POST", "/", []byte("a body"))
		m, whole := begunMux(requests)
		ends, died := parseAll(t, m, bytes.Clone(in), len(in))
		if len(ends) != fuzzStreams || m.open != 0 {
			t.Fatalf("%d of %d ended, %d are open", len(ends), fuzzStreams, m.open)
		}
		if cap(m.out) > 4<<20 || m.reading.Kept() > 1<<18 || len(m.table) > tableAtFirst {
			t.Fatalf("kept: %d, %d, %d", cap(m.out), m.reading.Kept(), len(m.table))
		}
		other, pieces := begunMux(requests)
		again, diedToo := parseAll(t, other, bytes.Clone(in), piece)
		for i := range whole {
			a, b := &whole[i], &pieces[i]
			if ends[i] != again[i] || a.Status != b.Status || a.Class != b.Class && !(died != diedToo) || a.BytesReceived != b.BytesReceived {
				t.Fatalf("request %d: %v %+v in one piece, %v %+v in pieces of %d", i, ends[i], a, again[i], b, piece)
			}
		}
		compare(t, in, whole, ends)
	})
}

// compare holds the statuses against x/net's framer, as far as it reads.
func compare(t *testing.T, in []byte, results []takt.Result, ends map[int]takt.MuxKind) {
	t.Helper()
	for b := in; len(b) >= wire.HeaderLength; b = b[min(len(b), wire.HeaderLength+wire.ReadHeader(b).Length):] {
		if wire.ReadHeader(b).Kind == 0x10 {
			return // PRIORITY_UPDATE (RFC 9218): x/net knows it, takt ignores what it does not know
		}
	}
	fr := xhttp2.NewFramer(nil, bytes.NewReader(in))
	fr.SetMaxReadFrameSize(wire.LeastFrame)
	fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
	fr.MaxHeaderListSize = http1.MaxHead
	statuses := map[uint32]string{}
	for {
		frame, err := fr.ReadFrame()
		var conn xhttp2.ConnectionError
		var stream xhttp2.StreamError
		switch {
		case errors.As(err, &stream):
			statuses[stream.StreamID] = "" // x/net and takt may disagree about the rest of the stream
			continue
		case errors.As(err, &conn) || err == xhttp2.ErrFrameTooLarge:
			for i := range results {
				if ends[i] == takt.MuxEnd && results[i].Class == http1.ClassTruncated {
					t.Fatalf("x/net: %v; takt went on to the end", err)
				}
			}
			return
		case err != nil:
			break
		}
		if err != nil {
			break
		}
		if h, ok := frame.(*xhttp2.MetaHeadersFrame); ok && !h.Truncated {
			if _, known := statuses[h.StreamID]; !known && len(h.PseudoValue("status")) == 3 && h.PseudoValue("status") >= "200" {
				statuses[h.StreamID] = h.PseudoValue("status")
			}
		}
	}
	for i := range results {
		if got := results[i].Status; got != 0 && statuses[uint32(2*i+1)] != "" && statuses[uint32(2*i+1)] != itoa(got) {
			t.Fatalf("stream %d: status %d, x/net %q", 2*i+1, got, statuses[uint32(2*i+1)])
		}
	}
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

// seeds are beginnings of what servers send.
func seeds() (list [][]byte) {
	settings := wire.AppendHeader(nil, 0, wire.Settings, 0, 0)
	with := func(b ...[]byte) { list = append(list, append(bytes.Clone(settings), bytes.Join(b, nil)...)) }
	block := []byte{0x88}
	head := func(flags byte, id uint32) []byte {
		return append(wire.AppendHeader(nil, len(block), wire.Headers, flags, id), block...)
	}
	data := func(flags byte, id uint32, b string) []byte {
		return append(wire.AppendHeader(nil, len(b), wire.Data, flags, id), b...)
	}
	with(head(wire.FlagEndHeaders|wire.FlagEndStream, 1), head(wire.FlagEndHeaders, 3), data(0, 3, "abc"), data(wire.FlagEndStream, 3, "def"))
	with(head(0, 1), wire.AppendHeader(nil, 1, wire.Continuation, wire.FlagEndHeaders, 1), []byte{0x88}, data(wire.FlagEndStream|wire.FlagPadded, 1, "\x02abcd"))
	with(wire.AppendNumber(nil, wire.Reset, 1, uint32(wire.RefusedStream)), wire.AppendNumber(nil, wire.Reset, 3, uint32(wire.Cancel)), wire.AppendNumber(nil, wire.Window, 0, 100))
	with(wire.AppendHeader(nil, 8, wire.GoAway, 0, 0), []byte{0, 0, 0, 3, 0, 0, 0, 0}, head(wire.FlagEndHeaders|wire.FlagEndStream, 3))
	with(wire.AppendHeader(nil, 8, wire.Ping, 0, 0), []byte("12345678"), wire.AppendHeader(nil, 5, wire.Priority, 0, 7), []byte("12345"))
	with(wire.AppendSetting(wire.AppendSetting(wire.AppendHeader(nil, 12, wire.Settings, 0, 0), wire.SettingWindow, 10), wire.SettingTable, 0))
	list = append(list, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	return list
}

// A server that asks for ever for answers which it does not read, or sends frames that bring
// nothing, is cut off before it costs much.
func TestFloods(t *testing.T) {
	for name, frame := range map[string][]byte{
		"PING":            append(wire.AppendHeader(nil, 8, wire.Ping, 0, 0), "12345678"...),
		"SETTINGS":        wire.AppendHeader(nil, 0, wire.Settings, 0, 0),
		"PRIORITY":        append(wire.AppendHeader(nil, 5, wire.Priority, 0, 1), "12345"...),
		"WINDOW_UPDATE":   wire.AppendNumber(nil, wire.Window, 1, 1),
		"an unknown kind": wire.AppendHeader(nil, 0, 0xee, 0, 0),
		"empty DATA":      wire.AppendHeader(nil, 0, wire.Data, 0, 1),
		"CONTINUATION":    wire.AppendHeader(nil, 0, wire.Continuation, 0, 1),
		"resets":          wire.AppendNumber(nil, wire.Reset, 1, uint32(wire.Cancel)),
	} {
		m, results := begunMux(rendered("GET", "/", nil))
		_, _, _ = m.Parse(wire.AppendHeader(nil, 0, wire.Settings, 0, 0), false, nil)
		switch name {
		case "empty DATA":
			_, _, _ = m.Parse(append(wire.AppendHeader(nil, 1, wire.Headers, wire.FlagEndHeaders, 1), 0x88), false, nil)
		case "CONTINUATION":
			_, _, _ = m.Parse(wire.AppendHeader(nil, 0, wire.Headers, 0, 1), false, nil)
		}
		alive := true
		n := 0
		for ; alive && n < 2*idleMost; n++ {
			_, _, alive = m.Parse(frame, false, nil)
		}
		if alive || cap(m.out) > 2*outMost || m.open != 0 || results[3].Class != http1.ClassMalformed {
			t.Errorf("%s: alive %v after %d, %d bytes kept, %+v", name, alive, n, cap(m.out), results[3])
		}
	}
}
