package amqp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/test/amqptest"
)

func asker(t *testing.T, s amqptest.Script) (*Asker, error) {
	t.Helper()
	c, err := Dial(t.Context(), Options{Addr: amqptest.New(t, s).Serve()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	session, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return session.Asker(t.Context(), "boss", "_AMQ_OperationSucceeded")
}

// Each question has its answer, also when the broker grants credit for one at a time.
func TestAsker(t *testing.T) {
	a, err := asker(t, amqptest.Script{Credit: 1, Answer: func(address string, q amqptest.Question) (bool, string) {
		return q.Body != "fail", address + " " + q.Text("name") + " " + q.Body
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one", "two", strings.Repeat("long", 1000), ""} {
		got, err := a.Ask(t.Context(), []Field{{"name", "N"}}, body)
		if err != nil || string(got) != "boss N "+body {
			t.Errorf("%.40q: %.40q, %v", body, got, err)
		}
	}
	if _, err := a.Ask(t.Context(), nil, "fail"); err == nil || !strings.Contains(err.Error(), "refuses the request: boss  fail") {
		t.Error(err)
	}
	if got, err := a.Ask(t.Context(), nil, "again"); err != nil || string(got) != "boss  again" {
		t.Errorf("%q, %v", got, err)
	}
}

// A broker that refuses, or never answers, ends the wait with its reason.
func TestAskerRefused(t *testing.T) {
	refusal := &wire.Error{Condition: "amqp:unauthorized-access", Description: "not you"}
	for _, s := range []amqptest.Script{
		{Refuse: refusal, Refused: "boss"},
		{Refuse: refusal},
		{Outcome: func(int) (uint64, *wire.Error, bool) { return wire.IsRejected, refusal, true }},
	} {
		a, err := asker(t, s)
		if err == nil {
			_, err = a.Ask(t.Context(), nil, "?")
		}
		if err == nil || !strings.Contains(err.Error(), "not you") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	a, err := asker(t, amqptest.Script{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.Ask(ctx, nil, "?"); err != context.DeadlineExceeded {
		t.Error(err)
	}
}
