package html

import (
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/pkg/takt"
)

// Frame surrounds a page that takt ui serves. Such a page has no reports inside. nil: the page is a
// file that needs nothing else.
type Frame struct {
	Links   []Link  // to the other pages
	Search  *Search // nil: the page has no filters
	Files   []Link  // what the page offers to save
	Says    string  // what the foot of the page says
	Refresh bool    // the page asks for itself again
}

// Link is a link within the server. To has its parameters escaped.
type Link struct {
	To, Text string
	Here     bool // to the page itself
}

// Search is the form with the filters.
type Search struct{ Action, Text string }

// Page is a page whose content another package writes.
type Page struct {
	Title    string
	Subtitle []string
	Word     string // of the verdict; "": none
	Tone     part.Tone
	Headline string
	Body     template.HTML
}

// Page writes a page.
func (f *Frame) Page(w io.Writer, p Page) error {
	d := &webPage{Frame: f, Title: page.Clean(p.Title), Subtitle: p.Subtitle, Verdict: verdictWord{p.Word, p.Tone}, Headline: page.Clean(p.Headline), Body: p.Body}
	return d.write(w)
}

// Live writes the page of a run that goes on, or whose process has ended without a report. r is its report
// so far, and ran its length so far.
func (f *Frame) Live(w io.Writer, r *takt.Report, ran time.Duration, ended bool) error {
	ran = ran.Round(100 * time.Millisecond)
	d, err := runPage(r)
	if err != nil {
		return err
	}
	d.Frame, d.Verdict = f, verdictWord{"running", "plain"}
	d.Headline = fmt.Sprintf("The run goes on: this is what it had counted after %v. Operations in flight count with their age so far.", ran)
	if ran.Seconds() <= r.WarmupS {
		d.Headline = fmt.Sprintf("The run goes on: after %v this is its warm-up of %s, which is not counted.", ran, page.Span(r.WarmupS))
	}
	if ended {
		d.Verdict = verdictWord{"cut short", "warn"}
		d.Headline = fmt.Sprintf("The process of the run ended without a report. This is what its journal has, up to %v; takt runs recovers the run.", ran)
	}
	so := ran.String() + " so far"
	if all, ok := r.Variables["duration_s"].(float64); ok { // the last second ends after the schedule
		so = min(ran, page.Seconds(r.WarmupS+all)).String() + " so far of " + page.Span(r.WarmupS+all)
	}
	d.Subtitle = append(d.Subtitle[:1], so)
	if n := len(d.Cards); n > 0 {
		d.Cards[n-1] = report.NotOK(r, r.Counts.Failed+r.Counts.Dropped, ", "+page.Count(r.Counts.Unfinished)+" in flight")
	}
	return d.write(w)
}
