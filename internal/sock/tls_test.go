package sock

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// certificate is a server's, made for the test.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// tape is a connection that keeps what is written to it, and is read from what is put there.
type tape struct {
	net.Conn
	in, out bytes.Buffer
}

func (p *tape) Read(b []byte) (int, error)       { return p.in.Read(b) }
func (p *tape) Write(b []byte) (int, error)      { return p.out.Write(b) }
func (p *tape) Close() error                     { return nil }
func (p *tape) SetDeadline(time.Time) error      { return nil }
func (p *tape) SetWriteDeadline(time.Time) error { return nil }

// switched is a server's connection that is a pipe first, and a tape after the handshake.
type switched struct{ net.Conn }

// pair returns both sides after the handshake, in memory. The server's bytes are in tape.out.
func tlsPair(t testing.TB, version uint16) (*TLS, *tls.Conn, *tape) {
	t.Helper()
	ours, theirs := net.Pipe()
	below := &switched{theirs}
	server := tls.Server(below, &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MaxVersion: version})
	ended := make(chan error, 1)
	go func() { ended <- server.Handshake() }()
	s := NewTLS(ours, &tls.Config{InsecureSkipVerify: true})
	if err := s.Handshake(t.Context()); err != nil {
		t.Fatal(err)
	}
	// TLS 1.3: the server sends session tickets before its handshake ends.
	tickets := make(chan []byte, 1)
	go func() {
		var all []byte
		for b := make([]byte, 4096); ; {
			n, err := ours.Read(b)
			all = append(all, b[:n]...)
			if err != nil {
				tickets <- all
				return
			}
		}
	}()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if s.Detach() != ours {
		t.Error("another connection came back")
	}
	_ = theirs.Close()
	p := new(tape)
	p.out.Write(<-tickets)
	below.Conn = p
	if s.State().Version != version {
		t.Errorf("version %x, want %x", s.State().Version, version)
	}
	return s, server, p
}

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// What comes in pieces of any size, tickets and several records among it, comes out whole.
func TestOpenInPieces(t *testing.T) {
	want := strings.Repeat("a long answer ", 3000) // three records
	for name, version := range versions {
		for _, piece := range []int{1, 2, 3, 4, 5, 6, 7, 100, 16_406, 1 << 20} {
			s, server, p := tlsPair(t, version)
			for _, part := range []string{want[:1], want[1:5], want[5:]} {
				if _, err := server.Write([]byte(part)); err != nil {
					t.Fatal(err)
				}
			}
			var got []byte
			in := bytes.Clone(p.out.Bytes())
			for len(in) > 0 {
				n := min(piece, len(in))
				part := bytes.Clone(in[:n]) // the caller's buffer changes after each call
				var err error
				if got, err = s.Open(got, part, false); err != nil {
					t.Fatalf("%s, pieces of %d: %v", name, piece, err)
				}
				clear(part)
				in = in[n:]
			}
			if string(got) != want {
				t.Errorf("%s, pieces of %d: %d bytes came out, want %d", name, piece, len(got), len(want))
			}
			if piece == 1 && cap(s.wire.own) > 3*(maxPlain+300) {
				t.Errorf("%d bytes are kept for less than a record", cap(s.wire.own))
			}
		}
	}
}

