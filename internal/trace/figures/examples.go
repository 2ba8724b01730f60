package figures

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/trace"
)

// shownExamples is how many requests Examples stores.
const shownExamples = 3

// Examples is a stream that stores its first requests, for users to see how takt understood them.
type Examples struct {
	Src   trace.Stream
	First []Example
}

// Next implements trace.Stream.
func (e *Examples) Next(rec *trace.Record) error {
	err := e.Src.Next(rec)
	if err == nil && len(e.First) < shownExamples {
		e.First = append(e.First, exampleOf(rec))
	}
	return err
}

// Example is a request as takt understood it. Its texts are safe to show.
type Example struct {
	File      string    `json:"file"`
	Line      int       `json:"line"`
	Start     time.Time `json:"start,omitzero"` // zero: the log has no times
	Whole     bool      `json:"whole_second,omitempty"`
	Ended     bool      `json:"logged_at_end,omitempty"` // the log has the end of the request
	Method    string    `json:"method"`
	Target    string    `json:"target"`
	Status    int       `json:"status,omitempty"`
	DurationS float64   `json:"duration_s,omitempty"`
	Bytes     int64     `json:"bytes"` // -1: unknown
	Client    string    `json:"client,omitempty"`

	latency time.Duration
}

func exampleOf(r *trace.Record) Example {
	e := Example{File: r.File, Line: r.Line, Start: r.Start(), Whole: r.Second, Ended: r.Ended, Method: string(r.Method), Target: printable(r.URI), Status: r.Status, Bytes: r.Bytes, Client: printable(r.Client), latency: r.Latency}
	if len(r.Host) > 0 {
		e.Target = printable(r.Host) + e.Target
	}
	e.DurationS = max(0, r.Latency.Seconds())
	return e
}

// maxShown limits a text of an Example.
const maxShown = 100

// printable is a text without the escapes of terminals, and not too long.
func printable(v []byte) string {
	var b strings.Builder
	for n := 0; len(v) > 0; n++ {
		if n == maxShown {
			return b.String() + "…"
		}
		r, size := utf8.DecodeRune(v)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, v[0])
		case foreign.Shows(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		v = v[size:]
	}
	return b.String()
}

// String names each value that the log has.
func (e Example) String() string {
	var b strings.Builder
	if !e.Start.IsZero() {
		kind, about := "start", ""
		if e.Ended && e.latency == trace.Unknown {
			kind = "end"
		}
		if e.Whole {
			about = " ± 1 s"
		}
		fmt.Fprintf(&b, "%s %s%s, ", kind, e.Start.Format("2006-01-02 15:04:05.000 -0700"), about)
	}
	fmt.Fprintf(&b, "%s %s", e.Method, e.Target)
	if e.Status > 0 {
		fmt.Fprintf(&b, ", status %d", e.Status)
	}
	if e.latency != trace.Unknown {
		fmt.Fprintf(&b, ", duration %v", e.latency)
	}
	if e.Bytes != trace.Unknown {
		fmt.Fprintf(&b, ", %d bytes", e.Bytes)
	}
	if e.Client != "" {
		fmt.Fprintf(&b, ", client %s", e.Client)
	}
	return b.String()
}
