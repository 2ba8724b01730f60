//go:build real

package amqp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests of this file run against Apache ActiveMQ Artemis, which
// scripts/test-real starts.

// artemis gives its address, and the folder of its programs.
func artemis(t *testing.T) (addr, folder string) {
	t.Helper()
	where := strings.Fields(os.Getenv("TAKT_ARTEMIS"))
	if len(where) < 2 {
		t.Fatal("TAKT_ARTEMIS is not set; run scripts/test-real")
	}
	return where[0], where[1]
}

func artemisConn(t *testing.T, o Options) *Conn {
	t.Helper()
	o.Addr, _ = artemis(t)
	o.User, o.Password = "takt", "takt"
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangUp(t, c) })
	return c
}

// queueOf is a queue of the test's own.
func queueOf(t *testing.T) string {
	return strings.ReplaceAll(fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()), "/", "-")
}

// end is the body of the message that ends a queue in left.
const end = "the end of the queue"

// left takes everything out of an address: the bodies that were there before the call.
func left(t *testing.T, s *Session, o ReceiverOptions) []string {
	t.Helper()
	bodies := make(chan string, 1000)
	o.OnDelivery = accepting(t, func(d *Delivery) { bodies <- string(d.Body()) })
	r, err := s.Receiver(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	deliverAll(t, s, o.Address, o.Capabilities[:1], end)
	var all []string
	for body := range bodies {
		if body == end {
			break
		}
		all = append(all, body)
	}
	if err := r.Detach(t.Context(), o.Durable == 0); err != nil {
		t.Error(err)
	}
	return all
}

// deliverAll sends bodies to an address and waits until all are accepted.
func deliverAll(t *testing.T, s *Session, address string, capabilities []string, bodies ...string) {
	t.Helper()
	done := make(chan Outcome, len(bodies))
	snd := sender(t, s, SenderOptions{Address: address, Capabilities: capabilities, OnSettled: func(_ uint64, o Outcome) { done <- o }})
	for _, body := range bodies {
		send(t, snd, body)
	}
	for range bodies {
		if o := <-done; o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	if err := snd.Detach(t.Context(), true); err != nil {
		t.Error(err)
	}
}

var queueCap, topicCap = []string{"queue"}, []string{"topic"}

// Artemis sends what is longer than 100 KiB or a frame in pieces.
func TestRealBodies(t *testing.T) {
	for _, frame := range []uint32{512, 0} {
		s := session(t, artemisConn(t, Options{MaxFrame: frame}))
		var bodies []string
		for _, size := range []int{0, 1, 1024, 100<<10 + 1, 300_000, 2 << 20} {
			bodies = append(bodies, strings.Repeat("x", size))
		}
		queue := queueOf(t)
		deliverAll(t, s, queue, queueCap, bodies...)
		got := left(t, s, ReceiverOptions{Address: queue, Capabilities: queueCap})
		if len(got) != len(bodies) {
			t.Fatalf("%d messages of %d", len(got), len(bodies))
		}
		for i, want := range bodies {
			if got[i] != want {
				t.Errorf("body %d has %d bytes, want %d, or other ones", i, len(got[i]), len(want))
			}
		}
	}
}

func TestRealRefusals(t *testing.T) {
	addr, _ := artemis(t)
	if _, err := Dial(t.Context(), Options{Addr: addr, User: "takt", Password: "wrong"}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	one := artemisConn(t, Options{Container: queueOf(t), SoleContainer: true})
	var e *Error
	_, err := Dial(t.Context(), Options{Addr: addr, User: "takt", Password: "takt", Container: one.opt.Container, SoleContainer: true})
	if !errors.As(err, &e) {
		t.Errorf("a second connection of the container: %v", err)
	}
	if err := session(t, one).Unsubscribe(t.Context(), "nothing"); !errors.As(err, &e) || e.Condition != "amqp:not-found" {
		t.Error(err)
	}
}

func TestRealTransactions(t *testing.T) {
	s := session(t, artemisConn(t, Options{}))
	co := coordinator(t, s)
	queue := queueOf(t)
	for _, commit := range []bool{true, false} {
		done := make(chan Outcome, 2)
		snd := sender(t, s, SenderOptions{Address: queue, Capabilities: queueCap, OnSettled: func(_ uint64, o Outcome) { done <- o }})
		tx := declare(t, co)
		snd.Join(tx)
		send(t, snd, "one")
		send(t, snd, strings.Repeat("2", 200_000))
		for range 2 {
			if o := <-done; o.Err != nil {
				t.Fatal(o.Err)
			}
		}
		if err := co.Discharge(t.Context(), tx, commit); err != nil {
			t.Fatal(err)
		}
		got := left(t, s, ReceiverOptions{Address: queue, Capabilities: queueCap})
		if want := map[bool]int{true: 2, false: 0}[commit]; len(got) != want {
			t.Errorf("sent with commit %v: %d messages, want %d", commit, len(got), want)
		}
	}
	for _, commit := range []bool{true, false} {
		deliverAll(t, s, queue, queueCap, "one", "two", "three")
		ids := make(chan uint32, 10)
		r, err := s.Receiver(t.Context(), ReceiverOptions{Address: queue, Capabilities: queueCap, OnDelivery: func(d *Delivery) { ids <- d.ID() }})
		if err != nil {
			t.Fatal(err)
		}
		tx := declare(t, co)
		first, last := <-ids, <-ids
		if err := r.Accept(first, last, tx); err != nil {
			t.Fatal(err)
		}
		if err := co.Discharge(t.Context(), tx, commit); err != nil {
			t.Fatal(err)
		}
		if err := r.Detach(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(left(t, s, ReceiverOptions{Address: queue, Capabilities: queueCap}), " ")
		if want := map[bool]string{true: "three", false: "one two three"}[commit]; got != want {
			t.Errorf("accepted with commit %v: %q are left, want %q", commit, got, want)
		}
	}
}

// A durable subscription outlives a detach that does not close, and nothing else.
func TestRealSubscriptions(t *testing.T) {
	s := session(t, artemisConn(t, Options{Container: queueOf(t)}))
	for _, capabilities := range [][]string{topicCap, {"topic", "shared"}} {
		topic := queueOf(t) + capabilities[len(capabilities)-1]
		o := ReceiverOptions{Name: "sub-" + topic, Address: topic, Capabilities: capabilities, Durable: 2, Expiry: "never", Distribution: "copy"}
		if got := left(t, s, o); len(got) != 0 {
			t.Fatalf("a new subscription holds %q", got)
		}
		deliverAll(t, s, topic, topicCap, "kept")
		if got := left(t, s, o); len(got) != 1 || got[0] != "kept" {
			t.Errorf("after a detach the subscription holds %q", got)
		}
		deliverAll(t, s, topic, topicCap, "forgotten")
		if err := s.Unsubscribe(t.Context(), o.Name); err != nil {
			t.Error(err)
		}
		if got := left(t, s, o); len(got) != 0 {
			t.Errorf("after Unsubscribe it holds %q", got)
		}
		r, err := s.Receiver(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Detach(t.Context(), true); err != nil {
			t.Error(err)
		}
		var e *Error
		if err := s.Unsubscribe(t.Context(), o.Name); !errors.As(err, &e) {
			t.Errorf("a detach with close left the subscription: %v", err)
		}
	}
}

// Two consumers of a shared subscription divide the messages, and a selector
// chooses.
func TestRealShares(t *testing.T) {
	s := session(t, artemisConn(t, Options{}))
	topic := queueOf(t)
	counts := make(chan int, 300)
	for i, name := range []string{"sub|global-volatile1", "sub|global-volatile2", "alone"} {
		o := ReceiverOptions{Name: name, Address: topic, Capabilities: []string{"topic", "shared", "global"}, OnDelivery: accepting(t, func(*Delivery) { counts <- i })}
		if i == 2 {
			o.Capabilities, o.Selector = topicCap, "n >= 90"
		}
		if _, err := s.Receiver(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan Outcome, 100)
	snd := sender(t, s, SenderOptions{Address: topic, Capabilities: topicCap, OnSettled: func(_ uint64, o Outcome) { done <- o }})
	tpl, err := NewTemplate(Message{Priority: defaultPriority, Application: []Field{{"n", int64(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := tpl.Long("n")
	if err != nil {
		t.Fatal(err)
	}
	waitCredit(t, snd)
	for i := range int64(100) {
		tpl.Set(n, i)
		if err := snd.Send(tpl, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	s.c.Flush()
	got := make([]int, 3)
	for range 110 {
		got[<-counts]++
	}
	if got[0]+got[1] != 100 || got[0] == 0 || got[1] == 0 || got[2] != 10 {
		t.Errorf("the subscribers got %v", got)
	}
}

// java compiles a JMS client for the libraries of the distribution, and gives
// what runs it: see testdata/java.
func java(t *testing.T) func(args ...string) string {
	t.Helper()
	addr, folder := artemis(t)
	jars, classes := folder+"/lib/*", t.TempDir()
	run := func(name string, args ...string) string {
		var stderr strings.Builder
		c := exec.CommandContext(t.Context(), name, args...)
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, stderr.String())
		}
		return string(out)
	}
	run("javac", "-d", classes, "-cp", jars, "testdata/java/Peer.java")
	return func(args ...string) string {
		return run("java", append([]string{"-cp", classes + string(os.PathListSeparator) + jars, "Peer", addr}, args...)...)
	}
}

// What JMS clients get of a Template: message class, header fields and properties.
func TestRealJavaReceives(t *testing.T) {
	peer, s := java(t), session(t, artemisConn(t, Options{}))
	created := time.Now().UnixMilli()
	jms := func(kind int8) []Field { return []Field{{"x-opt-jms-msg-type", kind}, {"x-opt-jms-dest", int8(0)}} }
	plain := Message{Priority: defaultPriority}
	urgent := Message{
		Durable: true, Priority: 7, TTL: time.Minute, Annotations: jms(3), MessageID: "ID:takt-", Numbered: true, ContentType: "application/octet-stream",
		GroupID: "g", Stamped: true, Expires: true, Application: []Field{{"t_long", int64(42)}, {"t_text", "text"}},
	}
	text := Message{Priority: defaultPriority, Annotations: jms(5), Text: true}
	for _, protocol := range []string{"amqp", "core"} {
		queue := queueOf(t)
		done := make(chan Outcome, 3)
		snd := sender(t, s, SenderOptions{Address: queue, Capabilities: queueCap, OnSettled: func(_ uint64, o Outcome) { done <- o }})
		waitCredit(t, snd)
		for _, m := range []Message{plain, urgent, text} {
			tpl, err := NewTemplate(m)
			if err != nil {
				t.Fatal(err)
			}
			tpl.Set(tpl.Created, created)
			tpl.Set(tpl.Expiry, created+60_000)
			tpl.Number(0xabc)
			if err := snd.Send(tpl, []byte("\x01\x01\x01"), 0); err != nil {
				t.Fatal(err)
			}
		}
		s.c.Flush()
		for range 3 {
			if o := <-done; o.Err != nil {
				t.Fatal(o.Err)
			}
		}
		got := strings.Split(strings.TrimSpace(peer(protocol, "receive", queue, "3")), "\n")
		want := []string{ // the broker sorts by priority
			fmt.Sprintf("bytes 3 sum=3 mode=2 priority=7 id=ID:takt-0000000000000abc created=%d expires=%d JMSXGroupID=g:String t_long=42:Long t_text=text:String", created, created+60_000),
			"bytes 3 sum=3 mode=1 priority=4 id=null created=0 expires=0",
			"text \x01\x01\x01 mode=1 priority=4 id=null created=0 expires=0",
		}
		for i := range want {
			if i >= len(got) || coreID(got[i]) != coreID(want[i]) && protocol == "core" || got[i] != want[i] && protocol == "amqp" {
				t.Errorf("%s reads\n%q, want\n%q", protocol, got, want[i])
			}
		}
	}
}

// coreID takes the message id out of a line: CORE has one of the broker's.
func coreID(line string) string {
	before, after, _ := strings.Cut(line, " id=")
	_, after, _ = strings.Cut(after, " ")
	return before + " " + after
}

func TestRealJavaSends(t *testing.T) {
	peer, s := java(t), session(t, artemisConn(t, Options{}))
	for _, protocol := range []string{"amqp", "core"} {
		queue := queueOf(t)
		peer(protocol, "send", queue, "300")
		lines := make(chan string, 301)
		_, err := s.Receiver(t.Context(), ReceiverOptions{Address: queue, Capabilities: queueCap, OnDelivery: accepting(t, func(d *Delivery) {
			n, _ := d.Application("time").Int()
			kind, _ := d.Annotation("x-opt-jms-msg-type").Int()
			lines <- fmt.Sprintf("%d %d %x %v", n, kind, d.Body(), d.Header().Durable)
		})})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 301 {
			want := fmt.Sprintf("%d 3 %s false", i, strings.Repeat("01", i))
			if i == 300 {
				want = fmt.Sprintf("0 5 %x false", "the end")
			}
			if got := <-lines; got != want {
				t.Fatalf("%s: got %q, want %q", protocol, got, want)
			}
		}
	}
}

// All out, with 100 messages underway: each has its outcome and arrives once, in
// order. The log has what a message sent and received costs this process: 3.3 µs in
// the prototype, 24 µs and more in JMS clients.
func TestRealLoad(t *testing.T) {
	const n, underway = 300_000, 100
	c := artemisConn(t, Options{})
	s := session(t, c)
	queue := queueOf(t)
	free, arrived := make(chan struct{}, n+underway), make(chan struct{})
	next := int64(0)
	_, err := s.Receiver(t.Context(), ReceiverOptions{Address: queue, Capabilities: queueCap, OnDelivery: accepting(t, func(d *Delivery) {
		if i, _ := d.Application("time").Int(); i != next || len(d.Body()) != 1024 {
			t.Errorf("message %d of %d bytes where %d was next", i, len(d.Body()), next)
		}
		if next++; next == n {
			close(arrived)
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	snd := sender(t, s, SenderOptions{Address: queue, Capabilities: queueCap, OnSettled: func(_ uint64, o Outcome) {
		if o.Err != nil {
			t.Error(o.Err)
		}
		free <- struct{}{}
	}})
	tpl, err := NewTemplate(Message{Priority: defaultPriority, Application: []Field{{"time", int64(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	slot, err := tpl.Long("time")
	if err != nil {
		t.Fatal(err)
	}
	for range underway {
		free <- struct{}{}
	}
	body, before, start := make([]byte, 1024), cpuTime(t), time.Now()
	waitCredit(t, snd)
	for i := range int64(n) {
		if len(free) == 0 {
			c.Flush()
		}
		<-free
		tpl.Set(slot, i)
		if err := snd.Send(tpl, body, 0); err != nil {
			t.Fatal(err)
		}
	}
	c.Flush()
	<-arrived
	took := time.Since(start)
	t.Logf("%.0f messages/s, %v of CPU each", n/took.Seconds(), (cpuTime(t)-before)/n)
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
