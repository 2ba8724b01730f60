package amqp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/permanent"
)

// authenticate speaks SASL (part 5, section 5.3): PLAIN with a user, else ANONYMOUS.
func (c *Conn) authenticate() error {
	if _, err := c.net.Write([]byte(wire.ProtocolSASL)); err != nil {
		return err
	}
	if err := c.expect(wire.ProtocolSASL); err != nil {
		return err
	}
	offer, err := c.saslFrame(wire.IsMechanisms)
	if err != nil {
		return err
	}
	mechanism, response := "ANONYMOUS", ""
	if c.opt.User != "" {
		mechanism, response = "PLAIN", "\x00"+c.opt.User+"\x00"+c.opt.Password
	}
	if offered := offer.Next().Symbols(); !slices.Contains(offered, mechanism) {
		return fmt.Errorf("the broker takes no SASL %s, only %s; %s", mechanism, strings.Join(offered, " and "), saslAdvice(mechanism))
	}
	if _, err := c.net.Write(appendInit(nil, mechanism, response, c.opt.Hostname)); err != nil {
		return err
	}
	answer, err := c.saslFrame(wire.IsOutcome)
	if err != nil {
		return err
	}
	return saslError(mechanism, answer.Uint(255))
}

func saslAdvice(mechanism string) string {
	if mechanism == "PLAIN" {
		return "use a port that does, perhaps with TLS"
	}
	return "give a user and a password"
}

func appendInit(b []byte, mechanism, response, host string) []byte {
	at := len(b)
	l := wire.OpenList(wire.OpenFrame(b, wire.FrameSASL, 0), wire.IsInit)
	l.Symbol(mechanism)
	l.Binary([]byte(response))
	l.StringSet(host)
	return wire.CloseFrame(l.Close(), at)
}

// saslFrame waits for a frame of the security layer that is what was expected.
func (c *Conn) saslFrame(expected uint64) (wire.Fields, error) {
	f, err := c.in.Wait()
	if err != nil {
		return wire.Fields{}, err
	}
	is, l, _, err := f.Performative()
	if err == nil && (is != expected || f.Kind != wire.FrameSASL) {
		err = wire.Malformed("SASL frame 0x%x in place of 0x%x", is, expected)
	}
	return l, err
}

// ErrRefused: the broker does not know the user, or not by this password.
var ErrRefused = permanent.Mark(errors.New("the broker refuses the user or the password"))

func saslError(mechanism string, code uint32) error {
	switch code {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w (SASL %s); check both", ErrRefused, mechanism)
	}
	return fmt.Errorf("the broker's SASL %s failed with code %d; see its log", mechanism, code)
}
