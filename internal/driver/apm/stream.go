package apm

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/pkg/takt"
)

// streamPhases are the phases of a streamed request: connecting, and from the end of the body
// to the answer.
func streamPhases() []string { return []string{"connect", "answer"} }

// Latencies names the driver's latencies, of requests and of streams.
func Latencies() []string { return slices.Concat(engine.NetPhases, streamPhases()) }

// streams makes workers that stream to one server.
type streams struct {
	loop   *takt.Loop
	plan   *plan
	server int
	length time.Duration // length of a request
	pause  time.Duration // pause between bodies
	until  time.Duration // end of the schedule and of all requests; 0: unknown
}

func (s *streams) worker(int) (takt.Worker, error) {
	return &streamWorker{streams: s, codec: newCodec(s.plan, s.server), in: make([]byte, 16<<10)}, nil
}

func (s *streams) probe(ctx context.Context) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}

func (s *streams) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.loop.ConnectTimeout)
	defer cancel()
	engine.ObservedOf(ctx).Uncounted()
	c, err := reach.Dial(ctx, s.loop.Network, s.loop.Addr)
	if err != nil || s.loop.TLS == nil {
		return c, err
	}
	secure := tls.Client(c, s.loop.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close() // the handshake's error is the cause
		return nil, err
	}
	return secure, nil
}

// streamWorker streams one request at a time, each over its own connection. A request lasts
// for seconds, so connecting costs little.
type streamWorker struct {
	*streams
	codec *codec
	in    []byte
}

// Do implements takt.Worker.
func (w *streamWorker) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	begun := time.Now()
	c, err := w.dial(ctx)
	if err != nil {
		engine.Fail(r, err, true)
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // wakes reads and writes
	r.Phases[0] = time.Since(begun)
	_ = c.SetDeadline(begun.Add(w.length + w.loop.Timeout)) // fails on a closed connection only
	t, _ := w.plan.choose(w.server, op)
	w.codec.Reset()
	w.codec.s.begin(t, content{}, op.Due >= w.plan.warmup)

	answered := make(chan struct{})
	var failed error
	go func() {
		defer close(answered)
		failed = w.read(c, r)
	}()
	sent := w.write(c, t, int(op.Seq), begun.Add(w.lasts(op.Due)), answered)
	ended := time.Now()
	<-answered
	r.BytesSent, r.Phases[1] = sent, time.Since(ended)
	if failed != nil {
		engine.Fail(r, failed, false)
		return
	}
	w.codec.s.ended(r)
}

// lasts is the length of the request with this due instant.
func (w *streamWorker) lasts(due time.Duration) time.Duration {
	if w.until == 0 {
		return w.length
	}
	return max(0, min(w.length, w.until-due))
}

// read reads the answer, which may come before the end of the request. The answer is counted
// after the request.
func (w *streamWorker) read(c net.Conn, r *takt.Result) error {
	held := 0
	for {
		n, err := c.Read(w.in[held:])
		if err != nil && err != io.EOF {
			return err
		}
		used, progress := w.codec.Codec.Parse(w.in[:held+n], err == io.EOF, r)
		r.BytesReceived += int64(used)
		held = copy(w.in, w.in[used:held+n])
		switch {
		case progress != takt.More:
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case held == len(w.in):
			return fmt.Errorf("the head of the answer is longer than %d bytes", len(w.in))
		}
	}
}

// write sends the bodies of t in turn, starting with first, until the instant end or the
// answer, and returns the bytes sent. The reader notices errors.
func (w *streamWorker) write(c net.Conn, t *target, first int, end time.Time, answered <-chan struct{}) (sent int64) {
	put := func(b []byte) bool {
		n, err := c.Write(b)
		sent += int64(n)
		return err == nil
	}
	body := func(k int) *request { return &t.requests[(first+k)%len(t.requests)] }
	if !put(body(0).stream.head) {
		return sent
	}
	for begun, k := time.Now(), 0; ; k++ {
		next := begun.Add(time.Duration(k) * w.pause) // computed, not accumulated
		if k > 0 && (!next.Before(end) || !time.Now().Before(end)) {
			if !pause.For(time.Until(end), answered) { // otherwise a closed loop would fill the last pause with one-body requests
				return sent
			}
			break
		}
		if !pause.For(time.Until(next), answered) || !put(body(k).stream.chunk) {
			return sent
		}
		w.codec.s.flushed(body(k).content)
	}
	put([]byte(endOfChunks))
	return sent
}

// Close implements takt.Worker.
func (w *streamWorker) Close() error { return nil }

// stream is a request in two parts, both as chunks of its body.
type stream struct{ head, chunk []byte }

const endOfChunks = "0\r\n\r\n"

// newStream makes the parts of a stream: the metadata once, then the events of the body again
// and again. Compressed, the parts are gzip members, which may follow one another.
func newStream(rendered []byte, b packed, compress bool) stream {
	// A request without a body has Content-Length: 0.
	head, _ := bytes.CutSuffix(rendered, []byte("Content-Length: 0\r\n\r\n"))
	head = append(bytes.Clone(head), "Transfer-Encoding: chunked\r\n\r\n"...)
	metadata, events := b.text[:b.head], b.text[b.head:]
	if compress {
		var p packer
		metadata, events = p.pack(metadata), p.pack(events)
	}
	return stream{head: append(head, chunk(metadata)...), chunk: chunk(events)}
}

func chunk(b []byte) []byte {
	return append(append(fmt.Appendf(nil, "%x\r\n", len(b)), b...), "\r\n"...)
}
