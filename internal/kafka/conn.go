package kafka

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
)

// Protocol is what all produce requests of a client have in common.
type Protocol struct {
	ClientID string
	Topic    string
	Acks     int16
	Timeout  time.Duration // that the broker gives the replicas
	Oldest   int16         // version of the request that will do …
	Newest   int16         // … and that may be spoken
	SASL     sasl.Mechanism
}

// The versions of the produce request that are spoken here. From 9 on requests have
// another form and say nothing more.
const (
	Oldest     = 3 // Kafka 0.11
	OldestZstd = 7 // Kafka 2.1
	Newest     = 8
)

// Conn is a connection to a broker, for produce requests only. One goroutine may send
// while another one receives.
type Conn struct {
	net.Conn
	*Protocol
	version int16
	prove   int16     // version of SASLAuthenticate
	expires time.Time // zero: never
	next    int32     // number of the next request …
	want    int32     // … and of the next answer
	in      *bufio.Reader
	answer  []byte
	head    []byte
	pieces  [][]byte
	joined  []byte
}

// Gatherer is a connection that sends pieces together without making one of them.
type Gatherer interface {
	WriteBuffers(pieces [][]byte) (int64, error)
}

// mostAnswer bounds the bytes of an answer: a program that does not speak Kafka's
// protocol shall not make takt wait for a gigabyte.
const mostAnswer = 64 << 20

