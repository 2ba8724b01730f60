package amqp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/test/amqptest"
)

func TestDial(t *testing.T) {
	tests := []struct {
		name    string
		script  amqptest.Script
		opt     Options
		saw     string
		err     string // "": it works
		refused bool
	}{
		{name: "anonymous", saw: "sasl ANONYMOUS "},
		{name: "plain", opt: Options{User: "takt", Password: "secret"}, saw: "sasl PLAIN /takt/secret"},
		{name: "wrong password", opt: Options{User: "takt"}, script: amqptest.Script{SASLCode: 1}, err: "the broker refuses the user or the password (SASL PLAIN); check both", refused: true},
		{name: "broken SASL", script: amqptest.Script{SASLCode: 3}, err: "SASL ANONYMOUS failed with code 3; see its log"},
		{name: "no plain", opt: Options{User: "takt"}, script: amqptest.Script{Mechanisms: []string{"GSSAPI", "EXTERNAL"}}, err: "takes no SASL PLAIN, only GSSAPI and EXTERNAL; use a port that does"},
		{name: "no anonymous", script: amqptest.Script{Mechanisms: []string{"PLAIN"}}, err: "takes no SASL ANONYMOUS, only PLAIN; give a user and a password"},
		{name: "names", opt: Options{Container: "box", Hostname: "vhost", SoleContainer: true}, saw: "open box vhost sole-connection-for-container"},
		{name: "refused open", script: amqptest.Script{Open: func(o *wire.Open) { o.Properties[wire.Refusal] = "true" }}, err: "the broker ended the connection: amqp:not-allowed: container is in use"},
		{name: "tiny frames", script: amqptest.Script{Open: func(o *wire.Open) { o.MaxFrame = 100 }}, err: "an open with fields that make no sense"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := amqptest.New(t, test.script)
			test.opt.Addr = b.Serve()
			c, err := Dial(t.Context(), test.opt)
			if err == nil {
				hangUp(t, c)
			}
			if got := errorText(err); test.err == "" && got != "" || !strings.Contains(got, test.err) {
				t.Fatalf("Dial: %q, want %q", got, test.err)
			}
			if errors.Is(err, ErrRefused) != test.refused {
				t.Errorf("is ErrRefused: %v, want %v", !test.refused, test.refused)
			}
			if test.saw != "" && b.Saw(test.saw) != 1 {
				t.Errorf("the broker saw %q, want %q", b.Seen(), test.saw)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOptionsReportAllFaults(t *testing.T) {
	_, err := Dial(t.Context(), Options{Addr: "nowhere", IdleTimeout: time.Millisecond, MaxFrame: 511, MaxMessage: -1, Password: "\x00"})
	for _, want := range []string{"write host:port", "use at least 100ms", "at least 512", "use 0 or more", "add the user", "NUL"} {
		if !strings.Contains(errorText(err), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestPeer(t *testing.T) {
	_, c := connected(t, amqptest.Script{Idle: 20 * time.Second, MaxFrame: 5000}, Options{})
	p := c.Peer()
	if p.Container != "broker" || p.IdleTimeout != 20*time.Second || p.MaxFrame != 5000 || p.ChannelMax != 100 ||
		len(p.Capabilities) != 1 || p.Capabilities[0] != "ANONYMOUS-RELAY" || p.Properties["product"] != "test" {
		t.Errorf("%+v", p)
	}
}

// A port that speaks another protocol is recognized by its first words.
func TestDialElsewhere(t *testing.T) {
	for _, words := range []string{"", "AMQP\x00\x00\x09\x01", "HTTP/1.1 400 Bad Request\r\n\r\n"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if nc, err := ln.Accept(); err == nil {
				_, _ = io.ReadFull(nc, make([]byte, wire.ProtocolBytes))
				_, _ = io.WriteString(nc, words)
				_ = nc.Close()
			}
		}()
		_, err = Dial(t.Context(), Options{Addr: ln.Addr().String()})
		if !errors.Is(err, wire.ErrMalformed) || !strings.HasSuffix(err.Error(), "is it an AMQP 1.0 port?") {
			t.Errorf("after %q: %v", words, err)
		}
		_ = ln.Close()
	}
}

func TestTLS(t *testing.T) {
	ts := httptest.NewUnstartedServer(nil) // for its certificate
	ts.StartTLS()
	defer ts.Close()
	b := amqptest.New(t, amqptest.Script{})
	roots := x509.NewCertPool()
	roots.AddCert(ts.Certificate())
	ln, err := tls.Listen("tcp", "127.0.0.1:0", ts.TLS)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if nc, err := ln.Accept(); err == nil {
			b.Handle(nc)
		}
	}()
	c, err := Dial(t.Context(), Options{Addr: ln.Addr().String(), TLS: &tls.Config{RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	session(t, c) // through the writing goroutine: there is no socket to write to
	hangUp(t, c)
	<-served
	_ = ln.Close()
}

// piped is what a dial gives in a bubble: a pipe, whose other end is read by serve.
func piped(serve func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}
}

func TestDialGivesUp(t *testing.T) {
	mute := func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := Dial(t.Context(), Options{Addr: "mute:1", IdleTimeout: 3 * time.Second, Dial: piped(mute)})
		if !strings.Contains(errorText(err), "does not answer, neither over TLS nor without, within 3s") || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Dial(ctx, Options{Addr: "mute:1", Dial: piped(mute)})
		if !errors.Is(err, ErrSilent) {
			t.Error(err)
		}
	})
}

// The broker wants a frame every 8 s, and gets one at least every 4 s, not more
// often than every 2 s.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := amqptest.New(t, amqptest.Script{Idle: 8 * time.Second})
		c, err := Dial(t.Context(), Options{Addr: "broker:1", IdleTimeout: time.Hour, Dial: piped(b.Handle)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Second)
		if n := b.Saw("heartbeat"); n < 15 || n > 30 {
			t.Errorf("%d heartbeats within 61 s", n)
		}
		if err := c.Err(); err != nil {
			t.Error(err)
		}
		hangUp(t, c)
	})
}

func TestSilentBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := amqptest.New(t, amqptest.Script{})
		start := time.Now()
		c, err := Dial(t.Context(), Options{Addr: "broker:1", IdleTimeout: 8 * time.Second, Dial: piped(b.Handle)})
		if err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if !errors.Is(c.Err(), errSilent) || time.Since(start) > 10*time.Second || time.Since(start) < 8*time.Second {
			t.Errorf("%v after %v", c.Err(), time.Since(start))
		}
		hangUp(t, c)
	})
}

