package target

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// called is an answer to a call.
type called struct {
	status        int
	code, text    string
	messages      []string
	encoding, err string
}

// invoke calls a method with these bytes, and header fields by name and value in turn.
func invoke(t *testing.T, c *http.Client, url string, body io.Reader, fields ...string) (got called) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/grpc+proto")
	q.Header.Set("Te", "trailers")
	for i := 0; i < len(fields); i += 2 {
		q.Header.Set(fields[i], fields[i+1])
	}
	r, err := c.Do(q)
	if err != nil {
		return called{err: err.Error()}
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		got.err = err.Error()
	}
	in := incoming{packed: true}
	if r.StatusCode != http.StatusOK {
		return called{status: r.StatusCode}
	}
	if r := in.feed(b, func(m []byte) *refusal { got.messages = append(got.messages, string(m[prefixLength:])); return nil }); r != nil || len(in.partial) > 0 {
		t.Errorf("%+v, %q is left", r, in.partial)
	}
	got.status, got.encoding = r.StatusCode, r.Header.Get("Grpc-Encoding")
	for _, h := range []http.Header{r.Header, r.Trailer} {
		if h.Get("Grpc-Status") != "" {
			got.code, got.text = h.Get("Grpc-Status"), h.Get("Grpc-Message")
		}
	}
	return got
}

