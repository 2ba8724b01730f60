package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// place is where one operation at a time runs: a connection, or a part of one that carries
// several (see site).
type place struct {
	conn   *lconn
	state  pstate
	op     takt.Op
	free   time.Duration // free instant of op, see record.Event
	sent   time.Duration
	wrote  time.Duration // instant just before the first byte of the request was written
	idle   time.Duration // instant from which the place is free
	ready  time.Duration // ready instant of op, see record.Event
	slot   record.Slot
	behind time.Duration // of op, see record.Event
	stuck  bool          // op waited for connections that were being made, see record.Event
	res    takt.Result

	patience patience
	pauses   time.Duration // end of the pause

	before, after *place // neighbours in a flight, oldest first

	home  *site // nil: conn is the place's own
	tag   int   // index in home.places
	again int   // how often op was begun again
}

type pstate uint8

const (
	pidle    pstate = iota
	pdialing        // the operation waits for the connection
	pbusy           // the request is in flight
	pqueued         // the operation is to be begun again, and waits for room on the connection
)

// flight is a list of places by the instant of sending, which is also the order of their
// timeouts.
type flight struct {
	head, tail *place
	n          int
}

// add inserts p by its instant: at the end, unless its connection took long to establish.
func (f *flight) add(p *place) {
	at := f.tail
	for at != nil && at.sent > p.sent {
		at = at.before
	}
	p.before = at
	if at == nil {
		p.after, f.head = f.head, p
	} else {
		p.after, at.after = at.after, p
	}
	if p.after == nil {
		f.tail = p
	} else {
		p.after.before = p
	}
	f.n++
}

func (f *flight) remove(p *place) {
	if p.before == nil {
		f.head = p.after
	} else {
		p.before.after = p.after
	}
	if p.after == nil {
		f.tail = p.before
	} else {
		p.after.before = p.before
	}
	p.before, p.after = nil, nil
	f.n--
}

// places are free places, by the instant from which they are free.
type places struct {
	list []*place
	gone int // the first of list, which were taken
}

func (f *places) len() int { return len(f.list) - f.gone }

func (f *places) add(p *place) {
	if f.gone > 0 && len(f.list) == cap(f.list) {
		f.list = f.list[:copy(f.list, f.list[f.gone:])]
		f.gone = 0
	}
	f.list = append(f.list, p)
}

// last takes the place that is free for the shortest time; only valid if there is one.
func (f *places) last() *place {
	p := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return p
}

// first takes the place that is free for the longest time; only valid if there is one.
func (f *places) first() *place {
	p := f.list[f.gone]
	f.gone++
	return p
}

// since is the instant from which one of the places is free; forever: there is none.
func (f *places) since() time.Duration {
	if f.len() == 0 {
		return forever
	}
	return f.list[f.gone].idle
}
