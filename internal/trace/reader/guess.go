package reader

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/trace/parse"
)

// Guess says what takt took a log for, and how sure that is.
type Guess struct {
	Format  string `json:"format"`
	Given   bool   `json:"given,omitempty"`      // the user named the format
	Timed   bool   `json:"-"`                    // combined or common, with the request time at the end
	Lines   int    `json:"lines,omitempty"`      // of the beginning of the log; 0: the format is known by its first bytes
	Fit     int    `json:"fit,omitempty"`        // lines that are requests in the format
	None    int    `json:"no_request,omitempty"` // lines without a request
	Next    string `json:"next,omitempty"`       // the next best format; "": no other format looks right
	NextFit int    `json:"next_fit,omitempty"`
}

// guessOf counts more lines for the best format and the next.
func guessOf(best, next candidate, sample []byte, o Options) Guess {
	best = try(best.format, sample, o, sureLines)
	g := Guess{Format: best.format.Name, Lines: best.lines, Fit: best.fit, None: best.none}
	g.Timed = best.timed && (strings.HasSuffix(g.Format, "combined") || strings.HasSuffix(g.Format, "common") || g.Format == "vhost")
	if next.fit > 0 {
		g.Next, g.NextFit = next.format.Name, try(next.format, sample, o, sureLines).fit
	}
	return g
}

// String says it in a few words.
func (g Guess) String() string {
	name := shownFormat(g.Format)
	switch {
	case g.Given:
		return name + ", as --format or --fields says"
	case g.Lines == 0:
		return name + ", by the first bytes"
	case g.Timed:
		name += " with request time"
	}
	next := "no other format fits a line"
	if g.Lines > sampleLines { // the other formats were not tried with more
		next = fmt.Sprintf("no other format fits one of the first %d", sampleLines)
	}
	if g.Next != "" {
		next = fmt.Sprintf("next best: %s, %d", g.Next, g.NextFit)
	}
	none := ""
	if g.None > 0 {
		none = fmt.Sprintf(", %d without a request", g.None)
	}
	fit := fmt.Sprintf("%d of the first %d lines fit", g.Fit, g.Lines)
	if g.Lines == 1 {
		fit = "the first line fits"
	}
	return fmt.Sprintf("%s (%s%s; %s)", name, fit, none, next)
}

// shownFormat is the name of a format, or the beginning of a format string.
func shownFormat(format string) string {
	if !strings.ContainsAny(format, "$%{") {
		return format
	}
	if r := []rune(format); len(r) > 60 {
		format = string(r[:60]) + "…"
	}
	return fmt.Sprintf("the format %q", format)
}

// placed is a Parser that can say where the last line did not fit.
type placed interface {
	Where() (field string, reached float64)
}

// fitsNearly is the share of a line's fields above which a format is named as the closest, see
// parse.Pattern.Where.
const fitsNearly = 0.24

// closest names the format that the first lines fit best, although no line fits. "": nothing is close.
func closest(sample []byte, o Options) string {
	first := firstLine(sample)
	if line := new(head).behind(first); len(line) > 0 && line[0] == '{' {
		return fieldsOf(sample, line)
	}
	o.guessed = true
	name, place, most, tried := "", "", fitsNearly, 0
	for _, f := range formats.Table() {
		if f.Line == nil {
			continue
		}
		d, err := newLineDecoder(bufio.NewReader(bytes.NewReader(first)), f, o, &trace.Left{})
		if err != nil {
			continue
		}
		p, ok := d.parser.(placed)
		if !ok {
			continue
		}
		var rec trace.Record
		rec.Reset()
		if err := d.Next(&rec); err == nil || err == io.EOF {
			continue
		}
		if field, reached := p.Where(); reached > most {
			name, place, most, tried = f.Name, field, reached, try(f, sample, o, sureLines).lines
		}
	}
	if name == "" {
		return ""
	}
	none := ""
	if tried > 1 {
		none = fmt.Sprintf("; none of the first %d lines fits", tried)
	}
	return fmt.Sprintf(" (the closest is %s, which the first line does not fit at %s%s)", name, place, none)
}

// fieldsOf names the fields of the JSON objects among the first lines, so that the user can write a field map.
func fieldsOf(sample, first []byte) string {
	names, err := parse.JSONPaths(first)
	if err != nil {
		return fmt.Sprintf(" (%v)", err)
	}
	n := 0
	for line := range bytes.Lines(sample) {
		if n++; n > sampleLines {
			break
		}
		more, _ := parse.JSONPaths(new(head).behind(bytes.TrimSpace(line))) // other lines may be of something else
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	const most = 16
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	for i := range names {
		names[i] = strings.Trim(fmt.Sprintf("%.40q", names[i]), `"`)
	}
	return " (JSON with the fields " + cmp.Or(strings.Join(names, ", "), "none") + more + ")"
}
