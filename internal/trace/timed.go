package trace

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// defaultWindow is how far out of order a log may be: its lines have the order in which the
// requests ended, or are seconds apart if the server buffers its log.
const defaultWindow = 30 * time.Second

// Jitter says where within its second a request starts, if its stamp has no fraction.
type Jitter int

// The jitters: evenly spaced, random like Poisson arrivals, all at the start of the second.
const (
	Uniform Jitter = iota
	Poisson
	Burst
)

var jitterNames = [...]string{"uniform", "poisson", "burst"}

// String implements flag.Value.
func (j *Jitter) String() string { return jitterNames[*j] }

// Set implements flag.Value.
func (j *Jitter) Set(s string) error {
	for i, name := range jitterNames {
		if s == name {
			*j = Jitter(i)
			return nil
		}
	}
	return fmt.Errorf("jitter %.60q is not known; use uniform, poisson or burst", s)
}

// Timing says how stamps become instants.
type Timing struct {
	Jitter Jitter
	Seed   uint64        // seed for Poisson
	Window time.Duration // 0: defaultWindow
}

// TimedStream returns records in the order in which their requests started. At is the
// start, to the nanosecond; Second and Ended are false.
type TimedStream struct {
	stamps *order
	spread *spread
	starts *order
}

// Timed sorts a stream by start. At most 65 536 records wait for earlier ones at each of two
// levels, and 131 072 of one second to be spread: 140 MB at worst, and usually only the
// records of a second or a window.
func Timed(s Stream, t Timing) *TimedStream {
	window := t.Window
	if window == 0 {
		window = defaultWindow
	}
	o := newOrder(s, func(r *Record) time.Time { return r.At }, window)
	p := &spread{src: o, jitter: t.Jitter, rand: rand.New(rand.NewPCG(t.Seed, jitterStream))}
	return &TimedStream{o, p, newOrder(p, (*Record).Start, window)}
}

// jitterStream is the second word of the generator's seed, as in package schedule.
const jitterStream = 0x9e3779b97f4a7c15

// Next implements Stream.
func (t *TimedStream) Next(rec *Record) error {
	if err := t.starts.Next(rec); err != nil {
		return err
	}
	rec.At, rec.Ended = rec.Start(), false
	return nil
}

// Late counts the records that were too far out of order, at both levels.
func (t *TimedStream) Late() Late {
	a, b := t.stamps.late, t.starts.late
	return Late{a.Count + b.Count, max(a.Most, b.Most)}
}

// Crowded counts the records beyond the first 131 072 of a second. They are due at the end
// of the second.
func (t *TimedStream) Crowded() uint64 { return t.spread.crowded }

// Spread counts the records whose stamps had no fraction.
func (t *TimedStream) Spread() uint64 { return t.spread.count }

// Fine counts the records that were spread within the millisecond of their stamp.
func (t *TimedStream) Fine() uint64 { return t.spread.fine }
