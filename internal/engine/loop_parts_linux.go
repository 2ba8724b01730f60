package engine

import "time"

// partsBeat is how often a loop with answers in parts looks at its sockets: then it knows of parts that come in one
// read that they came within this time, unless the loop itself was late. With many streams it looks more often anyway.
const partsBeat = time.Millisecond

// came tells the codec of c when the n bytes came that were just read.
func (l *loop) came(c *lconn, n int, at time.Duration) {
	p := &c.own
	from := max(p.wrote, c.last)
	if !c.more {
		from = max(from, l.empty)
	}
	c.more = n == len(l.in)
	due := p.op.Due
	if due < 0 {
		due = p.sent
	}
	c.parted.Came(Coming{Due: due, Sent: p.sent, From: min(at, from), At: at, Record: l.record})
	c.last = at
}
