package ui

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/stored"
)

// The paths of the pages.
const (
	PathRuns    = "/"
	PathRun     = "/run"
	PathCompare = "/compare"
	PathHistory = "/history"
	PathLive    = "/live"
	PathReport  = "/report.json"
	PathFile    = "/report.html"
)

//go:embed site.tmpl
var layout string

var parsed = sync.OnceValue(func() *template.Template { return template.Must(template.New("site").Parse(layout)) })

// body fills a template.
func body(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := parsed().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err // escaped by the template
}

// Link is a path with parameters, each a name and its value; one with the value "" is left out.
func Link(path string, parameters ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			v.Add(parameters[i], parameters[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// Frame is the frame of a page. filter is the text of the filters, which the other pages keep.
func Frame(here, filter string) *html.Frame {
	f := &html.Frame{Says: "takt ui only reads."}
	for _, l := range []html.Link{
		{To: Link(PathRuns, "q", filter), Text: "Runs"},
		{To: Link(PathHistory, "q", filter), Text: "History"},
		{To: PathLive, Text: "Running now"},
	} {
		path, _, _ := strings.Cut(l.To, "?")
		l.Here = path == here
		f.Links = append(f.Links, l)
	}
	if here == PathRuns || here == PathHistory {
		f.Search = &html.Search{Action: here, Text: filter}
	}
	return f
}

// Live is a run that goes on.
type Live struct {
	Name    string // of its journal
	ID      string
	Kind    string
	Target  string
	Labels  map[string]string
	Started string
	Ended   bool // its process has ended without a report
}

// List is a page of the list of runs.
type List struct {
	Runs    []stored.Run
	Filter  string
	Skipped int  // newer runs that are not shown
	More    bool // there are older runs
	Size    int  // of a page
	Live    []Live
}

// row is a run in the list.
type row struct {
	Link, ID, Date, Kind, Target, Rate, Loop, P50, P99, Errors, Verdict, Tone, Why, Branch, Revision string
}

// Runs writes the list of stored runs.
func Runs(w io.Writer, l List) error {
	data := struct {
		List
		Rows         []row
		Newer, Older string
		From, To     int
		Path         string
		lives
	}{List: l, lives: split(l.Live), From: l.Skipped + 1, To: l.Skipped + len(l.Runs), Path: PathCompare}
	for i := range l.Runs {
		data.Rows = append(data.Rows, rowOf(&l.Runs[i]))
	}
	if l.Skipped > 0 {
		data.Newer = Link(PathRuns, "q", l.Filter, "skip", skip(l.Skipped-l.Size))
	}
	if l.More {
		data.Older = Link(PathRuns, "q", l.Filter, "skip", skip(l.Skipped+l.Size))
	}
	text, err := body("runs", data)
	if err != nil {
		return err
	}
	return Frame(PathRuns, l.Filter).Page(w, html.Page{Title: "Runs", Body: text})
}

// skip is a number of runs as a parameter; "": none.
func skip(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// loopOf marks the rate of a closed loop, which the server decided; "": it was asked for.
func loopOf(r *stored.Run) string {
	if r.Settings != nil && r.Settings.Variables["arrivals"] == "closed" {
		return "closed loop"
	}
	return ""
}

func rowOf(r *stored.Run) row {
	c := answer.RunCells(r)
	one := row{
		Link: Link(PathRun, "id", r.ID), ID: c[0], Date: r.StartedAt.UTC().Format(time.DateTime), Loop: loopOf(r), Kind: c[2], Target: page.Clean(r.Target()),
		Rate: c[3], P50: c[4], P99: c[5], Errors: c[6], Verdict: c[7], Branch: c[8], Revision: c[9], Tone: "warn", Why: page.Clean(r.Unfit),
	}
	switch {
	case r.Unfit == "":
		one.Tone = "good"
	case r.Invalid() || c[7] == "failed":
		one.Tone = "bad"
	}
	return one
}

// Running writes the list of runs that go on.
func Running(w io.Writer, list []Live) error {
	text, err := body("live", split(list))
	if err != nil {
		return err
	}
	f := Frame(PathLive, "")
	f.Refresh = true
	return f.Page(w, html.Page{Title: "Running now", Subtitle: []string{"stored runs of this user on this machine"}, Body: text})
}

// lives are runs that go on, and those whose process has ended.
type lives struct{ Going, Left []Live }

func split(list []Live) (l lives) {
	for _, one := range list {
		if one.Ended {
			l.Left = append(l.Left, one)
		} else {
			l.Going = append(l.Going, one)
		}
	}
	return l
}

// Link leads to the page of the run.
func (l Live) Link() string { return Link(PathLive, "id", l.Name) }

// Clean is the run's text for people.
func (l Live) Clean() string {
	words := []string{page.Clean(l.Kind), page.Clean(l.Target)}
	for _, name := range page.Sorted(l.Labels) {
		words = append(words, page.Clean(name+"="+l.Labels[name]))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// Notice is a page that says something instead of showing it.
type Notice struct {
	Title, Word, Tone string
	Text              string
	Hint              string   // what to do
	Commands          []string // to type
	Back              string   // "": no link back
}

// Write writes the notice.
func (n Notice) Write(w io.Writer, f *html.Frame) error {
	text, err := body("notice", n)
	if err != nil {
		return err
	}
	return f.Page(w, html.Page{Title: n.Title, Word: n.Word, Tone: part.Tone(n.Tone), Headline: n.Text, Body: text})
}
