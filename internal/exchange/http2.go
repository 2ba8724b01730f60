package exchange

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http2/wire"
)

// Limits of what is read of HTTP/2. They are above what takt announces, so that what takt reads can be shown.
const (
	mostTable  = 64 << 10
	mostFields = 1 << 20
)

// frames reads one direction of a connection over HTTP/2.
type frames struct {
	in      []byte
	reader  wire.Reader
	headers *hpack.Decoder
	broken  bool // what follows makes no sense
}

func newFrames() *frames { return &frames{headers: hpack.NewDecoder(mostTable, mostFields)} }

// frame is what frames passes on: the fields of a header block, a piece of a body, or another frame.
type frame struct {
	wire.Header
	fields  []string // of a header block
	payload []byte
}

// feed reads b, and passes on the frames that it completes.
func (f *frames) feed(b []byte, take func(frame)) {
	if f.broken {
		return
	}
	f.in = append(f.in, b...)
	at := 0
	for !f.broken {
		n := f.next(f.in[at:], take)
		if at += n; n == 0 {
			break
		}
	}
	f.in = f.in[:copy(f.in, f.in[at:])]
	f.broken = f.broken || len(f.in) > mostFields
}

// next reads one frame, or a piece of DATA, and returns its length; 0: it is not there yet.
func (f *frames) next(in []byte, take func(frame)) int {
	if f.reader.InData() {
		content, n := f.reader.TakeData(in)
		if len(content) > 0 {
			take(frame{Header: f.reader.Of, payload: content})
		}
		return n
	}
	if len(in) < wire.HeaderLength {
		return 0
	}
	h := wire.ReadHeader(in)
	if len(in) < h.Needs() {
		return 0
	}
	if h.Kind == wire.Data {
		f.broken = f.reader.BeginData(h, in[wire.HeaderLength:]) != wire.NoError
		return h.Needs()
	}
	f.whole(h, in[wire.HeaderLength:h.Needs()], take)
	return h.Needs()
}

// whole handles a frame that is not DATA.
func (f *frames) whole(h wire.Header, b []byte, take func(frame)) {
	var block []byte
	var done bool
	code := wire.NoError
	switch h.Kind {
	case wire.Headers:
		block, done, code = f.reader.BeginBlock(h, b)
	case wire.Continuation:
		block, done, code = f.reader.JoinBlock(h, b, mostFields)
	default:
		take(frame{Header: h, payload: b})
		return
	}
	if f.broken = code != wire.NoError; !done || f.broken {
		return
	}
	h.Kind = wire.Headers
	one := frame{Header: h}
	f.broken = f.headers.Decode(block, func(name, value []byte) { one.fields = append(one.fields, field(name, value)) }) != nil
	take(one)
}

// request2 adds a frame that takt sent to a request.
func (m *Message) request2(f frame) {
	switch f.Kind {
	case wire.Headers:
		pseudo := m.fields(f.fields)
		m.Line = pseudo[":method"] + " " + pseudo[":path"] + " HTTP/2"
		m.Header = append([]string{"Host: " + pseudo[":authority"]}, m.Header...)
	case wire.Data:
		m.add(f.payload, 0)
	}
}

// answer2 adds a frame of the answer.
func (m *Message) answer2(f frame, at time.Duration) {
	switch f.Kind {
	case wire.Headers:
		if m.Line != "" {
			m.Trailer = append(m.Trailer, f.fields...)
			return
		}
		if pseudo := m.fields(f.fields); len(pseudo[":status"]) != 3 || pseudo[":status"][0] != '1' {
			m.Line = "HTTP/2 " + pseudo[":status"]
		} else {
			m.Header = nil // of an answer before it, such as 103
		}
	case wire.Data:
		m.add(f.payload, at)
	case wire.Reset:
		if len(f.payload) == 4 {
			p := f.payload
			m.Note = fmt.Sprintf("the server reset the stream: %v", wire.Code(uint32(p[0])<<24|uint32(p[1])<<16|uint32(p[2])<<8|uint32(p[3])))
		}
	}
}

// fields takes the headers of a block, and returns those with a colon.
func (m *Message) fields(list []string) map[string]string {
	pseudo := map[string]string{}
	for _, f := range list {
		if len(f) > 0 && f[0] == ':' {
			for i := 1; i < len(f)-1; i++ {
				if f[i] == ':' {
					pseudo[f[:i]] = f[i+2:]
					break
				}
			}
			continue
		}
		m.Header = append(m.Header, f)
	}
	return pseudo
}
