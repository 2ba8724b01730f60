package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

const (
	kindHTML = "text/html; charset=utf-8"
	listSize = 50     // runs of a page
	mostRuns = 20     // of a side of compare
	mostSkip = 100000 // runs before a page of the list
)

// maker makes the answer to a request with these parameters.
type maker func(ctx context.Context, v url.Values) (served, error)

// place is a page, and the names of its parameters.
type place struct {
	make  maker
	takes []string
}

func (s *Server) table() map[string]place {
	id := []string{"id"}
	return map[string]place{
		PathRuns: {s.runs, []string{"q", "skip"}}, PathRun: {s.run, id}, PathCompare: {s.compare, []string{"run", "base", "head"}},
		PathHistory: {s.history, []string{"q"}}, PathLive: {s.live, id}, PathReport: {s.report, id}, PathFile: {s.file, id},
	}
}

// check refuses parameters that the page does not have: without them it would show something else than was asked for.
func (p place) check(v url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(p.takes, name) {
			return badly("this page has no parameter %.60q; it has %s", foreign.Line(name), strings.Join(p.takes, ", "))
		}
	}
	return nil
}

// usageError is a fault of the parameters.
type usageError struct{ error }

func badly(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// pageOf is the answer that write writes.
func pageOf(write func(w io.Writer) error) (served, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return served{}, err
	}
	return served{status: http.StatusOK, kind: kindHTML, body: b.Bytes()}, nil
}

func redirect(to string) served { return served{status: http.StatusSeeOther, kind: kindHTML, to: to} }

func (s *Server) runs(ctx context.Context, v url.Values) (served, error) {
	l := List{Filter: v.Get("q"), Size: listSize}
	filters, err := splitFilters(l.Filter)
	if err != nil {
		return s.unfiltered(PathRuns, l.Filter, err)
	}
	if text := v.Get("skip"); text != "" {
		if l.Skipped, err = strconv.Atoi(text); err != nil || l.Skipped < 0 || l.Skipped > mostSkip {
			return served{}, badly("skip is not a number of runs up to %d; begin with the list of runs", mostSkip)
		}
	}
	l.Runs, l.More, err = s.source.Runs(ctx, filters, l.Skipped, listSize)
	if err != nil {
		return s.unfiltered(PathRuns, l.Filter, err)
	}
	l.Live, _ = s.source.Live() // the list of runs is of use without it
	if len(l.Runs) == 0 && l.Filter == "" && l.Skipped == 0 {
		n := firstRun()
		return pageOf(func(w io.Writer) error { return n.Write(w, Frame(PathRuns, "")) })
	}
	return pageOf(func(w io.Writer) error { return Runs(w, l) })
}

// unfiltered is the page instead of a list if its filters are wrong: with the form, so that they can be
// mended.
func (s *Server) unfiltered(path, filter string, err error) (served, error) {
	var usage *stored.UsageError
	var own *usageError
	if !errors.As(err, &usage) && !errors.As(err, &own) {
		return served{}, err
	}
	n := Notice{Title: "Wrong filter", Word: "filter", Tone: "warn", Text: err.Error(), Back: PathRuns}
	a, err := pageOf(func(w io.Writer) error { return n.Write(w, Frame(path, filter)) })
	a.status = http.StatusBadRequest
	return a, err
}

// firstRun says how to make a first run.
func firstRun() Notice {
	return Notice{
		Title: "No runs yet", Word: "empty", Tone: "plain", Text: "The store has no runs. Every load command stores its run, unless it has --no-store.",
		Hint:     "Make a first run, and load this page again. takt target is a server to try it with:",
		Commands: []string{"takt target --service 5ms &", "takt http --rate 100/s --duration 10s http://127.0.0.1:8080/"},
	}
}

// one is the run that a page is about.
func (s *Server) one(ctx context.Context, v url.Values, name string) (*takt.Report, error) {
	id := v.Get(name)
	if id == "" {
		return nil, badly("the address names no run; choose one in the list of runs")
	}
	return s.source.Report(ctx, id)
}

func (s *Server) run(ctx context.Context, v url.Values) (served, error) {
	r, err := s.one(ctx, v, "id")
	if err != nil {
		return served{}, err
	}
	f := Frame("", "")
	f.Files = []html.Link{{To: Link(PathFile, "id", r.ID), Text: "This page as a file"}, {To: Link(PathReport, "id", r.ID), Text: "The report as JSON"}}
	return pageOf(func(w io.Writer) error { return f.Report(w, r) })
}

// report is a report as JSON.
func (s *Server) report(ctx context.Context, v url.Values) (served, error) {
	r, err := s.one(ctx, v, "id")
	if err != nil {
		return served{}, err
	}
	return written(r, "json", "application/json")
}

// written is a report in a format, as a file to save.
func written(r *takt.Report, name, kind string) (served, error) {
	f, _, err := format.Parse(name)
	if err != nil {
		return served{}, err // cannot happen: the table has the format
	}
	a, err := pageOf(func(w io.Writer) error { return format.Replay(f, w, r) })
	a.kind, a.file = kind, fileOf(r.ID, "."+name)
	return a, err
}

// file is the page of a report as a file, as takt show -o html writes it.
func (s *Server) file(ctx context.Context, v url.Values) (served, error) {
	r, err := s.one(ctx, v, "id")
	if err != nil {
		return served{}, err
	}
	return written(r, "html", kindHTML)
}