func TestCall(t *testing.T) {
	packed := append([]byte{1}, framed([]byte("zz"))[1:]...)
	long := []byte{0, 0, 0x40, 0, 1}
	for _, c := range []struct {
		name   string
		o      Options
		path   string
		body   []byte
		fields []string
		want   called
	}{
		{"any method", Options{}, "/a.B/C", framed([]byte("x")), nil, called{status: 200, code: "0", messages: []string{"x"}}},
		{"no message", Options{}, "/a.B/C", nil, nil, called{status: 200, code: "0", messages: []string{""}}},
		{"the last of several", Options{}, "/takt.Target/Unary", slices.Concat(framed([]byte("x")), framed([]byte("y"))), nil, called{status: 200, code: "0", messages: []string{"y"}}},
		{"a stream", Options{GRPCMessages: 3}, "/takt.Target/ServerStream", framed([]byte("x")), nil, called{status: 200, code: "0", messages: []string{"x", "x", "x"}}},
		{"a stream of any method", Options{GRPCStream: "1us", GRPCMessages: 2}, "/a.B/C", framed(nil), nil, called{status: 200, code: "0", messages: []string{"", ""}}},
		{"one answer beside streams", Options{GRPCStream: "1us"}, "/takt.Target/Unary", framed(nil), nil, called{status: 200, code: "0", messages: []string{""}}},
		{"echoes", Options{}, "/takt.Target/BidiStream", slices.Concat(framed([]byte("x")), framed(nil), framed([]byte("y"))), nil, called{status: 200, code: "0", messages: []string{"x", "", "y"}}},
		{"no echoes", Options{}, "/takt.Target/BidiStream", nil, nil, called{status: 200, code: "0"}},
		{"another size", Options{GRPCSize: 3}, "/takt.Target/Unary", framed([]byte("x")), nil, called{status: 200, code: "0", messages: []string{"\n\x03tak"}}},
		{"compressed", Options{}, "/takt.Target/Unary", packed, []string{"Grpc-Encoding", "gzip"}, called{status: 200, code: "0", messages: []string{"zz"}, encoding: "gzip"}},
		{"identity", Options{}, "/takt.Target/Unary", framed(nil), []string{"Grpc-Encoding", "identity"}, called{status: 200, code: "0", messages: []string{""}}},
		{"compressed somehow", Options{}, "/takt.Target/Unary", packed, []string{"Grpc-Encoding", "br"}, called{status: 200, code: "12", text: refusedCoding.text}},
		{"compressed by nothing", Options{}, "/takt.Target/Unary", packed, nil, called{status: 200, code: "13", text: refusedPacked.text}},
		{"a wrong flag", Options{}, "/takt.Target/Unary", []byte{2, 0, 0, 0, 0}, nil, called{status: 200, code: "13", text: refusedFlag.text}},
		{"too long", Options{}, "/takt.Target/Unary", long, nil, called{status: 200, code: "8", text: refusedLong.text}},
		{"cut in the prefix", Options{}, "/takt.Target/Unary", long[:4], nil, called{status: 200, code: "13", text: refusedCut.text}},
		{"cut", Options{}, "/a.B/C", framed([]byte("xyz"))[:7], nil, called{status: 200, code: "13", text: refusedCut.text}},
		{"reflection of noise", Options{}, "/" + reflectionOld + "/ServerReflectionInfo", framed([]byte{0xff}), nil, called{status: 200, code: "13", text: refusedQuestion.text}},
		{"reflection of nothing", Options{}, "/" + reflectionService + "/ServerReflectionInfo", framed(nil), nil, called{status: 200, code: "13", text: refusedQuestion.text}},
		{"no service", Options{}, "/a", nil, nil, called{status: 200, code: "12", text: refusedMethod.text}},
		{"no method", Options{}, "/a.B/", nil, nil, called{status: 200, code: "12", text: refusedMethod.text}},
		{"no call", Options{}, "/a.B/C", nil, []string{"Content-Type", "text/plain"}, called{status: 415}},
		{"an error", Options{ErrorRate: 1}, "/a.B/C", framed(nil), nil, called{status: 200, code: "14", text: failedCall.text}},
		{"an error of a stream", Options{ErrorRate: 1}, "/takt.Target/ServerStream", framed(nil), nil, called{status: 200, code: "14", text: failedCall.text}},
		{"an error of echoes", Options{ErrorRate: 1}, "/takt.Target/BidiStream", framed(nil), nil, called{status: 200, code: "14", text: failedCall.text}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.GRPC = true
			s, stop := start(t, c.o)
			// At once, and in pieces of a byte.
			for _, body := range []io.Reader{bytes.NewReader(c.body), &dribble{c.body}} {
				got := invoke(t, h2Client(t), s.URL()+c.path, body, c.fields...)
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("%+v; want %+v", got, c.want)
				}
			}
			stop()
			if n := s.Truth().Counts; c.want.code != "0" && c.want.code != "14" != (n.Malformed == 2) || n.Unfinished != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// dribble is a body in reads of one byte.
type dribble struct{ rest []byte }

func (d *dribble) Read(b []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	b[0], d.rest = d.rest[0], d.rest[1:]
	return 1, nil
}

// A client of HTTP/1.1 hears what this target is for.
func TestCallsOnly(t *testing.T) {
	s, stop := start(t, Options{GRPC: true})
	c := client(t)
	for range 2 {
		r, err := c.Post(s.URL(), "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != 415 || !strings.Contains(string(b), "leave out --grpc") {
			t.Errorf("%s: %s", r.Status, b)
		}
	}
	stop()
	if n := s.Truth().Counts; n.Malformed != 2 || n.Requests != 0 {
		t.Errorf("%+v", n)
	}
}

func TestCallOptions(t *testing.T) {
	for _, o := range []Options{
		{GRPCStream: "1ms"}, {GRPCMessages: 1}, {GRPCSize: 1}, {GRPC: true, GRPCStream: "soon"}, {GRPC: true, GRPCMessages: -1}, {GRPC: true, GRPCMessages: maxTokens + 1},
		{GRPC: true, GRPCSize: -1}, {GRPC: true, GRPCSize: maxSize + 1}, {GRPC: true, SSE: "1ms"}, {GRPC: true, Status: 404}, {GRPC: true, CloseRate: 0.1}, {GRPC: true, Null: true},
	} {
		if faults := o.Validate(); len(faults) != 1 {
			t.Errorf("%+v: %v; want one fault", o, faults)
		}
	}
	if faults := (Options{GRPC: true, GRPCStream: "0", GRPCMessages: 1, H2Requests: 1}).Validate(); len(faults) > 0 {
		t.Error(faults)
	}
}

// The record of a call is that of its first message, and each message of a stream has its instants.
func TestCallTruth(t *testing.T) {
	s, stop := start(t, Options{GRPC: true, Service: "2ms", Servers: 1, GRPCStream: "1ms", GRPCMessages: 5})
	c := h2Client(t)
	began := make(chan called, 2)
	for range 2 {
		go func() { began <- invoke(t, c, s.URL()+"/a.B/C", bytes.NewReader(framed([]byte("x")))) }()
	}
	for range 2 {
		if got := <-began; len(got.messages) != 5 || got.code != "0" {
			t.Error(got)
		}
	}
	invoke(t, c, s.URL()+"/takt.Target/BidiStream", &dribble{slices.Concat(framed(nil), framed(nil), framed(nil))})
	stop()
	truth := s.Truth()
	if len(truth.Records) != 3 || len(truth.Streams) != 3 {
		t.Fatalf("%d records, %d streams", len(truth.Records), len(truth.Streams))
	}
	for i := range 2 {
		checkStream(t, truth.Records[i], truth.Streams[i], 5, 0)
	}
	if first, second := truth.Streams[0].Due[4], truth.Records[1]; second.Start != first || second.End != first+2*ms {
		t.Errorf("the second call starts at %v and has its first message at %v; the first one has its last at %v", second.Start, second.End, first)
	}
	echoes, r := truth.Streams[2], truth.Records[2]
	if len(echoes.Due) != 3 || r.End != echoes.Due[0] || r.Released != echoes.Sent[0] || r.Start < r.Arrival {
		t.Fatalf("%+v %+v", r, echoes)
	}
	for i := 1; i < 3; i++ {
		if echoes.Due[i] < echoes.Due[i-1]+2*ms {
			t.Errorf("echoes due at %v, with a service of 2 ms", echoes.Due)
		}
	}
}

// Echoes in virtual time: one after the other, each with its service time, and nothing while the client says nothing.
func TestEchoes(t *testing.T) {
	set, faults := Options{GRPC: true, Service: "10ms", Servers: 1, Freeze: "100ms/1s"}.settings()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	d := newDesk(set, 1, newAlarm())
	l := d.line
	f := &flow{echo: echo{on: true}}
	start, a := l.arrive(f, 5*ms)
	if m, next := l.step(f, start); a != queued || m != moveBegin || next != forever || !l.resting[f] {
		t.Fatalf("%v, move %v, next at %v", a, m, next)
	}
	other := &flow{echo: echo{on: true}}
	if _, a := l.arrive(other, 6*ms); a != waits {
		t.Errorf("%v: a stream that rests occupies its server", a)
	}
	f.came = 2
	next, ok := l.wake(f, 20*ms)
	if !ok || next != 30*ms {
		t.Fatalf("the first echo is due at %v, %v", next, ok)
	}
	if _, ok := l.wake(f, 21*ms); ok {
		t.Error("it woke twice")
	}
	for _, want := range []time.Duration{40 * ms, forever} {
		var m move
		if m, next = l.step(f, next); m != moveToken || next != want {
			t.Fatalf("move %v, next at %v; want %v", m, next, want)
		}
	}
	f.came = 3
	if next, _ = l.wake(f, 895*ms); next != 1005*ms {
		t.Errorf("an echo is due at %v, with a freeze from 900 to 1000 ms", next)
	}
	f.closed = true
	if m, _ := l.step(f, next); m != moveEnd || l.busy != 0 || l.decoding != 0 {
		t.Errorf("move %v, %d are busy, %d decode", m, l.busy, l.decoding)
	}
	if w, _ := l.advance(next); w != other {
		t.Error("nobody has the free server")
	}
	if m, next := l.step(other, next); m != moveBegin || next != forever {
		t.Fatal(m, next)
	}
	other.closed = true
	next, _ = l.wake(other, 1100*ms)
	if m, _ := l.step(other, next); m != moveClose || next != 1100*ms || l.busy != 0 || len(l.resting) != 0 {
		t.Errorf("move %v at %v, %d are busy, %d rest", m, next, l.busy, len(l.resting))
	}
}

// call opens a call, and sends bytes of its messages.
func (r *raw) call(id uint32, path string, body []byte, ends bool) {
	r.block.Reset()
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", path}, {"content-type", callType}} {
		_ = r.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.block.Bytes(), EndHeaders: true})
	_ = r.WriteData(id, ends, body)
}

