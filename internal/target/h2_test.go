package target

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Client speaks HTTP/2 only, with or without TLS.
func h2Client(t *testing.T) *http.Client {
	transport := &http2.Transport{
		AllowHTTP: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialTLSContext: func(ctx context.Context, network, addr string, conf *tls.Config) (net.Conn, error) {
			return (&tls.Dialer{Config: conf}).DialContext(ctx, network, addr)
		},
	}
	plain := &http2.Transport{AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(plain.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "https" {
			return transport.RoundTrip(r)
		}
		return plain.RoundTrip(r)
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Many streams at once are answered whole, small and large, with and without service time and TLS,
// and clients of HTTP/1.1 as well.
func TestH2(t *testing.T) {
	for _, o := range []Options{
		{}, {Service: "1ms"}, {Size: new(0)}, {Size: new(100_000)}, {Size: new(100_000), Service: "exp(1ms)", H2Streams: 3},
		{H2Requests: 7}, {H2Requests: 3, Service: "1ms", TLS: true}, {H2Requests: 5, Size: new(100_000)},
		{TLS: true}, {TLS: true, Service: "1ms", Size: new(100_000)},
	} {
		o.H2 = true
		s, stop := start(t, o)
		size := defaultSize
		if o.Size != nil {
			size = *o.Size
		}
		c := h2Client(t)
		old := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				for range 10 {
					q, _ := http.NewRequest("POST", s.URL()+"/any", strings.NewReader(strings.Repeat("x", i*2000)))
					client, proto := c, 2
					if i%5 == 0 {
						client, proto = old, 1
					}
					r, err := client.Do(q)
					if err != nil {
						t.Errorf("%+v: %v", o, err)
						return
					}
					b, err := io.ReadAll(r.Body)
					_ = r.Body.Close()
					if err != nil || string(b) != filler(size) || r.StatusCode != 200 || r.ProtoMajor != proto || r.ContentLength != int64(size) {
						t.Errorf("%+v: %v %s, %d bytes, %v", o, r.Proto, r.Status, len(b), err)
					}
				}
			})
		}
		all.Wait()
		c.CloseIdleConnections()
		old.CloseIdleConnections()
		stop()
		if n := s.Truth().Counts; n.Requests != 100 || n.OK != 100 || n.Malformed != 0 {
			t.Errorf("%+v: %+v", o, n)
		}
		replay(t, s.Truth(), s.desk.freeze)
	}
}

func TestH2Shapes(t *testing.T) {
	for _, c := range []struct {
		o      Options
		method string
		status int
		length int64 // as the head says it
	}{
		{Options{Status: 201}, "HEAD", 201, 100}, {Options{Status: 204}, "GET", 204, 0}, {Options{Status: 304}, "GET", 304, 0},
		{Options{ErrorRate: 1}, "GET", 500, int64(len(failure))}, {Options{Status: 404}, "DELETE", 404, 100},
	} {
		c.o.H2 = true
		s, stop := start(t, c.o)
		q, _ := http.NewRequest(c.method, s.URL(), nil)
		r, err := h2Client(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != c.status || r.ContentLength != c.length || len(b) != int(c.length) && c.method != "HEAD" {
			t.Errorf("%+v: %s, %d, %d bytes, %v", c, r.Status, r.ContentLength, len(b), err)
		}
		stop()
	}
}

// What the client sees is what the truth says. A reset is one of a stream.
func TestH2Failures(t *testing.T) {
	for _, service := range []string{"0", "exp(100us)"} {
		s, stop := start(t, Options{H2: true, Service: service, Seed: 3, ErrorRate: 0.1, ResetRate: 0.05})
		c, got := h2Client(t), map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 250 {
					status := 0
					r, err := c.Post(s.URL(), "text/plain", io.MultiReader(strings.NewReader("hello")))
					if err == nil {
						_, err = io.Copy(io.Discard, r.Body)
						_ = r.Body.Close()
						status = r.StatusCode
					}
					var reset http2.StreamError
					if err != nil && (!errors.As(err, &reset) || reset.Code != http2.ErrCodeInternal) {
						t.Error(err)
					}
					mu.Lock()
					got[status]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		stop()
		n := s.Truth().Counts
		if uint64(got[200]) != n.OK || uint64(got[500]) != n.Errors || uint64(got[0]) != n.Resets || n.Requests != 2000 || n.Resets < 60 {
			t.Errorf("service %s: client %v, server %+v", service, got, n)
		}
	}
}

// raw is a client that sends what it likes.
type raw struct {
	*http2.Framer
	net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
}

func rawTo(t *testing.T, s *Server, settings ...http2.Setting) *raw {
	t.Helper()
	c, _ := dial(t, s, http2.ClientPreface)
	r := &raw{Conn: c, Framer: http2.NewFramer(c, c)}
	r.AllowIllegalWrites = true
	r.enc = hpack.NewEncoder(&r.block)
	if err := r.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *raw) get(id uint32) {
	r.block.Reset()
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", "/"}} {
		_ = r.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.block.Bytes(), EndStream: true, EndHeaders: true})
}

