package produce

import (
	"fmt"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// text makes the messages. It is only read, so workers share it.
type text struct {
	random     *payload.Random // nil: lines or fixed
	bytes      int             // of a random message
	equal      bool            // all messages are random and of that size
	sizes      *payload.Sizes  // distribution of bytes; nil: all are equal
	tombstones tombstones      // records without a value
	lines      *payload.Lines
	recorded   *recorded // records of a file; nil: none
	fixed      []string
	key        *payload.Template // nil: records have no key
	headers    headers
}

// size is how many bytes message seq has; kafka.Null: it is a tombstone.
func (t *text) size(seq uint64) int {
	if t.equal { // this short function is inlined
		return t.bytes
	}
	return t.drawn(seq)
}

func (t *text) drawn(seq uint64) int {
	if t.tombstones.limit > 0 && t.tombstones.has(seq) {
		return kafka.Null
	}
	return t.whole(seq)
}

// whole is the size of message seq if it is not a tombstone.
func (t *text) whole(seq uint64) int {
	switch {
	case t.recorded != nil:
		if value := t.recorded.of(seq).Value; value != nil {
			return len(value)
		}
		return kafka.Null
	case t.lines != nil:
		return len(t.lines.At(seq))
	case len(t.fixed) > 0:
		return len(t.fixed[seq%uint64(len(t.fixed))])
	case t.sizes != nil:
		return t.sizes.At(seq)
	}
	return t.bytes
}

// least is the smallest size of a random message.
func (t *text) least() int {
	switch {
	case t.tombstones.limit > 0:
		return 0
	case t.sizes != nil:
		return t.sizes.Least()
	}
	return t.bytes
}

// longest is the size of the largest message.
func (t *text) longest() (n int) {
	switch {
	case t.sizes != nil:
		return t.sizes.Most()
	case t.random != nil:
		return t.bytes
	}
	count := len(t.fixed)
	if t.lines != nil {
		count = t.lines.Len()
	}
	for i := range count {
		n = max(n, t.whole(uint64(i)))
	}
	return n
}

// append appends message seq, whose size is given, to dst.
func (t *text) append(dst []byte, size int, seq uint64) []byte {
	switch {
	case t.equal:
		return t.random.Append(dst, size, seq)
	case size == kafka.Null:
		return dst
	case t.recorded != nil:
		return append(dst, t.recorded.of(seq).Value...)
	case t.lines != nil:
		return append(dst, t.lines.At(seq)...)
	case len(t.fixed) > 0:
		return append(dst, t.fixed[seq%uint64(len(t.fixed))]...)
	}
	return t.random.Append(dst, size, seq)
}

// isKeyed reports whether records choose their partitions.
func (t *text) isKeyed() bool { return t.key != nil || t.recorded != nil }

// keyBytes is how many bytes a key has at most.
func (t *text) keyBytes() int {
	if t.key == nil {
		return 0
	}
	return t.key.MaxLen()
}

// readText makes the messages that the flags describe. seed determines what is random.
func (o *Options) readText(seed uint64) (*text, error) {
	t := &text{bytes: o.MessageSize, fixed: o.Messages}
	if o.Data != "" {
		f, err := files.Open(o.Data)
		if err != nil {
			return nil, value.Faultf("cannot open the messages: %w; check --data", err)
		}
		defer f.Close()
		if t.lines, err = payload.ReadLines(o.Data, f); err != nil {
			return nil, err
		}
	}
	if t.lines == nil && len(t.fixed) == 0 && o.Recorded.File == "" {
		t.random = payload.NewRandom(seed)
	}
	if o.Sizes != "" {
		var err error
		if t.sizes, err = payload.ParseSizes(o.Sizes, seed); err != nil {
			return nil, value.About(fmt.Errorf("bad --message-size %w", err), "message-size")
		}
	}
	t.tombstones = newTombstones(o.Tombstones, seed)
	t.equal = t.random != nil && t.sizes == nil && t.tombstones.limit == 0
	env := payload.Env{Seed: seed}
	var err error
	if o.Key != "" {
		if t.key, err = env.Parse("--key", o.Key); err != nil {
			return nil, value.About(err, "key")
		}
	}
	t.headers, err = readHeaders(&env, o.Headers)
	return t, err
}