// What is sealed arrives, in as many calls as the socket takes, and buffers of large requests are
// not kept.
func TestSeal(t *testing.T) {
	for name, version := range versions {
		s, server, p := tlsPair(t, version)
		want := strings.Repeat("a long request ", 10_000)
		for _, part := range []string{want[:7], want[7:]} {
			if err := s.Seal([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		for len(s.Out()) > 0 {
			n := min(1000, len(s.Out()))
			p.in.Write(s.Out()[:n])
			s.Sent(n)
		}
		if s.wire.out != nil {
			t.Errorf("%s: %d bytes are kept", name, cap(s.wire.out))
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(server, got); err != nil || string(got) != want {
			t.Errorf("%s: %v, equal %v", name, err, string(got) == want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		p.in.Write(s.Out())
		if n, err := server.Read(got); n != 0 || err != io.EOF {
			t.Errorf("%s: %d bytes, %v, want the end", name, n, err)
		}
	}
}

// The end comes with the other side's word. With the connection alone it is a failure, and so are changed
// bytes and bytes that are not TLS. What came before it is there.
func TestEnds(t *testing.T) {
	for name, version := range versions {
		for end, c := range map[string]struct {
			change func(server *tls.Conn, p *tape)
			eof    bool
			plain  string
			want   string // of the error; "": none
		}{
			"nothing":          {func(*tls.Conn, *tape) {}, false, "", ""},
			"close_notify":     {func(v *tls.Conn, _ *tape) { _ = v.CloseWrite() }, false, "", "EOF"},
			"answer and close": {func(v *tls.Conn, _ *tape) { _, _ = v.Write([]byte("ok")); _ = v.CloseWrite() }, false, "ok", "EOF"},
			"the connection":   {func(v *tls.Conn, _ *tape) { _, _ = v.Write([]byte("ok")) }, true, "ok", "without close_notify"},
			"the end, twice":   {func(v *tls.Conn, _ *tape) { _ = v.CloseWrite() }, true, "", "EOF"},
			"in a record":      {func(v *tls.Conn, p *tape) { _, _ = v.Write([]byte("ok")); p.out.Truncate(p.out.Len() - 1) }, true, "", "without close_notify"},
			"changed":          {func(v *tls.Conn, p *tape) { _, _ = v.Write([]byte("ok")); p.out.Bytes()[p.out.Len()-1] ^= 1 }, false, "", "bad record MAC"},
			"answer, then bad": {func(v *tls.Conn, p *tape) { _, _ = v.Write([]byte("ok")); p.out.Write([]byte{23, 3, 3, 0, 2, 1, 1}) }, false, "ok", "bad record MAC"},
			"no TLS":           {func(_ *tls.Conn, p *tape) { p.out.WriteString("HTTP/1.1 400 Bad Request") }, false, "", "record"},
			"too long":         {func(_ *tls.Conn, p *tape) { p.out.Write([]byte{23, 3, 3, 0xff, 0xff}) }, false, "", "oversized record"},
		} {
			s, server, p := tlsPair(t, version)
			c.change(server, p)
			plain, err := s.Open(nil, p.out.Bytes(), c.eof)
			if string(plain) != c.plain || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %q, %v; want %q, %q", name, end, plain, err, c.plain, c.want)
			}
			if err != nil && (err == io.EOF) != (c.want == "EOF") {
				t.Errorf("%s, %s: %v is the end", name, end, err)
			}
		}
	}
}

// A handshake over a connection that speaks something else, or nothing, ends.
func TestHandshakeFails(t *testing.T) {
	for name, c := range map[string]struct{ says, want string }{
		"plain HTTP": {"HTTP/1.1 400 Bad Request\r\n\r\n", "first record does not look like a TLS handshake"},
		"SSH":        {"SSH-2.0-OpenSSH_9.2\r\n", "first record does not look like a TLS handshake"},
		"nothing":    {"", "deadline"},
		"an alert":   {"\x15\x03\x03\x00\x02\x02\x28", "handshake failure"},
	} {
		ours, theirs := net.Pipe()
		go func() {
			b := make([]byte, 4096)
			_, _ = theirs.Read(b)
			_, _ = io.WriteString(theirs, c.says)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		most := time.Minute
		if c.says == "" {
			most = 10 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), most)
		err := NewTLS(ours, &tls.Config{InsecureSkipVerify: true}).Handshake(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := ours.Write([]byte{0}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: the connection is open: %v", name, err)
		}
	}
}

// Whatever a server sends after the handshake: no panic, and no more memory than it sent.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("\x17\x03\x03\x00\x01a"), 3)
	f.Add([]byte("HTTP/1.1 200 OK"), 1)
	f.Add([]byte("\x16\x03\x03\x00\x04\x00\x00\x00\x00"), 9)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		s, _, p := tlsPair(t, tls.VersionTLS13)
		if _, err := s.Open(nil, p.out.Bytes(), false); err != nil {
			t.Fatal(err)
		}
		for piece = max(1, piece); len(in) > 0; {
			n := min(piece, len(in))
			plain, err := s.Open(nil, in[:n], false)
			if len(plain) > 0 {
				t.Fatalf("%q came out", plain)
			}
			if err != nil {
				return
			}
			in = in[n:]
		}
	})
}

// A request and its answer leave only what crypto/tls allocates itself: 2 readers of 24 bytes.
func BenchmarkExchange(b *testing.B) {
	s, server, p := tlsPair(b, tls.VersionTLS13)
	request, answer := bytes.Repeat([]byte{'q'}, 100), bytes.Repeat([]byte{'a'}, 300)
	in, plain := make([]byte, 4096), make([]byte, 0, 32<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Seal(request); err != nil {
			b.Fatal(err)
		}
		p.in.Write(s.Out())
		s.Sent(len(s.Out()))
		if _, err := io.ReadFull(server, in[:len(request)]); err != nil {
			b.Fatal(err)
		}
		if _, err := server.Write(answer); err != nil {
			b.Fatal(err)
		}
		out, err := s.Open(plain[:0], p.out.Bytes(), false)
		if err != nil || len(out) != len(answer) && len(out) != 0 {
			b.Fatal(len(out), err)
		}
		p.out.Reset()
	}
}