// A client that sends and does not read costs bounded memory: its stream waits, or it is refused.
func TestCallsUnread(t *testing.T) {
	large := framed(bytes.Repeat([]byte("x"), 10_000))
	s, stop := start(t, Options{GRPC: true, GRPCMessages: maxTokens})
	c := rawTo(t, s, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	c.call(1, "/takt.Target/ServerStream", large, true)
	c.call(3, "/takt.Target/BidiStream", nil, false)
	c.call(5, "/"+reflectionService+"/ServerReflectionInfo", nil, false)
	refused := make(chan error, 1)
	go func() {
		list := bytes.Repeat(framed(field(askSymbol, ownService)), 200)
		for range 4000 {
			if c.WriteData(3, false, large) != nil || c.WriteData(5, false, list) != nil {
				break
			}
		}
		refused <- nil
	}()
	for i := 0; i < 2; i++ { // stream 5, and 3, of which the window holds the trailers back
		if f := c.await(t, http2.FrameRSTStream).(*http2.RSTStreamFrame); f.StreamID == 5 && f.ErrCode == http2.ErrCodeEnhanceYourCalm {
			break
		}
	}
	<-refused
	await(t, s, "the end of the echoes", func(c Counts) bool { return c.Left == 1 && c.Malformed == 1 })
	s.conns.mu.Lock()
	for c := range s.conns.conns {
		m := c.muxed.Load()
		m.mu.Lock()
		if n := m.http.Unsent(1); n < maxUnread || n > maxUnread+len(large) {
			t.Errorf("%d bytes wait", n)
		}
		if n := m.http.Unsent(3); n > maxUnread+maxMessage {
			t.Errorf("%d bytes of echoes wait", n)
		}
		m.mu.Unlock()
	}
	s.conns.mu.Unlock()
	if got := invoke(t, h2Client(t), s.URL()+"/takt.Target/Unary", bytes.NewReader(framed(nil))); got.code != "0" {
		t.Errorf("another client: %+v", got)
	}
	stop()
}

// Calls that wait, rest, are half sent, or stand still for their client end with the server, and with their connection.
func TestCallsEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, leaves := range []bool{true, false} {
		s, stop := start(t, Options{GRPC: true, GRPCSize: 100_000, GRPCMessages: 100, HalfOpenRate: 0.1, Seed: 7})
		var clients []*raw
		for range 3 {
			c := rawTo(t, s)
			clients = append(clients, c)
			for id, path := range []string{"BidiStream", "ServerStream", "Unary", "BidiStream", "ClientStream"} {
				c.call(uint32(2*id+1), "/takt.Target/"+path, framed([]byte("x"))[:4+id%2*2], false)
			}
			c.call(11, "/takt.Target/ServerStream", nil, true)
			c.call(13, "/takt.Target/BidiStream", framed(nil), false)
			c.call(15, "/takt.Target/BidiStream", framed(nil), false)
		}
		await(t, s, "15 calls", func(c Counts) bool { return c.Requests == 15 })
		for _, c := range clients {
			_ = c.WriteWindowUpdate(13, 0) // a fault of the stream
			_ = c.WriteRSTStream(15, http2.ErrCodeCancel)
		}
		await(t, s, "6 calls left", func(c Counts) bool { return c.Left+c.HalfOpen >= 6 })
		if leaves {
			for _, c := range clients {
				_ = c.Close()
			}
			await(t, s, "no call", func(c Counts) bool { return c.Unfinished == 0 })
		}
		stop()
		d := s.desk
		if n := s.Truth().Counts; n.Requests != n.OK+n.HalfOpen+n.Left+n.Unfinished || leaves && len(d.line.resting) > 0 {
			t.Errorf("%+v do not add up, %d flows rest", n, len(d.line.resting))
		}
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(ms) {
		if time.Now().After(end) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

// No bytes of a request break the reading of messages, and it gives them as they were.
func FuzzIncoming(f *testing.F) {
	f.Add(slices.Concat(framed([]byte("x")), framed(nil), framed([]byte("yz"))), uint8(1))
	f.Add([]byte{1, 0, 0, 0, 0}, uint8(3))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		in, got, fed := incoming{packed: true}, []byte{}, 0
		var wrong *refusal
		for rest := b; len(rest) > 0 && wrong == nil; {
			n := min(len(rest), int(piece)+1)
			wrong = in.feed(rest[:n], func(m []byte) *refusal { got = append(got, m...); return nil })
			rest, fed = rest[n:], fed+n
		}
		if got = append(got, in.partial...); !bytes.Equal(got, b[:fed]) {
			t.Errorf("%d bytes, %v; want %d", len(got), wrong, fed)
		}
		_, _ = describe(append(make([]byte, prefixLength), b...))
	})
}