// Open makes nc, which is connected to the broker at that address, ready: it asks which
// versions the broker speaks, and says who the producer is. It closes nc when it fails.
func (p *Protocol) Open(ctx context.Context, nc net.Conn, addr string) (_ *Conn, err error) {
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	c := &Conn{Conn: nc, Protocol: p, in: bufio.NewReader(nc)}
	if err = c.agree(); err == nil && p.SASL != nil {
		err = c.authenticate(ctx, addr)
	}
	if !stop() { // so its deadline is over
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// agree chooses the version of the produce request.
func (c *Conn) agree() error {
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := c.ask(kmsg.NewPtrApiVersionsRequest(), resp); err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	least, most := map[kmsg.Key]int16{}, map[kmsg.Key]int16{}
	for _, k := range resp.ApiKeys {
		least[kmsg.Key(k.ApiKey)], most[kmsg.Key(k.ApiKey)] = k.MinVersion, k.MaxVersion
	}
	c.version = min(c.Newest, Newest, most[kmsg.Produce])
	if c.version < max(c.Oldest, least[kmsg.Produce]) {
		return fmt.Errorf("the broker speaks versions %d to %d of the produce request, and takt wants one from %d to %d; use --client franz",
			least[kmsg.Produce], most[kmsg.Produce], c.Oldest, min(c.Newest, Newest))
	}
	c.prove = min(1, most[kmsg.SASLAuthenticate])
	if c.SASL != nil && most[kmsg.SASLHandshake] < 1 {
		return errors.New("the broker is too old to say who one is as takt does; use --client franz")
	}
	return nil
}

// authenticate says who the producer is.
func (c *Conn) authenticate(ctx context.Context, addr string) error {
	hand := kmsg.NewPtrSASLHandshakeRequest()
	hand.Version, hand.Mechanism = 1, c.SASL.Name()
	shaken := kmsg.NewPtrSASLHandshakeResponse()
	if err := c.ask(hand, shaken); err != nil {
		return err
	}
	if err := kerr.ErrorForCode(shaken.ErrorCode); err != nil {
		return err
	}
	session, message, err := c.SASL.Authenticate(ctx, addr)
	if err != nil {
		return err
	}
	for done := false; !done || len(message) > 0; {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.Version, req.SASLAuthBytes = c.prove, message
		resp := kmsg.NewPtrSASLAuthenticateResponse()
		begun := time.Now()
		if err := c.ask(req, resp); err != nil {
			return err
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		if ms := resp.SessionLifetimeMillis; ms > 0 && ms < mostLifetime.Milliseconds() {
			c.expires = begun.Add(time.Duration(ms) * time.Millisecond * 9 / 10)
		}
		message = nil
		if !done {
			if done, message, err = session.Challenge(resp.SASLAuthBytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// expired reports whether the broker will soon want to know again who this is, for which
// a new connection is made.
func (c *Conn) expired() bool { return !c.expires.IsZero() && time.Now().After(c.expires) }

// mostLifetime is from when on a session lasts for ever: longer ones overflow.
const mostLifetime = 365 * 24 * time.Hour

// Close closes the connection at once. That of TLS would wait for seconds to say goodbye
// to a broker that does not read.
func (c *Conn) Close() error {
	if t, ok := c.Conn.(*tls.Conn); ok {
		return t.NetConn().Close()
	}
	return c.Conn.Close()
}

// ask sends a request and reads its answer.
func (c *Conn) ask(req kmsg.Request, resp kmsg.Response) error {
	resp.SetVersion(req.GetVersion())
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.ClientID))
	if _, err := c.Write(formatter.AppendRequest(nil, req, c.next)); err != nil {
		return err
	}
	c.next = after(c.next)
	body, err := c.read()
	if err != nil {
		return err
	}
	return resp.ReadFrom(body)
}

// read reads the next answer, without its head.
func (c *Conn) read() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > mostAnswer {
		return nil, fmt.Errorf("an answer of %d bytes is none of Kafka's; check the port, and whether it wants --tls", size)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != c.want {
		return nil, fmt.Errorf("the broker answers request %d where request %d is the oldest", got, c.want)
	}
	c.want = after(c.want)
	if cap(c.answer) < size {
		c.answer = make([]byte, size)
	}
	c.answer = c.answer[:size]
	_, err := io.ReadFull(c.in, c.answer)
	return c.answer, err
}

// after is the number behind n.
func after(n int32) int32 { return (n + 1) & math.MaxInt32 }

// send sends sealed batches, each of a partition of its own, in one request.
func (c *Conn) send(list []*Batch) (err error) {
	c.pieces = append(c.pieces[:0], nil) // for the head, whose length is not known yet
	for _, b := range list {
		c.pieces = b.pieces(c.pieces)
	}
	c.head = c.appendHead(c.head[:0], len(list))
	c.pieces[0] = c.head
	c.next = after(c.next)
	if w, ok := c.Conn.(Gatherer); ok {
		_, err = w.WriteBuffers(c.pieces)
		return err
	}
	c.joined = c.joined[:0]
	for _, piece := range c.pieces {
		c.joined = append(c.joined, piece...)
	}
	_, err = c.Write(c.joined)
	return err
}

// appendHead appends a request up to its first batch.
func (c *Conn) appendHead(dst []byte, batches int) []byte {
	order := binary.BigEndian
	dst = append(dst, 0, 0, 0, 0)
	dst = order.AppendUint16(dst, uint16(kmsg.Produce))
	dst = order.AppendUint16(dst, uint16(c.version))
	dst = order.AppendUint32(dst, uint32(c.next))
	dst = appendString(dst, c.ClientID)
	dst = order.AppendUint16(dst, ^uint16(0)) // no transaction
	dst = order.AppendUint16(dst, uint16(c.Acks))
	dst = order.AppendUint32(dst, uint32(min(max(1, c.Timeout.Milliseconds()), math.MaxInt32)))
	dst = order.AppendUint32(dst, 1) // topic
	dst = appendString(dst, c.Topic)
	dst = order.AppendUint32(dst, uint32(batches))
	size := len(dst) - 4
	for _, piece := range c.pieces {
		size += len(piece)
	}
	order.PutUint32(dst, uint32(size))
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

// receive reads the next answer: Kafka's code for each partition.
func (c *Conn) receive() (*kmsg.ProduceResponse, error) {
	body, err := c.read()
	if err != nil {
		return nil, err
	}
	resp := &kmsg.ProduceResponse{Version: c.version}
	return resp, resp.ReadFrom(body)
}