// plain matches what a file's name may have.
var plain = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func fileOf(id, extension string) string {
	name := plain.ReplaceAllString(id, "-")
	return "takt-" + name[:min(len(name), 64)] + extension
}

// compare shows two sides. Two chosen runs of the list are the parameter run: the older one is the base.
func (s *Server) compare(ctx context.Context, v url.Values) (served, error) {
	if chosen := v["run"]; len(chosen) > 0 {
		return s.chosen(ctx, chosen)
	}
	sides := map[string][]*takt.Report{}
	runs := map[string][]stored.Run{}
	for _, side := range []string{"base", "head"} {
		if n := len(v[side]); n == 0 || n > mostRuns {
			return served{}, badly("the %s has %d runs; choose two runs in the list, or give up to %d for each side", side, n, mostRuns)
		}
		for _, id := range v[side] {
			r, err := s.source.Report(ctx, id)
			if err != nil {
				return served{}, err
			}
			sides[side], runs[side] = append(sides[side], r), append(runs[side], stored.RunOf(r))
		}
	}
	c, err := verify.Compare(runs["base"], runs["head"], verify.DefaultOptions())
	if err == nil {
		c.Overlay, err = verify.Overlays(sides["base"], sides["head"])
	}
	if err != nil {
		return served{}, &usageError{err}
	}
	f := Frame("", "")
	for _, r := range append(sides["base"], sides["head"]...) {
		f.Files = append(f.Files, html.Link{To: Link(PathRun, "id", r.ID), Text: "Run " + r.ID})
	}
	swapped := url.Values{"base": v["head"], "head": v["base"]}
	f.Files = append(f.Files, html.Link{To: PathCompare + "?" + swapped.Encode(), Text: "Swap both sides"})
	return pageOf(func(w io.Writer) error { return f.Contrast(w, c, sides["base"], sides["head"]) })
}

// chosen leads from two chosen runs to their page.
func (s *Server) chosen(ctx context.Context, ids []string) (served, error) {
	if len(ids) != 2 || ids[0] == ids[1] {
		return served{}, badly("choose two runs to compare, not %d; takt compare compares groups of runs", len(ids))
	}
	var two [2]*takt.Report
	for i, id := range ids {
		var err error
		if two[i], err = s.source.Report(ctx, id); err != nil {
			return served{}, err
		}
	}
	base, head := two[0], two[1]
	if head.StartedAt.Before(base.StartedAt) {
		base, head = head, base
	}
	return redirect(Link(PathCompare, "base", base.ID, "head", head.ID)), nil
}

func (s *Server) history(ctx context.Context, v url.Values) (served, error) {
	filter := v.Get("q")
	filters, err := splitFilters(filter)
	var found history.History
	if err == nil {
		found, err = s.source.History(ctx, filters)
	}
	var unfit *history.UnfitError
	var none *history.NothingError
	switch {
	case errors.As(err, &unfit), errors.As(err, &none):
		n := Notice{Title: "History", Word: "no history", Tone: "warn", Text: err.Error(), Hint: "A history needs runs with the label revision; --git . of the load commands sets it:", Commands: []string{"takt http --git . --rate 100/s --duration 10s http://127.0.0.1:8080/"}}
		return pageOf(func(w io.Writer) error { return n.Write(w, Frame(PathHistory, filter)) })
	case err != nil:
		return s.unfiltered(PathHistory, filter, err)
	}
	return pageOf(func(w io.Writer) error { return Frame(PathHistory, filter).History(w, found) })
}

// live is the list of the runs that go on, or one of them.
func (s *Server) live(ctx context.Context, v url.Values) (served, error) {
	name := v.Get("id")
	if name == "" {
		list, err := s.source.Live()
		if err != nil {
			return served{}, err
		}
		return pageOf(func(w io.Writer) error { return Running(w, list) })
	}
	return s.calm.get(name, func() (served, error) { return s.going(ctx, name) })
}

// going is the page of a run in progress.
func (s *Server) going(ctx context.Context, name string) (served, error) {
	so, err := s.source.Watch(ctx, name)
	f := Frame("", "")
	f.Refresh = !so.Ended
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ended(name)
	case err != nil:
		return served{}, err
	case so.Ran == 0 && so.Ended:
		return served{}, refuse(http.StatusNotFound, "the process of the run %s ended before its first second was over; nothing of it is known", name)
	case so.Ran == 0:
		n := Notice{Title: "The run begins", Word: "running", Tone: "plain", Text: "Its first second is not over yet."}
		return pageOf(func(w io.Writer) error { return n.Write(w, f) })
	}
	return pageOf(func(w io.Writer) error { return f.Live(w, so.Report, so.Ran, so.Ended) })
}

// ended leads to the page of a run that has ended. It does not ask the store: a page of a run in progress
// must not wait for the store.
func ended(name string) (served, error) {
	id, err := url.PathUnescape(name)
	if err != nil {
		return served{}, badly("%q is not the name of a run; choose one in the list of runs", name)
	}
	return redirect(Link(PathRun, "id", id)), nil
}

// splitFilters splits the text of the form into filters. Spaces separate them, but not within quotes, as in
// a shell.
func splitFilters(text string) (words []string, err error) {
	var word strings.Builder
	quote, begun := rune(0), false
	for _, c := range text {
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	switch {
	case quote != 0:
		return nil, badly("the filters have an open quote %c; close it", quote)
	case begun:
		words = append(words, word.String())
	}
	return words, nil
}
