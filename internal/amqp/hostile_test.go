package amqp

import (
	"errors"
	"testing"

	"github.com/taktload/takt/internal/amqp/wire"
)

// A broker that gives two sessions one channel, two links one handle, or one link two handles, or that
// sends a message before the receiver is ready, is malformed. Nothing ends twice.
func TestHostileNumbers(t *testing.T) {
	refusal := func(handle uint32) []byte {
		return wire.AppendFrame(nil, 0, &wire.Attach{Name: "x", Handle: handle, ByReceiver: true})
	}
	gone := func(handle uint32) []byte {
		return wire.AppendFrame(nil, 0, &wire.Detach{Handle: handle, Closed: true})
	}
	for name, c := range map[string]struct {
		held   bool
		good   [][]byte
		frames []byte
	}{
		"a refusal twice":         {good: [][]byte{refusal(7)}, frames: append(refusal(8), append(gone(7), gone(8)...)...)},
		"a refusal after its end": {good: [][]byte{refusal(7), gone(7)}, frames: append(refusal(8), gone(8)...)},
		"another link's handle":   {frames: refusal(1)},
		"another's channel":       {frames: wire.AppendFrame(nil, 0, &wire.Begin{Answers: true, Remote: 1, HandleMax: 10})},
		"a message too early":     {held: true, frames: piece(new(uint32(0)), false, false, false, "x")},
		"a part too early":        {held: true, frames: piece(new(uint32(0)), false, true, false, "x")},
	} {
		r := newRig(t, func(uint64, Outcome) {})
		r.rcv.opt.Held = c.held
		third := &Sender{link: newLink(r.snd.s, "x")}
		third.link.sender = third
		if err := third.ask(wire.Attach{Source: &wire.Terminus{}, Target: &wire.Terminus{}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.c.begin(); err != nil {
			t.Fatal(err)
		}
		for _, frames := range c.good {
			r.feed(frames)
		}
		err := r.try(c.frames)
		if !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		r.c.fail(err)
		r.c.abandon() // panics if something ends twice
	}
}
