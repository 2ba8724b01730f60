package amqp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/test/amqptest"
)

// port is a listener's way to serve a connection whose first bytes are head.
type port func(nc net.Conn, head []byte)

// silentPlain answers AMQP, and takes the ClientHello of TLS for the head of something
// long, as Artemis does.
func silentPlain(nc net.Conn, head []byte) {
	if wire.IsAMQP(string(head)) {
		_, _ = io.WriteString(nc, wire.ProtocolSASL)
	}
	_, _ = io.Copy(io.Discard, nc)
}

// silentTLS is the same of a port for TLS.
func silentTLS(config *tls.Config) port {
	return func(nc net.Conn, head []byte) {
		if isTLS(head) {
			_ = tls.Server(&replayed{nc, head}, config).Handshake()
		}
		_, _ = io.Copy(io.Discard, nc)
	}
}

// alerting answers what is no TLS with an alert, which has 7 bytes, and stays.
func alerting(nc net.Conn, _ []byte) {
	_, _ = nc.Write([]byte{21, 3, 3, 0, 2, 2, 70})
	_, _ = io.Copy(io.Discard, nc)
}

// answering says what it speaks, whatever came.
func answering(nc net.Conn, _ []byte) {
	go func() { _, _ = io.Copy(io.Discard, nc) }()
	_, _ = io.WriteString(nc, wire.ProtocolAMQP)
}

// hangingUp ends what is no TLS without a word.
func hangingUp(config *tls.Config) port {
	return func(nc net.Conn, head []byte) {
		if isTLS(head) {
			silentTLS(config)(nc, head)
		}
	}
}

// replayed is a connection of which head was read already.
type replayed struct {
	net.Conn
	head []byte
}

func (r *replayed) Read(b []byte) (int, error) {
	if len(r.head) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.head)
	r.head = r.head[n:]
	return n, nil
}

func serverConfig(t *testing.T) *tls.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(nil) // for its certificate
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.TLS
}

// A port that speaks the other way, over TLS or without, is named as such: at once when
// its answer or its hanging up says so, and after a second when it is silent.
func TestDialTheOtherWay(t *testing.T) {
	config := serverConfig(t)
	anyone := &tls.Config{InsecureSkipVerify: true}
	for _, c := range []struct {
		name string
		tls  *tls.Config
		port port
		want error
		took time.Duration
	}{
		{"TLS at a silent plain port", anyone, silentPlain, ErrNoTLS, silenceTime + graceTime},
		{"TLS at a port that answers AMQP", anyone, answering, ErrNoTLS, 0},
		{"plain at a silent port for TLS", nil, silentTLS(config), ErrWantsTLS, silenceTime + graceTime},
		{"plain at a port that alerts", nil, alerting, ErrWantsTLS, 0},
		{"plain at a port that hangs up", nil, hangingUp(config), ErrWantsTLS, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := piped(func(nc net.Conn) {
					defer nc.Close()
					head := make([]byte, wire.ProtocolBytes)
					if _, err := io.ReadFull(nc, head); err == nil {
						c.port(nc, head)
					}
				})
				began := time.Now()
				_, err := Dial(t.Context(), Options{Addr: "broker:1", TLS: c.tls, Dial: dial})
				if took := time.Since(began); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
			})
		})
	}
}

// A broker that is slow to answer is not taken for one that speaks the other way, also if
// its port speaks both.
func TestDialSlowly(t *testing.T) {
	config := serverConfig(t)
	synctest.Test(t, func(t *testing.T) {
		var connections atomic.Int32
		b := amqptest.New(t, amqptest.Script{})
		dial := piped(func(nc net.Conn) {
			head := make([]byte, wire.ProtocolBytes)
			if _, err := io.ReadFull(nc, head); err != nil {
				nc.Close()
				return
			}
			if connections.Add(1) > 1 {
				silentTLS(config)(nc, head)
				nc.Close()
				return
			}
			time.Sleep(900 * time.Millisecond)
			b.Handle(&replayed{nc, head})
		})
		c, err := Dial(t.Context(), Options{Addr: "broker:1", Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		hangUp(t, c)
	})
}
