package amqp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/amqptest"
)

// encoded is a message with a body and a property.
func encoded(t *testing.T, body string, n int64) []byte {
	t.Helper()
	tpl, err := NewTemplate(Message{Priority: defaultPriority, Application: []Field{{"n", n}}})
	if err != nil {
		t.Fatal(err)
	}
	return append(tpl.prefix(len(body)), body...)
}

// got is what a test keeps of a delivery.
type got struct {
	id   uint32
	n    int64
	body string
}

func keep(d *Delivery) got {
	n, _ := d.Application("n").Int()
	return got{d.ID(), n, string(d.Body())}
}

// accepting accepts each message before f sees it, unless it is settled.
func accepting(t testing.TB, f func(*Delivery)) func(*Delivery) {
	return func(d *Delivery) {
		if !d.Settled() {
			if err := d.Receiver().Accept(d.ID(), d.ID(), nil); err != nil {
				t.Error(err)
			}
		}
		f(d)
	}
}

// receive attaches a receiver to q that gives what comes to a channel. It accepts nothing.
func receive(t *testing.T, s *Session, o ReceiverOptions) (*Receiver, <-chan got) {
	t.Helper()
	arrived := make(chan got, 10_000)
	o.Address = "q"
	o.OnDelivery = func(d *Delivery) {
		if d.Bad() {
			t.Error("a malformed message")
		}
		arrived <- keep(d)
	}
	r, err := s.Receiver(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, arrived
}

// take is receive, and accepts each message.
func take(t *testing.T, s *Session, credit uint32) (*Receiver, <-chan got) {
	t.Helper()
	arrived := make(chan got, 10_000)
	r, err := s.Receiver(t.Context(), ReceiverOptions{Address: "q", Credit: credit, OnDelivery: accepting(t, func(d *Delivery) { arrived <- keep(d) })})
	if err != nil {
		t.Fatal(err)
	}
	return r, arrived
}

// nearEnd is a delivery number shortly before they wrap around.
const nearEnd = 1<<32 - 3

// Every message arrives once and in order and is accepted, with little credit and with much.
func TestReceive(t *testing.T) {
	const n = 500
	for _, credit := range []uint32{1, 10, 0} {
		t.Run(fmt.Sprintf("credit %d", credit), func(t *testing.T) {
			b, c := connected(t, amqptest.Script{First: nearEnd}, Options{})
			for i := range int64(n) {
				b.Push("q", encoded(t, fmt.Sprint("body ", i), i))
			}
			r, arrived := take(t, session(t, c), credit)
			for i := range int64(n) {
				want := got{uint32(nearEnd + i), i, fmt.Sprint("body ", i)}
				if g := <-arrived; g != want {
					t.Fatalf("got %+v, want %+v", g, want)
				}
			}
			if err := r.Detach(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if left, acks := b.Depth("q"), b.Saw("disposition"); left != 0 || acks != n {
				t.Errorf("%d messages were not accepted, %d dispositions for %d messages", left, acks, n)
			}
		})
	}
}

func TestReceivePieces(t *testing.T) {
	b, c := connected(t, amqptest.Script{First: nearEnd}, Options{MaxFrame: 512})
	long := strings.Repeat("0123456789", 10_000)
	b.Push("q", encoded(t, long, 1), encoded(t, "short", 2), encoded(t, long[1:], 3))
	r, arrived := receive(t, session(t, c), ReceiverOptions{})
	for _, want := range []got{{nearEnd, 1, long}, {nearEnd + 1, 2, "short"}, {nearEnd + 2, 3, long[1:]}} {
		if g := <-arrived; g != want {
			t.Errorf("got %d %d and %d bytes, want %d %d and %d", g.id, g.n, len(g.body), want.id, want.n, len(want.body))
		}
	}
	if err := r.Detach(t.Context(), true); err != nil {
		t.Error(err)
	}
}

func TestReceiveTooLong(t *testing.T) {
	for _, frame := range []uint32{512, 4096} { // in pieces, and whole
		b, c := connected(t, amqptest.Script{}, Options{MaxFrame: frame, MaxMessage: 1000})
		b.Push("q", encoded(t, strings.Repeat("x", 1000), 1))
		_, _ = session(t, c).Receiver(t.Context(), ReceiverOptions{Address: "q", OnDelivery: func(*Delivery) { t.Error("it arrived") }})
		<-c.Done() // perhaps before the receiver was there
		if err := c.Err(); !strings.Contains(err.Error(), `-0-0" has more than 1000 bytes; let the connection take more`) {
			t.Error(err)
		}
	}
}

func TestAcceptByHand(t *testing.T) {
	b, c := connected(t, amqptest.Script{}, Options{})
	for i := range int64(10) {
		b.Push("q", encoded(t, "", i))
	}
	r, arrived := receive(t, session(t, c), ReceiverOptions{})
	var ids []uint32
	for range 10 {
		ids = append(ids, (<-arrived).id)
	}
	if err := errors.Join(r.Accept(ids[0], ids[3], nil), r.Accept(ids[7], ids[7], nil)); err != nil {
		t.Fatal(err)
	}
	if err := r.Detach(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if left := b.Depth("q"); left != 5 {
		t.Errorf("%d messages were not accepted, want 5", left)
	}
	if err := r.Accept(ids[4], ids[4], nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// The source is asked for as the options say, and a durable subscription can be
// deleted by its name alone.
func TestSource(t *testing.T) {
	b, c := connected(t, amqptest.Script{}, Options{})
	s := session(t, c)
	r, err := s.Receiver(t.Context(), ReceiverOptions{
		Name: "sub|2", Address: "news", Capabilities: []string{"topic", "shared"}, Selector: "n > 5",
		Durable: 2, Expiry: "never", Distribution: "copy",
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.Saw("attach receiver news topic,shared n > 5") != 1 {
		t.Errorf("the broker saw %q", b.Seen())
	}
	if err := r.Detach(t.Context(), false); err != nil {
		t.Error(err)
	}
	if err := s.Unsubscribe(t.Context(), "sub"); err != nil {
		t.Error(err)
	}
	if b.Saw("detach sub|2") != 1 || b.Saw("detach sub|2 closed") != 0 || b.Saw("attach nothing sub") != 1 || b.Saw("detach sub closed") != 1 {
		t.Errorf("the broker saw %q", b.Seen())
	}
}

// One connection, its links on several sessions, everything at once.
func TestManyLinks(t *testing.T) {
	const links, n = 5, 400
	_, c := connected(t, amqptest.Script{Credit: n}, Options{})
	done, arrived := make(chan Outcome, links*n), make(chan string, links*n)
	for i := range links {
		s := session(t, c)
		queue := fmt.Sprint("q", i)
		_, err := s.Receiver(t.Context(), ReceiverOptions{Address: queue, OnDelivery: accepting(t, func(d *Delivery) { arrived <- queue + string(d.Body()) })})
		if err != nil {
			t.Fatal(err)
		}
		snd := sender(t, s, SenderOptions{Address: queue, OnSettled: func(_ uint64, o Outcome) { done <- o }})
		go func() {
			for j := range n {
				send(t, snd, fmt.Sprint(" ", j))
			}
		}()
	}
	seen := map[string]bool{}
	for range links * n {
		if o := <-done; o.Err != nil {
			t.Fatal(o.Err)
		}
		seen[<-arrived] = true
	}
	if len(seen) != links*n {
		t.Errorf("%d different messages of %d arrived", len(seen), links*n)
	}
}
