package amqp

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/test/amqptest"
)

func sender(t *testing.T, s *Session, o SenderOptions) *Sender {
	t.Helper()
	snd, err := s.Sender(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return snd
}

// template is the plainest of all.
func template(t *testing.T) *Template {
	t.Helper()
	tpl, err := NewTemplate(Message{Priority: defaultPriority})
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// send sends a body once there is credit.
func send(t *testing.T, s *Sender, body string) {
	t.Helper()
	tpl := template(t)
	for {
		err := s.Send(tpl, []byte(body), 1)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrNoCredit) && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	s.s.c.Flush()
}

func TestSendBodies(t *testing.T) {
	for _, size := range []int{0, 1, 255, 256, 400, 5000, 300_000} {
		for _, frame := range []uint32{512, 4096, 64 << 10} {
			t.Run(fmt.Sprintf("%d in frames of %d", size, frame), func(t *testing.T) {
				b, c := connected(t, amqptest.Script{MaxFrame: frame}, Options{})
				done := make(chan Outcome, 1)
				snd := sender(t, session(t, c), SenderOptions{Address: "q", OnSettled: func(_ uint64, o Outcome) { done <- o }})
				body := strings.Repeat("0123456789", size/10+1)[:size]
				send(t, snd, body)
				if o := <-done; o.State != Accepted || o.Err != nil {
					t.Fatal(o)
				}
				got := b.Messages("q")
				if len(got) != 1 || string((&message{b: got[0]}).Body()) != body {
					t.Errorf("%d messages arrived, or another body", len(got))
				}
			})
		}
	}
}

func TestOutcomes(t *testing.T) {
	why := &Error{Condition: "amqp:resource-limit-exceeded", Description: "the address is full"}
	tests := []struct {
		is      uint64
		why     *Error
		settled bool
		want    State
		text    string
		answers int
	}{
		{wire.IsAccepted, nil, true, Accepted, "", 0},
		{wire.IsAccepted, nil, false, Accepted, "", 1},
		{wire.IsRejected, why, true, Rejected, "amqp:resource-limit-exceeded: the address is full", 0},
		{wire.IsRejected, nil, true, Rejected, "the broker rejected the message", 0},
		{wire.IsReleased, nil, true, Released, "the broker released the message", 0},
		{wire.IsModified, nil, false, Modified, "the broker released the message after a try", 1},
		{wire.IsReceived, nil, true, Lost, "the broker settled the message without an outcome", 0},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%v settled %v", test.want, test.settled), func(t *testing.T) {
			b, c := connected(t, amqptest.Script{Outcome: func(int) (uint64, *Error, bool) { return test.is, test.why, test.settled }}, Options{})
			type told struct {
				token uint64
				o     Outcome
			}
			done := make(chan told, 1)
			s := session(t, c)
			snd := sender(t, s, SenderOptions{Address: "q", OnSettled: func(token uint64, o Outcome) { done <- told{token, o} }})
			tpl := template(t)
			waitCredit(t, snd)
			if err := snd.Send(tpl, nil, 1<<63+5); err != nil {
				t.Fatal(err)
			}
			c.Flush()
			got := <-done
			if got.token != 1<<63+5 || got.o.State != test.want || errorText(got.o.Err) != test.text {
				t.Errorf("%+v", got)
			}
			if err := s.Close(t.Context()); err != nil { // behind every answer
				t.Fatal(err)
			}
			if n := b.Saw("settled by the sender"); n != test.answers {
				t.Errorf("settled %d times, want %d", n, test.answers)
			}
		})
	}
}

// waitCredit waits until a sender may send.
func waitCredit(t *testing.T, s *Sender) {
	t.Helper()
	for s.Credit() == 0 {
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
}

// Each message has one outcome, in whatever ranges and order they come, and none
// is sent beyond the credit.
func TestCreditAndOrder(t *testing.T) {
	const n = 1000
	b, c := connected(t, amqptest.Script{Credit: 7}, Options{})
	credit := make(chan struct{}, 1)
	settled := make(chan uint64, n)
	snd := sender(t, session(t, c), SenderOptions{
		Address: "q",
		OnSettled: func(token uint64, o Outcome) {
			if o.Err != nil {
				t.Error(o.Err)
			}
			settled <- token
		},
		OnCredit: func(n uint32) {
			if n > 0 {
				select {
				case credit <- struct{}{}:
				default:
				}
			}
		},
	})
	tpl, refusals := template(t), 0
	for i := range uint64(n) {
		for {
			err := snd.Send(tpl, fmt.Append(nil, i), i)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrNoCredit) {
				t.Fatal(err)
			}
			refusals++
			c.Flush()
			<-credit
		}
	}
	c.Flush()
	var tokens []uint64
	for range n {
		tokens = append(tokens, <-settled)
	}
	for i, m := range b.Messages("q") {
		if got := string((&message{b: m}).Body()); got != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, got)
		}
	}
	slices.Sort(tokens)
	if tokens = slices.Compact(tokens); len(tokens) != n || tokens[n-1] != n-1 {
		t.Errorf("%d different tokens", len(tokens))
	}
	if refusals < n/7/2 {
		t.Errorf("%d refusals for want of credit", refusals)
	}
}

