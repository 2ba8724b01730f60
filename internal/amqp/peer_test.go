package amqp

import (
	"bytes"
	"context"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/taktload/takt/internal/test/amqptest"
)

// The tests of this file hold the codec against Azure/go-amqp, which has nothing
// in common with it but the standard.

// full is a message with everything that a Message can say.
func full() Message {
	return Message{
		Durable: true, Priority: 7, TTL: 90 * time.Second,
		Annotations: []Field{{"x-opt-jms-msg-type", int8(3)}, {"x-opt-jms-dest", int8(0)}},
		MessageID:   "ID:takt-", Numbered: true, To: "q",
		ContentType: "application/octet-stream", GroupID: "group",
		Stamped: true, Expires: true,
		Application: []Field{
			{"text", strings.Repeat("long ", 100)}, {"byte", int8(-1)}, {"time", int64(0)}, {"other", int64(5)},
		},
	}
}

func TestTemplateByPeer(t *testing.T) {
	tpl, err := NewTemplate(full())
	if err != nil {
		t.Fatal(err)
	}
	slot, err := tpl.Long("time")
	if err != nil {
		t.Fatal(err)
	}
	stamp := time.Date(2024, 2, 29, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	tpl.Set(slot, math.MinInt64)
	tpl.Set(tpl.Created, stamp.UnixMilli())
	tpl.Set(tpl.Expiry, stamp.UnixMilli()+90_000)
	tpl.Number(0xfedcba9876543210)
	var m goamqp.Message
	if err := m.UnmarshalBinary(append(tpl.prefix(4), "body"...)); err != nil {
		t.Fatal(err)
	}
	if h := m.Header; !h.Durable || h.Priority != 7 || h.TTL != 90*time.Second {
		t.Errorf("header %+v", h)
	}
	if want := (goamqp.Annotations{"x-opt-jms-msg-type": int8(3), "x-opt-jms-dest": int8(0)}); !maps.Equal(m.Annotations, want) {
		t.Errorf("annotations %v", m.Annotations)
	}
	p := m.Properties
	texts := []string{p.MessageID.(string), *p.To, *p.ContentType, *p.GroupID}
	if want := "ID:takt-fedcba9876543210 q application/octet-stream group"; strings.Join(texts, " ") != want {
		t.Errorf("properties %q", texts)
	}
	if !p.CreationTime.Equal(stamp) || !p.AbsoluteExpiryTime.Equal(stamp.Add(90*time.Second)) {
		t.Errorf("created %v, expires %v", p.CreationTime, p.AbsoluteExpiryTime)
	}
	want := map[string]any{
		"text": strings.Repeat("long ", 100), "byte": int8(-1), "time": int64(math.MinInt64), "other": int64(5),
	}
	if !maps.Equal(m.ApplicationProperties, want) {
		t.Errorf("application properties %v", m.ApplicationProperties)
	}
	if string(m.GetData()) != "body" {
		t.Errorf("body %q", m.Data)
	}
}

func TestTextByPeer(t *testing.T) {
	tpl, err := NewTemplate(Message{Priority: defaultPriority, Text: true})
	if err != nil {
		t.Fatal(err)
	}
	var m goamqp.Message
	if err := m.UnmarshalBinary(append(tpl.prefix(2), "\u00fc"...)); err != nil || m.Value != "\u00fc" || m.Header != nil {
		t.Errorf("%v %+v", err, m)
	}
}

// peerMessage is a message of go-amqp's with what a Delivery can look up.
func peerMessage(data ...[]byte) *goamqp.Message {
	id := "an id"
	return &goamqp.Message{
		Header:                &goamqp.MessageHeader{Durable: true, Priority: 3, TTL: time.Minute, DeliveryCount: 2},
		DeliveryAnnotations:   goamqp.Annotations{"ignored": "x"},
		Annotations:           goamqp.Annotations{"x-opt-jms-msg-type": int8(5)},
		Properties:            &goamqp.MessageProperties{MessageID: id, GroupID: &id},
		ApplicationProperties: map[string]any{"time": int64(1 << 40), "small": int64(-7), "u": uint64(math.MaxUint64), "f": 0.25, "b": true},
		Data:                  data,
		Footer:                goamqp.Annotations{"ignored": "x"},
	}
}

func marshal(t testing.TB, m *goamqp.Message) []byte {
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDeliveryOfPeer(t *testing.T) {
	m := message{b: marshal(t, peerMessage([]byte("one "), []byte("two "), bytes.Repeat([]byte("3"), 300)))}
	if want := "one two " + strings.Repeat("3", 300); string(m.Body()) != want || m.Bad() {
		t.Errorf("body %q, bad %v", m.Body(), m.Bad())
	}
	if h, want := m.Header(), (Header{Durable: true, Priority: 3, TTL: time.Minute, Deliveries: 2}); h != want {
		t.Errorf("header %+v", h)
	}
	for name, want := range map[string]int64{"time": 1 << 40, "small": -7} {
		if v, ok := m.Application(name).Int(); v != want || !ok {
			t.Errorf("%s is %d %v", name, v, ok)
		}
	}
	if v, ok := m.Application("u").Int(); ok {
		t.Errorf("2^64-1 is %d", v)
	}
	if v, ok := m.Application("b").Bool(); !v || !ok {
		t.Error(v, ok)
	}
	if v := m.Application("absent"); !v.Null() {
		t.Errorf("%+v", v)
	}
	if v, _ := m.Annotation("x-opt-jms-msg-type").Int(); v != 5 {
		t.Error(v)
	}
	text := message{b: marshal(t, &goamqp.Message{Value: "text"})}
	if string(text.Body()) != "text" || text.Header() != (Header{Priority: defaultPriority}) {
		t.Errorf("%q %+v", text.Body(), text.Header())
	}
}

// go-amqp's client speaks with the tests' broker, whose frames this package's
// code reads and appends.
func TestPeerSpeaksWithBroker(t *testing.T) {
	for _, user := range []goamqp.SASLType{goamqp.SASLTypeAnonymous(), goamqp.SASLTypePlain("takt", "secret")} {
		b := amqptest.New(t, amqptest.Script{Idle: time.Minute, Credit: 3, MaxFrame: 600})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := goamqp.Dial(ctx, "amqp://"+b.Serve(), &goamqp.ConnOptions{SASLType: user, MaxFrameSize: 700})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.NewSession(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		snd, err := s.NewSender(ctx, "q", &goamqp.SenderOptions{TargetCapabilities: []string{"queue"}})
		if err != nil {
			t.Fatal(err)
		}
		sent := peerMessage(bytes.Repeat([]byte("x"), 2000))
		for range 10 {
			if err := snd.Send(ctx, sent, nil); err != nil {
				t.Fatal(err)
			}
		}
		rcv, err := s.NewReceiver(ctx, "q", &goamqp.ReceiverOptions{Credit: 4, Filters: []goamqp.LinkFilter{goamqp.NewSelectorFilter("n > 5")}})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			m, err := rcv.Receive(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(m.ApplicationProperties, sent.ApplicationProperties) || !reflect.DeepEqual(m.Data, sent.Data) {
				t.Errorf("%+v", m)
			}
			if err := rcv.AcceptMessage(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if b.Saw("attach sender q queue") != 1 || b.Saw("attach receiver q  n > 5") != 1 {
			t.Errorf("the broker saw %q", b.Seen())
		}
		if err := rcv.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := b.Depth("q"); n != 0 {
			t.Errorf("%d messages left", n)
		}
	}
}

// FuzzMessage: go-amqp reads what a Template says, and a Delivery what go-amqp says.
func FuzzMessage(f *testing.F) {
	f.Add("body", "name", "text", int64(5), uint32(1000), byte(4), true)
	f.Add("", "", "", int64(math.MinInt64), uint32(0), byte(9), false)
	f.Add(strings.Repeat("x", 300), strings.Repeat("y", 256), strings.Repeat("z", 255), int64(-1), uint32(1<<31), byte(0), true)
	f.Fuzz(func(t *testing.T, body, name, text string, n int64, ttl uint32, priority byte, durable bool) {
		// go-amqp does not read text that is no UTF-8, and takes no empty symbol.
		name, text = "n"+strings.ToValidUTF8(name, ""), strings.ToValidUTF8(text, "")
		said := Message{
			Durable: durable, Priority: priority % 10, TTL: time.Duration(ttl) * time.Millisecond, MessageID: "ID:" + text, GroupID: text,
			Annotations: []Field{{name, text}}, Application: []Field{{name, n}, {"text", text}},
		}
		tpl, err := NewTemplate(said)
		if name == "text" {
			return // twice the same
		}
		if err != nil {
			t.Fatal(err)
		}
		var peer goamqp.Message
		if err := peer.UnmarshalBinary(append(tpl.prefix(len(body)), body...)); err != nil {
			t.Fatal(err)
		}
		peerHas := peer.ApplicationProperties[name] == n && peer.ApplicationProperties["text"] == text && peer.Annotations[name] == text
		if !peerHas || string(peer.GetData()) != body || peer.Properties.MessageID != "ID:"+text {
			t.Errorf("go-amqp reads %+v of %+v", peer, said)
		}
		m := message{b: marshal(t, &peer)}
		got, _ := m.Application(name).Int()
		same, _ := m.Application("text").Bytes()
		noted, _ := m.Annotation(name).Bytes()
		if string(m.Body()) != body || got != n || string(same) != text || string(noted) != text || m.Bad() {
			t.Errorf("read % x of %+v", m.b, peer)
		}
		h := Header{Priority: defaultPriority}
		if durable || said.Priority != defaultPriority || ttl > 0 {
			h = Header{Durable: durable, Priority: said.Priority, TTL: said.TTL}
		}
		if m.Header() != h {
			t.Errorf("header %+v, want %+v", m.Header(), h)
		}
	})
}
