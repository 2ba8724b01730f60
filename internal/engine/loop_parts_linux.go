package engine

import "time"

// partsBeat is how often a loop with answers in parts looks at its sockets: then it knows of parts that come in one
// read that they came within this time, unless the loop itself was late. With many streams it looks more often anyway.
const partsBeat = time.Millisecond

// measuresParts lets x, the codec or mux of c, measure parts if it can.
func (l *loop) measuresParts(c *lconn, x any) {
	if c.parted, _ = x.(Parted); c.parted != nil {
		l.parts, l.sparing = true, false
	}
}

// starts tells whoever measures parts that the operation of p begins.
func (p *place) starts() {
	if p.conn.parted == nil {
		return
	}
	due := p.op.Due
	if due < 0 {
		due = p.sent
	}
	p.conn.parted.Starts(p.tag, due, p.sent, &p.res)
}

// stops tells whoever measures parts that the operation of p ends at that instant without the rest of its answer.
func (l *loop) stops(p *place, at time.Duration) {
	if p.state == pbusy && p.conn.parted != nil {
		p.conn.parted.Stops(p.tag, at, l.record)
	}
}

// came tells who measures parts when the n bytes came that were just read of c.
func (l *loop) came(c *lconn, n int, at time.Duration) {
	from := c.last
	if !c.more {
		from = max(from, l.empty)
	}
	c.more, c.last = n == len(l.in), at
	c.parted.Came(Coming{From: min(at, from), At: at, Record: l.record})
}
