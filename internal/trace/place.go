package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Gap is a time between two requests, as long as it would be in the replay.
type Gap struct {
	From, To Place
	Length   time.Duration
}

// Place is the place of a request in a log.
type Place struct {
	File string
	Line int
	At   time.Time
}

// PlaceOf is the place of r.
func PlaceOf(r *Record) Place { return Place{r.File, r.Line, r.At} }

// String is file:line (date).
func (p Place) String() string {
	return fmt.Sprintf("%s:%d (%s)", shown(p.File), p.Line, p.At.Format("2006-01-02 15:04:05"))
}

// WindowFlag is the flag that chooses the requests from one instant to another, both included.
func WindowFlag(from, to time.Time) string {
	const form = "2006-01-02T15:04:05" // a whole second: the window ends before its end
	return fmt.Sprintf("--window %s..%s", from.Format(form), to.Add(time.Second).Format(form))
}

// shown is the name of a file, in quotes if it has escapes of terminals.
func shown(file string) string {
	if strings.ContainsFunc(file, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(file)
	}
	return file
}

// String names both ends and the length.
func (g Gap) String() string { return fmt.Sprintf("%v to %v, %s", g.From, g.To, Span(g.Length)) }

// Span writes a time that may be years: 1h, 90m5s, 3 days.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*365*day:
		return fmt.Sprintf("%d years", (d+182*day)/(365*day+6*time.Hour))
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= time.Second:
		d = d.Round(time.Second)
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