// Everybody who waits gets the broker's reason.
func TestBrokerCloses(t *testing.T) {
	reason := &Error{Condition: "amqp:connection:forced", Description: "the broker is going down"}
	_, c := connected(t, amqptest.Script{AtTransfer: func(c *amqptest.Conn, n int) {
		if n == 3 {
			c.Close(reason)
		}
	}}, Options{})
	s := session(t, c)
	lost, detached := make(chan error, 3), make(chan error, 2)
	snd := sender(t, s, SenderOptions{
		Address:   "q",
		OnSettled: func(_ uint64, o Outcome) { lost <- o.Err },
		OnDetach:  func(err error) { detached <- err },
	})
	if _, err := s.Receiver(t.Context(), ReceiverOptions{Address: "other", OnDetach: func(err error) { detached <- err }}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		send(t, snd, "x")
	}
	for range 2 {
		if err := <-detached; !isReason(err, reason) {
			t.Error(err)
		}
	}
	for i := range 3 {
		if err := <-lost; i < 2 && err != nil || i == 2 && !isReason(err, reason) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	for name, err := range map[string]error{"connection": c.Err(), "session": s.Err(), "sender": snd.Err(), "send": snd.Send(template(t), nil, 0)} {
		if !isReason(err, reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Session(t.Context()); !isReason(err, reason) {
		t.Error(err)
	}
	if _, err := s.Sender(t.Context(), SenderOptions{Address: "q"}); !isReason(err, reason) {
		t.Error(err)
	}
}

// isReason reports whether err wraps what the broker gave.
func isReason(err error, reason *Error) bool {
	var e *Error
	return errors.As(err, &e) && *e == *reason
}

func TestSessionsEnd(t *testing.T) {
	b, c := connected(t, amqptest.Script{}, Options{ChannelMax: 1})
	one, two := session(t, c), session(t, c)
	if _, err := c.Session(t.Context()); !strings.Contains(errorText(err), "use more connections") {
		t.Error(err)
	}
	snd := sender(t, one, SenderOptions{Address: "q"})
	if err := one.Close(t.Context()); err != nil || !errors.Is(one.Err(), ErrClosed) || !errors.Is(snd.Err(), ErrClosed) {
		t.Error(err, one.Err(), snd.Err())
	}
	if err := snd.Send(template(t), nil, 0); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	three := session(t, c) // the channel is free again
	send(t, sender(t, three, SenderOptions{Address: "q"}), "x")
	if err := two.Err(); err != nil {
		t.Error(err)
	}
	if n := b.Saw("end"); n != 1 {
		t.Errorf("%d ends", n)
	}
}