// await reads frames up to one of this kind, and returns it.
func (r *raw) await(t *testing.T, kind http2.FrameType) http2.Frame {
	t.Helper()
	for {
		f, err := r.ReadFrame()
		if err != nil {
			t.Fatalf("no %v: %v", kind, err)
		}
		if f.Header().Type == kind && !f.Header().Flags.Has(http2.FlagSettingsAck) || kind == http2.FrameData && f.Header().Type == kind {
			return f
		}
	}
}

// A half-open stream is silent while the others go on, and counts as open: the server refuses one
// too many. A client that resets it has room again.
func TestH2HalfOpen(t *testing.T) {
	s, stop := start(t, Options{H2: true, HalfOpenRate: 1, H2Streams: 2})
	c := rawTo(t, s)
	if v, _ := c.await(t, http2.FrameSettings).(*http2.SettingsFrame).Value(http2.SettingMaxConcurrentStreams); v != 2 {
		t.Errorf("%d streams", v)
	}
	c.get(1)
	c.get(3)
	c.get(5)
	if f := c.await(t, http2.FrameRSTStream).(*http2.RSTStreamFrame); f.StreamID != 5 || f.ErrCode != http2.ErrCodeRefusedStream {
		t.Error(f)
	}
	_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
	c.get(7)
	c.get(9)
	if f := c.await(t, http2.FrameRSTStream).(*http2.RSTStreamFrame); f.StreamID != 9 {
		t.Error(f)
	}
	stop()
	if n := s.Truth().Counts; n.Requests != 3 || n.HalfOpen != 3 || n.RefusedStreams != 2 {
		t.Errorf("%+v", n)
	}
}

// The server says why a connection ends, and that it ends itself.
func TestH2GoAway(t *testing.T) {
	s, stop := start(t, Options{H2: true})
	c := rawTo(t, s)
	_ = c.WriteData(1, true, nil)
	if f := c.await(t, http2.FrameGoAway).(*http2.GoAwayFrame); f.ErrCode != http2.ErrCodeProtocol {
		t.Error(f)
	}
	if _, err := c.ReadFrame(); err != io.EOF {
		t.Errorf("%v after GOAWAY", err)
	}
	c = rawTo(t, s)
	c.await(t, http2.FrameSettings)
	stop()
	if f := c.await(t, http2.FrameGoAway).(*http2.GoAwayFrame); f.ErrCode != http2.ErrCodeNo {
		t.Error(f)
	}
	if n := s.Truth().Counts; n.Malformed != 1 || n.Requests != 0 {
		t.Errorf("%+v", n)
	}
}

// After its last request a connection ends, though the client leaves it open.
func TestH2LastRequest(t *testing.T) {
	for _, service := range []string{"0", "1ms"} {
		s, _ := start(t, Options{H2: true, H2Requests: 2, Service: service})
		c := rawTo(t, s)
		var out bytes.Buffer
		in := c.Framer
		c.Framer = http2.NewFramer(&out, c)
		c.get(1)
		c.get(3)
		c.get(5)
		// In one write: a third request that comes later finds the connection closed.
		if _, err := out.WriteTo(c.Conn); err != nil {
			t.Fatal(err)
		}
		ends, last := 0, uint32(0)
		for {
			f, err := in.ReadFrame()
			if err != nil {
				if err != io.EOF || ends != 2 || last != 3 {
					t.Errorf("service %s: %v after %d answers, last stream %d", service, err, ends, last)
				}
				break
			}
			switch f := f.(type) {
			case *http2.GoAwayFrame:
				if last = f.LastStreamID; f.ErrCode != http2.ErrCodeNo {
					t.Error(f)
				}
			case *http2.DataFrame:
				if f.StreamEnded() {
					ends++
				}
			}
		}
		await(t, s, "the refused stream", func(c Counts) bool { return c.RefusedStreams == 1 && c.OK == 2 })
	}
}

