package amqp

// sent is a delivery without an outcome. Once it has an outcome its sender is nil.
type sent struct {
	sender *Sender
	token  uint64
}

// ring contains the unsettled deliveries of a session by their numbers, base to next-1. Its
// length is a power of two, so the numbers may wrap around.
type ring struct {
	slots      []sent
	base, next uint32
}

// mostUnsettled is the largest size of the ring: 16 MiB.
const mostUnsettled = 1 << 20

func (r *ring) full() bool { return r.next-r.base == mostUnsettled }

func (r *ring) at(id uint32) *sent { return &r.slots[id&uint32(len(r.slots)-1)] }

// push adds d and returns its number.
func (r *ring) push(d sent) uint32 {
	if int(r.next-r.base) == len(r.slots) {
		r.grow()
	}
	id := r.next
	r.next++
	*r.at(id) = d
	r.advance()
	return id
}

func (r *ring) grow() {
	bigger := ring{slots: make([]sent, max(64, 2*len(r.slots)))}
	for id := r.base; id != r.next; id++ {
		*bigger.at(id) = *r.at(id)
	}
	r.slots = bigger.slots
}

// take moves the unsettled deliveries from first to last to out. Any numbers from the broker
// are safe.
func (r *ring) take(first, last uint32, out []sent) []sent {
	n := int64(r.next - r.base)
	from, to := int64(int32(first-r.base)), int64(int32(last-r.base))
	for i := max(0, from); i <= min(to, n-1); i++ {
		if d := r.at(r.base + uint32(i)); d.sender != nil {
			out = append(out, *d)
			d.sender = nil
		}
	}
	r.advance()
	return out
}

// takeOf moves all deliveries of a sender to out.
func (r *ring) takeOf(s *Sender, out []sent) []sent {
	for id := r.base; id != r.next; id++ {
		if d := r.at(id); d.sender == s {
			out = append(out, *d)
			d.sender = nil
		}
	}
	r.advance()
	return out
}

func (r *ring) advance() {
	for r.base != r.next && r.at(r.base).sender == nil {
		r.base++
	}
}