func TestWindow(t *testing.T) {
	_, c := connected(t, amqptest.Script{Window: 3, MaxFrame: 512}, Options{})
	settled := make(chan Outcome, 1)
	snd := sender(t, session(t, c), SenderOptions{Address: "q", OnSettled: func(_ uint64, o Outcome) { settled <- o }})
	waitCredit(t, snd)
	tpl := template(t)
	if err := snd.Send(tpl, make([]byte, 2000), 1); !strings.Contains(errorText(err), "where the session's window is 3: the message is too large; send smaller ones") {
		t.Error(err)
	}
	if err := snd.Send(tpl, make([]byte, 1000), 1); err != nil {
		t.Fatal(err)
	}
	if err := snd.Send(tpl, nil, 2); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	c.Flush()
	<-settled // the flow that widens the window came before
	if err := snd.Send(tpl, nil, 2); err != nil {
		t.Error(err)
	}
}

func TestSendLimits(t *testing.T) {
	_, c := connected(t, amqptest.Script{MaxMessage: 1000}, Options{Buffer: 1200})
	snd := sender(t, session(t, c), SenderOptions{Address: "q"})
	waitCredit(t, snd)
	tpl := template(t)
	if err := snd.Send(tpl, make([]byte, 1000), 1); !strings.Contains(errorText(err), "where the broker takes 1000: the message is too large; send smaller ones") {
		t.Error(err)
	}
	for i, want := range []error{nil, nil, ErrBusy} {
		if err := snd.Send(tpl, make([]byte, 900), 1); !errors.Is(err, want) {
			t.Errorf("send %d: %v, want %v", i, err, want)
		}
	}
}

func TestRefusedLinks(t *testing.T) {
	why := &Error{Condition: "amqp:unauthorized-access", Description: "user takt may not"}
	_, c := connected(t, amqptest.Script{Refuse: why}, Options{})
	s := session(t, c)
	_, err := s.Sender(t.Context(), SenderOptions{Address: "q"})
	if !isReason(err, why) || !strings.HasPrefix(err.Error(), `cannot send to q: the broker ended link "takt-`) {
		t.Error(err)
	}
	if _, err = s.Receiver(t.Context(), ReceiverOptions{Address: "q"}); !isReason(err, why) {
		t.Error(err)
	}
	if _, err = s.Coordinator(t.Context()); !isReason(err, why) {
		t.Error(err)
	}
}

func TestDetach(t *testing.T) {
	b, c := connected(t, amqptest.Script{}, Options{})
	s := session(t, c)
	one, two := sender(t, s, SenderOptions{Name: "one", Address: "q", Capabilities: []string{"queue"}}), sender(t, s, SenderOptions{Name: "two", Address: "q"})
	if b.Saw("attach sender q queue") != 1 || one.Name() != "one" {
		t.Errorf("the broker saw %q", b.Seen())
	}
	if err := errors.Join(one.Detach(t.Context(), true), two.Detach(t.Context(), false), two.Detach(t.Context(), false)); err != nil {
		t.Error(err)
	}
	if b.Saw("detach one closed") != 1 || b.Saw("detach two") != 1 || b.Saw("detach two closed") != 0 {
		t.Errorf("the broker saw %q", b.Seen())
	}
	if err := one.Send(template(t), nil, 0); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if again := sender(t, s, SenderOptions{Name: "one", Address: "q"}); again.handle != one.handle {
		t.Errorf("the handle of a link that ended is not used again, but %d", again.handle)
	}
	if _, err := s.Sender(t.Context(), SenderOptions{Name: "one", Address: "q"}); !strings.Contains(errorText(err), `has a link "one" already`) {
		t.Error(err)
	}
}

// Every slot is where go-amqp's reading of the message says: see peer_test.go.
func TestTemplateFaults(t *testing.T) {
	_, err := NewTemplate(Message{
		Priority: 10, TTL: 1500,
		Annotations: []Field{{"a", struct{}{}}},
		Application: []Field{{"", "x"}, {"b", 1}, {"c", "x"}, {"c", "y"}},
	})
	for _, want := range []string{"use 0 to 9", "whole milliseconds", `annotation "a" is a struct {}`, `property "" has no name`, `property "b" is a int`, `property "c" has no name of its own`} {
		if !strings.Contains(errorText(err), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestTemplateWithoutSlots(t *testing.T) {
	tpl := template(t)
	before := bytes.Clone(tpl.prefix(0))
	tpl.Set(tpl.Created, 5)
	tpl.Set(tpl.Expiry, 5)
	tpl.Number(5)
	if !bytes.Equal(before, tpl.prefix(0)) {
		t.Error("a slot that is not there was written")
	}
	if _, err := tpl.Long("time"); err == nil {
		t.Error("a property that is not there has a slot")
	}
}
