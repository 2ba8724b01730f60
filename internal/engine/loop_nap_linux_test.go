package engine

import (
	"testing"
	"time"
)

// A closed loop naps only while its target, and not the loop, is the slower one and has enough to
// do.
func TestNap(t *testing.T) {
	const us = time.Microsecond
	for name, c := range map[string]struct {
		change func(*loop)
		want   time.Duration
	}{
		"50 connections":        {func(*loop) {}, 56 * us},
		"a slow target":         {func(l *loop) { l.answers.apart = gatherTimeSlow }, gatherTimeSlow},
		"a slower one":          {func(l *loop) { l.answers.apart = gatherTimeSlow + 1 }, 0},
		"a fast target":         {func(l *loop) { l.answers.apart = 4 * us }, 0},
		"20 connections":        {func(l *loop) { l.max, l.flight.n = 20, 20 }, 0},
		"half of them idle":     {func(l *loop) { l.flight.n = 25 }, 0},
		"a schedule":            {func(l *loop) { l.closed = false }, 0},
		"no stamps":             {func(l *loop) { l.stamps = false }, 0},
		"few stamps":            {func(l *loop) { l.sparing = true }, 0},
		"connecting":            {func(l *loop) { l.dialing.n = 1 }, 0},
		"a part of a request":   {func(l *loop) { l.partial = 1 }, 0},
		"nothing is known yet":  {func(l *loop) { l.answers.apart = 0 }, 0},
		"the window has ended":  {func(l *loop) { l.answers.at, l.answers.n = 0, 25 }, 80 * us},
		"nothing in the window": {func(l *loop) { l.answers.at = 0 }, 56 * us},
	} {
		l := &loop{closed: true, max: 50, reads: reads{stamps: true}, links: links{flight: flight{n: 50}}}
		l.answers = answerPace{at: time.Millisecond, apart: 8 * us}
		c.change(l)
		if got := l.nap(time.Millisecond); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