// A client that asks for more and more and reads nothing costs bounded memory, hinders nobody, and
// does not keep the server from ending.
func TestH2UnreadIsBounded(t *testing.T) {
	for name, ask := range map[string]func(c *raw, n uint32){
		"PING":     func(c *raw, _ uint32) { _ = c.WritePing(false, [8]byte{}) },
		"SETTINGS": func(c *raw, _ uint32) { _ = c.WriteSettings() },
		"requests": func(c *raw, n uint32) { c.get(2*n + 1) },
		"resets":   func(c *raw, n uint32) { c.get(2*n + 1); _ = c.WriteRSTStream(2*n+1, http2.ErrCodeCancel) },
	} {
		s, stop := start(t, Options{H2: true, Size: new(1 << 20)})
		c := rawTo(t, s, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		_ = c.WriteWindowUpdate(0, 1<<30)
		var out bytes.Buffer
		c.Framer = http2.NewFramer(&out, c)
		var err error
		for n := uint32(0); err == nil && n < 1<<23; n++ {
			if ask(c, n); out.Len() >= 32<<10 {
				_ = c.SetWriteDeadline(time.Now().Add(time.Second / 2))
				_, err = out.WriteTo(c.Conn)
			}
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the server reads on: %v", name, err)
		}
		r, err := h2Client(t).Get(s.URL())
		if err != nil {
			t.Fatalf("%s: another client: %v", name, err)
		}
		_ = r.Body.Close()
		s.conns.mu.Lock()
		for c := range s.conns.conns {
			if m := c.muxed.Load(); m != nil {
				m.locked(func() {
					if n := m.http.Waiting(); n > 2*maxBehind || m.http.Open() > defaultStreams {
						t.Errorf("%s: %d bytes wait, %d streams are open", name, n, m.http.Open())
					}
				})
			}
		}
		s.conns.mu.Unlock()
		stop()
	}
}

// A client that opens streams and resets them fills the desk up to a limit.
func TestH2RapidReset(t *testing.T) {
	s, stop := start(t, Options{H2: true, Service: "1h"})
	c := rawTo(t, s)
	go func() {
		for id := uint32(1); id < 4*maxGone; id += 2 {
			c.get(id)
			if c.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
				return
			}
		}
	}()
	if f := c.await(t, http2.FrameGoAway).(*http2.GoAwayFrame); f.ErrCode != http2.ErrCodeEnhanceYourCalm {
		t.Error(f)
	}
	if n := s.Truth().Counts.Unfinished; n > maxGone+defaultStreams {
		t.Errorf("%d requests at the desk", n)
	}
	stop()
}

// Idle, a part of a frame, waiting, hung and unread: all end at once, and no goroutine stays.
func TestH2Shutdown(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, o := range []Options{
		{Service: "1h", Servers: 1}, {HalfOpenRate: 1}, {Size: new(64 << 20)}, {Size: new(64 << 20), Service: "1ms"},
	} {
		o.H2 = true
		s, stop := start(t, o)
		_, _ = dial(t, s, "PR")
		_, _ = dial(t, s, http2.ClientPreface+"\x00\x00")
		for range 3 {
			c := rawTo(t, s, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
			_ = c.WriteWindowUpdate(0, 1<<30)
			c.get(1)
			c.get(3)
		}
		gone := rawTo(t, s)
		gone.get(1)
		_ = gone.Close()
		await(t, s, "6 requests", func(c Counts) bool { return c.Requests >= 6 })
		stop() // a server that waits for an answer or a client never ends
		c := s.Truth().Counts
		if c.Requests != c.OK+c.Errors+c.Resets+c.HalfOpen+c.Unfinished {
			t.Errorf("%+v: %+v do not add up", o, c)
		}
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(ms) {
		if time.Now().After(end) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

// Without --h2 the server speaks HTTP/1.1 alone.
func TestWithoutH2(t *testing.T) {
	s, _ := start(t, Options{TLS: true})
	c, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p := c.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Error(p)
	}
}
