package live

import (
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/verdict"
)

// field is a column of the line mode.
type field struct {
	name  string
	width int
	text  string
	style style
}

// Line returns the newest second as a line of at most width columns, without a line break.
// A narrow line lacks fields on the right. header: Header belongs above the line.
func (s *State) Line(width int, p Palette) string {
	return row(s.fields(), width, func(f field) (string, style) { return f.text, f.style }, p)
}

// Header returns the names above the lines.
func (s *State) Header(width int, p Palette) string {
	return row(s.fields(), width, func(f field) (string, style) { return f.name, dim }, p)
}

// Silent reports whether the newest second needs no line: nothing happened in the rest after the
// last full second, or the whole run was over in an instant, so its report says it all.
func (s *State) Silent() bool {
	c := s.current()
	return c.t <= shortestRun || shorter(c.length) && c.due+c.ok+c.failed+c.drops == 0
}

// shortestRun is the length of a run, in seconds, up to which it has no line.
const shortestRun = 0.5

func (s *State) fields() []field {
	c := s.current()
	list := []field{
		{"time", 7, c.time(), plain},
		{"left", 7, s.left(c), plain},
	}
	if s.head.scheduled() {
		list = append(list, field{"due", 6, si(float64(c.due)), plain})
	}
	list = append(list, field{"done", 6, si(float64(c.ok + c.failed)), plain})
	if s.head.answered() {
		list = append(list, field{"p50", 7, latency(c.responseP50, c), plain}, field{"p99", 7, latency(c.responseP99, c), plain})
	}
	if shown := s.head.shown(); len(shown) > 0 {
		text := "-"
		if c.timed[0] > 0 {
			text = figure.Micros(c.timed[0])
		}
		list = append(list, field{briefly(shown[0]), 7, text, plain})
	}
	list = append(list, field{"failed", 6, si(float64(c.failed)), bad(c.failed)})
	if !s.head.Receives {
		list = append(list, field{"in flight", 9, si(float64(c.inFlight)), plain}, field{"lag", 7, s.lag(c), s.lagStyle(c)})
	}
	if s.total.Dropped > 0 || c.drops > 0 {
		list = append(list, field{"dropped", 7, si(float64(c.drops)), bad(c.drops)})
	}
	return list
}

// time is the end of the second. The last one is rarely a whole second.
func (c *column) time() string {
	if tenths := strconv.FormatFloat(c.t, 'f', 1, 64); c.t < 59.95 && !strings.HasSuffix(tenths, ".0") {
		return tenths + "s"
	}
	return span(page.Seconds(c.t))
}

// left is the remaining time after a second.
func (s *State) left(c *column) string {
	left, known := s.remaining(page.Seconds(c.t))
	switch {
	case c.warmup:
		return "warm-up"
	case !known:
		return "-"
	case shorter(c.length):
		return "0s" // the run is over
	}
	return span(left)
}

// latency is "-" if nothing ended: a zero would look like a fast answer.
func latency(us float64, c *column) string {
	if us == 0 && c.responseP99 == 0 {
		return "-"
	}
	return figure.Micros(us)
}

// lag is "-" if nothing was sent.
func (s *State) lag(c *column) string {
	if c.lag == 0 && c.ok+c.failed == 0 {
		return "-"
	}
	return figure.Micros(c.lag)
}

func bad(n uint64) style {
	if n > 0 {
		return red
	}
	return plain
}

// lagStyle is red if the lag is above its bound: a run with more than 1 % of such operations is
// invalid. A closed loop has no bound.
func (s *State) lagStyle(c *column) style {
	switch lateness := c.lateness(); {
	case s.head.Closed:
	case lateness.Late():
		return red
	case lateness.SomeLate():
		return yellow
	}
	return plain
}

func (c *column) lateness() verdict.Second { return verdict.SecondOf(c.responseP99, c.lag) }

func row(list []field, width int, cell func(field) (string, style), p Palette) string {
	var b strings.Builder
	used := 0
	for i, f := range list {
		gap := min(i, 1)
		if used += f.width + gap; used > width {
			break
		}
		text, style := cell(f)
		b.WriteString(strings.Repeat(" ", gap+max(0, f.width-len([]rune(text)))))
		b.WriteString(p.paint(style, text))
	}
	return b.String()
}
