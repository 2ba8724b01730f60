package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/permanent"
)

// Errors of a port that uses TLS when the client does not, or the other way round.
var (
	// ErrWantsTLS: the port speaks TLS, and Options has none.
	ErrWantsTLS = permanent.Mark(errors.New("the port wants TLS"))
	// ErrNoTLS: the port speaks AMQP without TLS, and Options has TLS.
	ErrNoTLS = permanent.Mark(errors.New("the port speaks AMQP without TLS"))
	// ErrSilent: the port accepts connections and answers nothing in time.
	ErrSilent = errors.New("the port does not answer, neither over TLS nor without")
)

// A broker may wait silently if it takes a client's first bytes for the start of something
// long. Artemis does so with and without TLS. After silenceTime of silence takt tries the
// port the other way. The first attempt gets graceTime more, because some ports support both.
const (
	silenceTime = 300 * time.Millisecond
	graceTime   = 700 * time.Millisecond
	otherTime   = 2 * time.Second // time limit for the other way
)

// suspect ends the attempt to connect, with fail, if the port uses the other way. The attempt
// is over when ctx ends.
func (o *Options) suspect(ctx context.Context, fail context.CancelCauseFunc) {
	if !pause.For(silenceTime, ctx.Done()) {
		return
	}
	if err := o.tryOtherWay(ctx); err != nil && pause.For(graceTime, ctx.Done()) {
		fail(err)
	}
}

// tryOtherWay connects again: with TLS if Options has none, otherwise without. It returns nil
// unless the port answers.
func (o *Options) tryOtherWay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, otherTime)
	defer cancel()
	nc, err := o.Dial(ctx, "tcp", o.Addr)
	if err != nil {
		return nil
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if o.TLS == nil {
		heard := &firstBytes{Conn: nc}
		// Only the answer's first bytes count: no need to verify the certificate.
		_ = tls.Client(heard, &tls.Config{ServerName: o.Hostname, InsecureSkipVerify: true}).HandshakeContext(ctx)
		if isTLS(heard.b) {
			return ErrWantsTLS
		}
		return nil
	}
	answer := make([]byte, wire.ProtocolBytes)
	if _, err := nc.Write([]byte(wire.ProtocolSASL)); err != nil {
		return nil
	}
	if _, err := io.ReadFull(nc, answer); err != nil || !wire.IsAMQP(string(answer)) {
		return nil
	}
	return ErrNoTLS
}

// hungUp reports whether the broker closed the connection, or sent something that is not
// AMQP.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, wire.ErrMalformed)
}

// firstBytes records the first bytes that are read.
type firstBytes struct {
	net.Conn
	b []byte
}

func (f *firstBytes) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	if len(f.b) < wire.ProtocolBytes {
		f.b = append(f.b, b[:n]...)
	}
	return n, err
}

// isTLS reports whether an answer begins with a TLS record: an alert or a handshake.
func isTLS(b []byte) bool { return len(b) >= 2 && (b[0] == 21 || b[0] == 22) && b[1] == 3 }

// handshakeFault explains a failed TLS handshake if the port does not use TLS.
func handshakeFault(err error) error {
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record) && wire.IsAMQP(string(record.RecordHeader[:4])):
		return ErrNoTLS
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the connection was ended in place of the TLS handshake: %w; is it a port for TLS?", err)
	}
	return err
}
