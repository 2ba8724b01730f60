package trace

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Window is a part of a log by time, the flag FROM..TO. Either edge may be missing.
type Window struct {
	from, to edge
	text     string
	other    string // another flag that a single duration may be meant for, with its meaning; "": none
}

// edge is an edge of a Window.
type edge struct {
	kind   edgeKind
	offset time.Duration // since the first request, or since midnight
	date   time.Time     // midnight of the date, in UTC
}

type edgeKind int

// The kinds: no edge, a time after the first request, a time of day, a date with a time of day.
const (
	open edgeKind = iota
	offset
	clock
	dated
)

var errWindow = errors.New("write FROM..TO with offsets from the first request such as 5m..1h, times of day such as 10:00..12:30, or 2026-11-27T10:00..2026-11-27T12:30; leave out FROM or TO for the whole beginning or end")

// Given reports whether the window is not the whole log.
func (w *Window) Given() bool { return w.text != "" }

// String implements flag.Value.
func (w *Window) String() string { return w.text }

// Beside names another flag that takes a single duration, for the error about one.
func (w *Window) Beside(flag string) { w.other = flag }

// Set implements flag.Value.
func (w *Window) Set(text string) error {
	from, to, ok := strings.Cut(text, "..")
	if _, err := time.ParseDuration(text); err == nil && w.other != "" {
		return fmt.Errorf("%.60q is not a window; %s, and a window is FROM..TO", text, w.other)
	}
	if !ok || from == "" && to == "" {
		return fmt.Errorf("%.60q is not a window; %w", text, errWindow)
	}
	var parsed [2]edge
	for i, part := range []string{from, to} {
		e, err := edgeOf(part)
		if err != nil {
			return fmt.Errorf("%.60q: %w", text, err)
		}
		parsed[i] = e
	}
	a, b := parsed[0], parsed[1]
	if a.kind == b.kind && a.kind != clock && a.kind != open && !a.date.Add(a.offset).Before(b.date.Add(b.offset)) {
		return fmt.Errorf("%.60q ends before it begins; write the earlier time first", text)
	}
	w.from, w.to, w.text = a, b, text
	return nil
}

func edgeOf(text string) (edge, error) {
	if text == "" {
		return edge{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return edge{kind: offset, offset: d}, nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return edge{kind: clock, offset: sinceMidnight(at)}, nil
		}
	}
	date, rest, ok := strings.Cut(strings.Replace(text, " ", "T", 1), "T")
	day, err := time.Parse("2006-01-02", date)
	if err != nil {
		return edge{}, fmt.Errorf("%.40q is not an edge of a window; %w", text, errWindow)
	}
	if !ok {
		return edge{kind: dated, date: day}, nil
	}
	e, err := edgeOf(rest)
	if err != nil || e.kind != clock {
		return edge{}, fmt.Errorf("%.40q is not an edge of a window; %w", text, errWindow)
	}
	return edge{kind: dated, date: day, offset: e.offset}, nil
}

func sinceMidnight(at time.Time) time.Duration {
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second + time.Duration(at.Nanosecond())
}

// bounds returns the window of a log whose first request started at first; a zero time is no bound.
// Times of day are of the first day on which the window ends after the log's beginning.
func (w *Window) bounds(first time.Time) (from, to time.Time) {
	from, to = w.onDay(first, 0)
	if !to.IsZero() && !to.After(first) {
		from, to = w.onDay(first, 1)
	}
	return from, to
}

// onDay is bounds, with the time of day of FROM so many days after the first request.
func (w *Window) onDay(first time.Time, days int) (from, to time.Time) {
	from, to = w.from.at(first, days), w.to.at(first, days)
	if w.to.kind != clock {
		return from, to
	}
	begin := from
	if begin.IsZero() {
		begin = first
	}
	if to = w.to.at(begin, 0); !to.After(begin) {
		to = w.to.at(begin, 1)
	}
	return from, to
}

// at is the instant of the edge; days is added to a time of day.
func (e edge) at(first time.Time, days int) time.Time {
	switch e.kind {
	case offset:
		return first.Add(e.offset)
	case clock:
		return onDay(first.Year(), first.Month(), first.Day()+days, e.offset, first.Location())
	case dated:
		return onDay(e.date.Year(), e.date.Month(), e.date.Day(), e.offset, first.Location())
	}
	return time.Time{}
}

// onDay is a time of day, which summer time may move from its distance to midnight.
func onDay(year int, month time.Month, day int, of time.Duration, zone *time.Location) time.Time {
	return time.Date(year, month, day, int(of/time.Hour), int(of/time.Minute)%60, int(of/time.Second)%60, int(of%time.Second), zone)
}

// Windowed is the part of a stream in a window.
type Windowed struct {
	src         Stream
	w           Window
	known       bool
	from, to    time.Time
	first, last time.Time // starts of the earliest and the latest record of src
	inside      bool      // a record was in the window
	left        Left
}

// Left is what was left out so far.
func (s *Windowed) Left() *Left { return &s.left }

// Within returns the records of src that started in w. Records without a time are in every window.
func Within(src Stream, w Window) *Windowed { return &Windowed{src: src, w: w} }

// Outside says that no record was in the window, and the times of the log; "": one was, or none has a time.
func (s *Windowed) Outside() string {
	if s.inside || !s.known {
		return ""
	}
	const form = "2006-01-02T15:04:05"
	return fmt.Sprintf("--window %s has no request of the log, whose requests start from %s to %s", &s.w, s.first.Format(form), s.last.Format(form))
}

// Next implements Stream.
func (s *Windowed) Next(rec *Record) error {
	for {
		if err := s.src.Next(rec); err != nil {
			return err
		}
		if !s.w.Given() {
			return nil
		}
		if rec.At.IsZero() {
			s.inside = true
			return nil
		}
		at := rec.Start()
		if !s.known {
			s.from, s.to = s.w.bounds(at)
			s.known, s.first = true, at
		}
		if at.Before(s.first) {
			s.first = at
		}
		if at.After(s.last) {
			s.last = at
		}
		if (s.from.IsZero() || !at.Before(s.from)) && (s.to.IsZero() || at.Before(s.to)) {
			s.inside = true
			return nil
		}
		s.left.Add(NotChosen, leftByWindow, rec.File, rec.Line)
	}
}

// leftByWindow is why a request outside of the window is left out.
const leftByWindow = "outside of --window"
