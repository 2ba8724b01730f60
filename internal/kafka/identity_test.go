package kafka

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A partition with a gap begins again under another identity, which two partitions may share.
func TestBeginAgain(t *testing.T) {
	asked := 0
	p := &Producer{identity: Identity{7, 0}, opt: Options{Identify: func(context.Context) (Identity, error) {
		asked++
		return Identity{8, 3}, nil
	}}}
	for range 2 {
		n := numbering{Identity: Identity{7, 0}, next: 5, gap: true}
		if ok := p.beginAgain(&n); ok != (asked > 0) {
			t.Error("a partition began again under an identity that it had already")
		}
		if err := p.renew(t.Context()); err != nil || asked != 1 {
			t.Errorf("%v, asked %d times", err, asked)
		}
		if n.gap && !p.beginAgain(&n) || n != (numbering{Identity: Identity{8, 3}, begun: true}) {
			t.Errorf("%+v", n)
		}
	}
}

// A new cluster's first identity is 0 and 0. A partition keeps it, and its numbers, when another
// partition needs another one.
func TestFirstIdentity(t *testing.T) {
	p := &Producer{opt: Options{Identify: func(context.Context) (Identity, error) { return Identity{}, nil }}}
	r := &route{}
	first, second := &Batch{count: 5}, &Batch{count: 5}
	p.number(first, r)
	p.identity = Identity{8, 3}
	if p.number(second, r); second.identity != (Identity{}) || second.first != 5 {
		t.Errorf("the second batch has number %d of %+v", second.first, second.identity)
	}
	if p.number(first, r); first.identity != (Identity{}) || first.first != 0 {
		t.Errorf("sent again, the first batch has number %d of %+v", first.first, first.identity)
	}
}

// Numbers begin again at 0 after 2³¹ − 1, as in brokers.
func TestNumbersWrap(t *testing.T) {
	p := &Producer{identity: Identity{7, 0}, opt: Options{Identify: func(context.Context) (Identity, error) { return Identity{}, nil }}}
	r := &route{numbers: numbering{Identity: p.identity, next: math.MaxInt32 - 1}}
	for _, want := range []int32{math.MaxInt32 - 1, 3} { // MaxInt32-1, MaxInt32, 0, 1, 2
		b := &Batch{count: 5}
		if !p.number(b, r) || b.first != want {
			t.Errorf("first number %d, want %d", b.first, want)
		}
	}
}

// A signed batch has its numbers and a right checksum.
func TestSign(t *testing.T) {
	b := batches(1, nil)[0]
	b.Seal(time.UnixMilli(1), nil)
	sum := binary.BigEndian.Uint32(b.plain[atSum:])
	b.sign(Identity{1 << 40, 9}, 1234)
	var read kmsg.RecordBatch
	if err := read.ReadFrom(b.plain[placeBytes:]); err != nil || read.ProducerID != 1<<40 || read.ProducerEpoch != 9 || read.FirstSequence != 1234 || uint32(read.CRC) == sum {
		t.Errorf("%v, %+v", err, read)
	}
	if b.sign(nobody, -1); binary.BigEndian.Uint32(b.plain[atSum:]) != sum {
		t.Error("the checksum of a batch without numbers changed")
	}
}
