package amqp

import (
	"context"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/amqptest"
)

// connected gives a connection to a broker that behaves as the script says, which is closed in the end.
func connected(t *testing.T, s amqptest.Script, o Options) (*amqptest.Broker, *Conn) {
	t.Helper()
	b := amqptest.New(t, s)
	o.Addr = b.Serve()
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangUp(t, c) })
	return b, c
}

// hangUp closes a connection if the test has not; t.Context has ended by then.
func hangUp(t *testing.T, c *Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

func session(t *testing.T, c *Conn) *Session {
	t.Helper()
	s, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
