package amqp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// authenticate speaks SASL (part 5, section 5.3): PLAIN with a user, else ANONYMOUS.
func (c *Conn) authenticate() error {
	if _, err := c.net.Write([]byte(protocolSASL)); err != nil {
		return err
	}
	if err := c.expect(protocolSASL); err != nil {
		return err
	}
	offer, err := c.saslFrame(isMechanisms)
	if err != nil {
		return err
	}
	mechanism, response := "ANONYMOUS", ""
	if c.opt.User != "" {
		mechanism, response = "PLAIN", "\x00"+c.opt.User+"\x00"+c.opt.Password
	}
	if offered := offer.next().symbols(); !slices.Contains(offered, mechanism) {
		return fmt.Errorf("the broker takes no SASL %s, only %s; %s", mechanism, strings.Join(offered, " and "), saslAdvice(mechanism))
	}
	if _, err := c.net.Write(appendInit(nil, mechanism, response, c.opt.Hostname)); err != nil {
		return err
	}
	answer, err := c.saslFrame(isOutcome)
	if err != nil {
		return err
	}
	return saslError(mechanism, answer.uint(255))
}

func saslAdvice(mechanism string) string {
	if mechanism == "PLAIN" {
		return "use a port that does, perhaps with TLS"
	}
	return "give a user and a password"
}

func appendInit(b []byte, mechanism, response, host string) []byte {
	at := len(b)
	l := openList(openFrame(b, frameSASL, 0), isInit)
	l.symbol(mechanism)
	l.binary([]byte(response))
	l.stringSet(host)
	return closeFrame(l.close(), at)
}

// saslFrame waits for a frame of the security layer that is what was expected.
func (c *Conn) saslFrame(expected uint64) (fields, error) {
	f, err := c.in.wait()
	if err != nil {
		return fields{}, err
	}
	is, l, _, err := f.performative()
	if err == nil && (is != expected || f.kind != frameSASL) {
		err = malformed("SASL frame 0x%x in place of 0x%x", is, expected)
	}
	return l, err
}

// ErrRefused: the broker does not know the user, or not by this password.
var ErrRefused = errors.New("the broker refuses the user or the password")

func saslError(mechanism string, code uint32) error {
	switch code {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w (SASL %s); check both", ErrRefused, mechanism)
	}
	return fmt.Errorf("the broker's SASL %s failed with code %d; see its log", mechanism, code)
}
