package http_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
)

// helloConn keeps what the server wrote first, which begins with its hello.
type helloConn struct {
	net.Conn
	hello []byte
}

func (c *helloConn) Write(b []byte) (int, error) {
	if c.hello == nil {
		c.hello = bytes.Clone(b)
	}
	return c.Conn.Write(b)
}

// helloRequest is a record of TLS 1.2 that asks the client for another handshake. crypto/tls sends
// none. secret is a line of the key log; the suite is AES-128-GCM with SHA-256.
func helloRequest(t *testing.T, secret string, hello []byte) []byte {
	t.Helper()
	words := strings.Fields(secret) // CLIENT_RANDOM, the random, the master secret
	client, err1 := hex.DecodeString(words[1])
	master, err2 := hex.DecodeString(words[2])
	server := hello[5+4+2:][:32] // after the heads of record and message, and the version
	seed := append(append([]byte("key expansion"), server...), client...)
	sum := func(parts ...[]byte) []byte {
		m := hmac.New(sha256.New, master)
		for _, p := range parts {
			m.Write(p)
		}
		return m.Sum(nil)
	}
	var keys []byte // of the client, of the server, and 4 bytes of each nonce (RFC 5246, 6.3)
	for a := sum(seed); len(keys) < 16+16+4+4; a = sum(a) {
		keys = append(keys, sum(a, seed)...)
	}
	block, _ := aes.NewCipher(keys[16:32]) // fails with another length only
	gcm, err3 := cipher.NewGCM(block)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Error(err)
	}
	number := binary.BigEndian.AppendUint64(nil, 1) // the first encrypted record was Finished
	about := append(bytes.Clone(number), 22, 3, 3, 0, 4)
	record := []byte{22, 3, 3, 0, 8 + 4 + 16}
	return gcm.Seal(append(record, number...), append(bytes.Clone(keys[36:40]), number...), []byte{0, 0, 0, 0}, about)
}

// A server that asks for another handshake within a connection gets none: the operation fails at once.
func TestRenegotiation(t *testing.T) {
	conf := secureServer(t, nil).TLS.Clone()
	conf.MaxVersion, conf.CipherSuites, conf.NextProtos = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}, nil
	conf.SessionTicketsDisabled = true
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer c.Close()
				var secret bytes.Buffer
				own, raw := conf.Clone(), &helloConn{Conn: c}
				own.KeyLogWriter = &secret
				over := tls.Server(raw, own)
				if _, err := over.Read(make([]byte, 4096)); err != nil {
					return // a probe
				}
				if _, err := c.Write(helloRequest(t, secret.String(), raw.hello)); err != nil {
					t.Error(err)
				}
				_, _ = over.Read(make([]byte, 4096)) // the alert
			})
		}
	})
	t.Cleanup(func() { l.Close(); served.Wait() })
	for _, way := range ways {
		o := way.options()
		r := drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) { e.Engine, e.Requests, e.Connections = way.mode, 3, 1 }, "https://"+l.Addr().String()))
		if r.Counts.Failed != 3 || len(r.Errors) != 1 || r.Errors[0].Class != "tls" || !strings.Contains(r.Errors[0].Sample, "no renegotiation") {
			t.Errorf("%v: %+v, %+v", way, r.Counts, r.Errors)
		}
	}
}
