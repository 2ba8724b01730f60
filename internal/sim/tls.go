package sim

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"sync"
	"time"
)

// clientTLS is the engine's side of TLS. The bytes of TLS are random, but their number is not, and
// only the number has an influence on a run. So the seed still decides everything.
var clientTLS = &tls.Config{
	InsecureSkipVerify: true,                      //nolint:gosec // the simulated target is the only server
	CurvePreferences:   []tls.CurveID{tls.X25519}, // the fastest: the simulator makes thousands of connections
	MinVersion:         tls.VersionTLS13,
}

var serverTLS = sync.OnceValue(func() *tls.Config {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // all its signatures have the same length
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sim"}, NotAfter: time.Unix(4e9, 0)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		panic(err) // cannot happen: the inputs are constants
	}
	return &tls.Config{
		Certificates:     []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		CurvePreferences: clientTLS.CurvePreferences,
		MinVersion:       tls.VersionTLS13,
	}
})

// tlsSide is the target's side of a TLS connection, with a thread that reads.
type tlsSide struct {
	net.Conn // nil: TLS calls none of the methods that are missing here
	w        *world
	s        *session
	tls      *tls.Conn
	in       []byte
	reader   *thread // the thread that waits for bytes
	shook    bool    // the handshake has succeeded
	sealing  bool    // Write appends to sealed instead of sending
	sealed   []byte
}

// shake begins a session over TLS.
func (v *server) shake(s *session) {
	t := &tlsSide{w: v.w, s: s}
	t.tls = tls.Server(t, serverTLS())
	s.tls = t
	v.w.serve(func() {
		if t.tls.Handshake() != nil {
			s.over = true
			v.w.net.end(s.c, v.w.now+v.w.oneWay())
			return
		}
		if t.shook = true; s.h2 != nil {
			s.h2.greet()
		}
		for b := make([]byte, 4096); ; {
			n, err := t.tls.Read(b)
			if err != nil || s.over {
				return
			}
			s.in = append(s.in, b[:n]...)
			v.read(s)
		}
	})
}

// serve starts a thread of the target or of a client. The end of the run does not wait for it.
func (w *world) serve(f func()) {
	w.spawn(w.now, f).server = true
	w.alive--
}

// seal returns b as the connection transports it: encrypted, but unchanged before the end of the
// handshake.
func (s *session) seal(b []byte) []byte {
	t := s.tls
	if t == nil || !t.shook {
		return b
	}
	t.sealing, t.sealed = true, nil
	_, err := t.tls.Write(b)
	if t.sealing = false; err != nil {
		return b
	}
	return t.sealed
}

// arrive receives bytes from the client; nil: the client has closed the connection.
func (t *tlsSide) arrive(b []byte) {
	t.in = append(t.in, b...)
	if r := t.reader; r != nil {
		t.w.wake(r)
	}
}

// Read implements net.Conn.
func (t *tlsSide) Read(b []byte) (int, error) {
	for len(t.in) == 0 {
		if t.s.gone {
			return 0, io.EOF
		}
		t.reader = t.w.cur
		t.w.wait(never)
		t.reader = nil
	}
	n := copy(b, t.in)
	t.in = t.in[n:]
	return n, nil
}

// Write implements net.Conn.
func (t *tlsSide) Write(b []byte) (int, error) {
	if t.sealing {
		t.sealed = append(t.sealed, b...)
	} else if !t.s.over {
		t.w.net.deliver(t.s.c, thawed(t.w.sc.Freezes, t.w.now)+t.w.oneWay(), bytes.Clone(b), false)
	}
	return len(b), nil
}
