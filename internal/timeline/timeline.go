// Package timeline is the server under test second by second: what it counted, used and logged
// beside the latency of the same second.
package timeline

import (
	"math"

	"github.com/taktload/takt/pkg/takt"
)

// Figure is a figure of a server in a second.
type Figure struct {
	Name  string // in the report
	Title string // for people
	Unit  Unit
	Count bool // the second's share of a counter, which grows; otherwise a level, such as memory
	Bad   bool // any other value than 0 is a problem
}

// Unit is the unit of a figure.
type Unit int

// The units.
const (
	Number Unit = iota
	Bytes
	Seconds
)

// The names of the figures in a report.
const (
	Accepted = "accepted"
	Acked    = "acked"
	Dropped  = "dropped"
	Queued   = "queued"
	Memory   = "rss_bytes"
	Heap     = "heap_bytes"
	CPU      = "cpu_s"
	GC       = "gc_cycles"
	Paused   = "gc_pause_s"
	Errors   = "log_errors"
	Warnings = "log_warnings"
)

// Uptime finds restarts. It is in no report.
const Uptime = "uptime"

// Figures are the known figures, in the order in which people see them.
func Figures() []Figure {
	return []Figure{
		{Accepted, "accepted", Number, true, false},
		{Acked, "acked", Number, true, false},
		{Dropped, "dropped", Number, true, true},
		{Queued, "queued", Number, false, false},
		{Memory, "memory", Bytes, false, false},
		{Heap, "heap", Bytes, false, false},
		{CPU, "CPU", Seconds, true, false},
		{GC, "GC cycles", Number, true, false},
		{Paused, "GC pauses", Seconds, true, false},
		{Errors, "log errors", Number, true, true},
		{Warnings, "log warnings", Number, true, true},
	}
}

// Of is a figure of a second for people: a count for each second, so that merged seconds
// compare with others, or a level. ok is false if the figure is unknown.
func (f Figure) Of(s *takt.ServerSecond) (v float64, ok bool) {
	v, ok = s.Figures[f.Name]
	if f.Count {
		v /= max(1e-3, s.T-s.From)
	}
	return v, ok && v >= 0 && !math.IsInf(v, 1)
}

// join is two neighbours as one. A count is known if both know it. A level is the higher one.
func join(a, b takt.ServerSecond) takt.ServerSecond {
	sum := takt.ServerSecond{From: a.From, T: b.T, Figures: map[string]float64{}}
	for _, f := range Figures() {
		v, first := a.Figures[f.Name]
		w, second := b.Figures[f.Name]
		switch {
		case f.Count && first && second:
			sum.Figures[f.Name] = v + w
		case !f.Count && (first || second): // an unknown one is 0
			sum.Figures[f.Name] = max(v, w)
		}
	}
	return sum
}

// Coarser is the seconds with neighbours as one, at most so many.
func Coarser(all []takt.ServerSecond, most int) (fewer []takt.ServerSecond) {
	each := (len(all) + most - 1) / most
	for i := 0; i < len(all); i += each {
		sum := all[i]
		for _, s := range all[i+1 : min(len(all), i+each)] {
			sum = join(sum, s)
		}
		fewer = append(fewer, sum)
	}
	return fewer
}

// list is the seconds so far, at most takt.MaxIntervals. A longer list merges neighbours.
type list struct {
	all  []takt.ServerSecond
	each int // readings in an element
	last int // readings in the last element
}

func (l *list) add(s takt.ServerSecond) {
	l.each = max(1, l.each)
	if n := len(l.all); n > 0 && l.last < l.each {
		l.all[n-1] = join(l.all[n-1], s)
		l.last++
		return
	}
	if len(l.all) == takt.MaxIntervals {
		for i := range l.all[:takt.MaxIntervals/2] {
			l.all[i] = join(l.all[2*i], l.all[2*i+1])
		}
		l.all, l.each = l.all[:takt.MaxIntervals/2], 2*l.each
	}
	l.all, l.last = append(l.all, s), 1
}
