package amqp

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// near is a connection where n bytes arrive as long as somebody looks.
type near struct {
	nowhere
	n, looks int
}

func (c *near) TryWrite(b []byte) int { return len(b) }

func (c *near) Look([]byte, time.Duration) int {
	c.looks++
	return c.n
}

func TestEager(t *testing.T) {
	c := &near{n: 3}
	e := &eager{Reader: strings.NewReader(strings.Repeat("x", 1<<20)), direct: c}
	b := make([]byte, 8)
	read := func(expects bool, times, want int) (looks int) {
		t.Helper()
		before := c.looks
		for range times {
			e.expects = expects
			if n, err := e.Read(b); n != want || err != nil {
				t.Fatalf("read %d bytes: %v", n, err)
			}
		}
		return c.looks - before
	}
	if n := read(false, 10, len(b)); n != 0 {
		t.Errorf("%d looks for nothing", n)
	}
	if n := read(true, 10, 3); n != 10 {
		t.Errorf("%d looks for 10 answers", n)
	}
	c.n = 0
	if n := read(true, fewMissed, len(b)); n != fewMissed {
		t.Errorf("%d looks for the first %d answers that come late", n, fewMissed)
	}
	if n := read(true, 20_000, len(b)); n < 20 || n > 40 {
		t.Errorf("%d looks for 20000 answers that come late, want few", n)
	}
	c.n = 3
	e.skip = 0
	read(true, 1, 3)
	if n := read(true, 10, 3); n != 10 {
		t.Errorf("%d looks for 10 answers after one that came soon", n)
	}
}

// A connection looks for an answer when a callback has sent something, not else.
func TestEagerExpects(t *testing.T) {
	var r *rig
	send := false
	o := Options{Addr: "rig:1", Eager: true, OnBurst: func() {
		if send {
			if err := r.snd.Send(r.tpl, nil, 1); err != nil && !errors.Is(err, ErrNoCredit) {
				t.Fatal(err)
			}
		}
	}}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // with one, nobody looks
	r = rigOf(t, &near{}, o, nil)
	disposed, _ := r.frames()
	for _, send = range []bool{false, true, true, false} {
		r.feed(disposed)
		if r.c.eager.expects != send {
			t.Errorf("a message was sent: %t; an answer is expected: %t", send, r.c.eager.expects)
		}
	}
}
