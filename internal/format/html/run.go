package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Report writes the page of a report of any kind.
func Report(w io.Writer, r *takt.Report) error { return (*Frame)(nil).Report(w, r) }

// Report writes the page of a report of any kind.
func (f *Frame) Report(w io.Writer, r *takt.Report) error {
	if r.Kind == capacity.Kind {
		return f.writeCapacity(w, r)
	}
	d, err := runPage(r)
	if err != nil {
		return err
	}
	d.Frame = f
	return d.writeRun(w, r)
}

// runPage is the page of a run.
func runPage(r *takt.Report) (*document, error) {
	s, err := seriesOf(r)
	if err != nil {
		return nil, err
	}
	var markdown bytes.Buffer
	if err := text.Markdown(&markdown, r); err != nil {
		return nil, err
	}
	d := heading(r)
	d.Markdown = markdown.String()
	d.Verdict, d.Headline = verdictOf(r)
	d.Notes = warningsOf(r)
	for _, a := range r.Assertions {
		d.Checks = append(d.Checks, check{strings.ToUpper(string(a.Result)), tones[a.Result], page.Clean(a.Expression), page.Clean(a.Reason)})
	}
	d.Cards = cards(r)
	percentiles, err := percentilesOf(r)
	if err != nil {
		return nil, err
	}
	d.Sections = slices.Concat(overTime(r, s), percentiles, contrast(r), replayed(r), causes(r), shards(r), outages(r), failures(r), account(r), about(r))
	return d, nil
}

func warningsOf(r *takt.Report) (list []string) {
	for _, w := range r.Warnings {
		list = append(list, page.Clean(w.Message)+" ["+page.Clean(string(w.Code))+"]")
	}
	return list
}

var tones = map[takt.Outcome]string{takt.Pass: "good", takt.Fail: "bad", takt.Void: "warn"}

// heading has what every page of a report begins and ends with.
func heading(r *takt.Report) *document {
	title := strings.TrimSpace(page.Clean(r.Kind) + " " + text.Target(r))
	d := &document{Title: title, Tool: page.Clean(strings.TrimSpace(r.Tool.Name + " " + r.Tool.Version))}
	d.Subtitle = []string{r.StartedAt.UTC().Format(time.DateTime) + " UTC", text.FactsOf(r).Measured}
	if shard := text.PartOf(r); shard != "" {
		d.Subtitle = append(d.Subtitle, "shard "+shard)
	}
	return d
}

// verdictOf is the verdict as a word and as a sentence.
func verdictOf(r *takt.Report) (verdictWord, string) {
	_, words := text.VerdictWords(r)
	switch {
	case r.Verdict == takt.Invalid:
		if r.Counts.OK == 0 {
			words += " Not one operation succeeded."
		}
		return verdictWord{"invalid", "bad"}, words
	case r.Counts.OK == 0:
		return verdictWord{"failed", "bad"}, words
	case overload.Of(r) != nil:
		return verdictWord{"overloaded", "warn"}, overload.Sentence(r)
	case len(text.OwnOf(r)) > 0:
		return verdictWord{"valid", "warn"}, "The generator was not the bottleneck, but some figures are its own lateness."
	case len(r.Warnings) > 0:
		return verdictWord{"valid", "warn"}, "The figures are those of the target, with " + page.Plural(len(r.Warnings), "warning") + "."
	}
	return verdictWord{"valid", "good"}, "The generator was not the bottleneck: the figures are those of the target."
}

// cards are the key figures.
func cards(r *takt.Report) (list []card) {
	name := text.Primary(r)
	l, service, own := r.Latency[name], r.Latency[takt.LatencyService], text.OwnOf(r)
	beside := func(statistic string, v float64) string {
		if note := own.Note(statistic); note != "" {
			return note
		}
		if name == takt.LatencyResponse && service.Count > 0 {
			return "service " + figure.Micros(v)
		}
		return ""
	}
	if l.Count > 0 {
		words := page.Words(name)
		list = append(list, card{words + " p50", figure.Micros(l.P50), beside("p50", service.P50)}, card{words + " p99", figure.Micros(l.P99), beside("p99", service.P99)})
		list = append(list, card{words + " max", figure.Micros(l.Max), beside("max", service.Max)})
	}
	rate := card{"achieved", page.Rate(page.Round3(r.Rate.Achieved)), "closed loop"}
	switch {
	case r.Rate.Intended != nil:
		rate.Note = "of " + page.Rate(page.Round3(text.Intended(r))) + " intended"
	case r.Latency[takt.LatencyResponse].Count == 0:
		rate.Note = "received"
	}
	c := r.Counts
	bad := c.Failed + c.Dropped + c.Unfinished
	errors := card{"not ok", page.Percent(float64(bad), float64(c.Scheduled)), page.Count(bad) + " of " + page.Count(c.Scheduled)}
	return append(list, rate, errors)
}

// percentilesOf is the section with the spectrum and the table of percentiles.
func percentilesOf(r *takt.Report) ([]section, error) {
	names := text.Columns(r)
	if len(names) == 0 {
		return nil, nil
	}
	classes := map[string]string{takt.LatencyService: "service", takt.LatencyResponseOK: "third"}
	var curves []curve
	for _, name := range names {
		h, err := hist.Decode(r.Latency[name].HDR)
		if err != nil {
			return nil, err
		}
		class := classes[name]
		if class == "" {
			class = "response"
		}
		curves = append(curves, curve{page.Words(name) + " time", class, h})
	}
	blocks := []block{spectrum(curves), {Table: latencyTable(r, names)}}
	if parts := text.Parts(r); len(parts) > 0 {
		blocks = append(blocks, block{Fold: "Parts of the time", Table: partTable(r, parts)})
	}
	s := section{ID: "percentiles", Title: "Percentiles", Class: "beside", Blocks: blocks}
	if n := r.Counts.Dropped; n > 0 {
		s.Lead = "Truncated: " + page.Count(n) + " dropped operations are in no percentile."
	}
	return []section{s}, nil
}

func latencyTable(r *takt.Report, names []string) *table {
	t := &table{Caption: "Percentiles come from histograms of all operations.", Head: []string{"latency"}, Words: 1}
	count := []string{"count"}
	for _, name := range names {
		t.Head, count = append(t.Head, page.Words(name)), append(count, page.Count(r.Latency[name].Count))
	}
	t.Rows = append(t.Rows, count)
	own := text.OwnOf(r)
	if len(own) > 0 {
		t.Caption += " " + own.String() + "."
	}
	statistics, values := text.Statistics()
	for i, statistic := range statistics {
		row := []string{statistic}
		for column, name := range names {
			row = append(row, figure.Micros(values[i](r.Latency[name]))+own.Mark(column, statistic))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func partTable(r *takt.Report, names []string) *table {
	t := &table{Caption: "Components of the response time, and the generator's lateness.", Head: []string{"part", "count", "p50", "p99", "max", "meaning"}, Words: 1, Tail: 1}
	for _, name := range names {
		l := r.Latency[name]
		t.Rows = append(t.Rows, []string{page.Words(name), page.Count(l.Count), figure.Micros(l.P50), figure.Micros(l.P99), figure.Micros(l.Max), text.Meaning(name)})
	}
	return t
}

// capital begins a heading.
func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// bars draws shares as one horizontal bar.
func bars(shares []float64, classes []string, label string) block {
	d := newDrawing(28)
	from := 0.0
	for i, share := range shares {
		if share > 0 {
			d.area(from, from+share, 0, 1, classes[i])
		}
		from += share
	}
	return block{Picture: d.svgOf("plot bar", label, "")}
}

// causes is the section on where the time went.
func causes(r *takt.Report) []section {
	list, from := text.Causes(r)
	if list == nil {
		return nil
	}
	t := &table{Caption: "Response time by cause.", Head: []string{"cause", "all", "above " + figure.Micros(from), "what it is"}, Words: 1, Tail: 1}
	classes := []string{"share-1", "share-2", "share-3", "share-4", "share-bad", "share-bad", "share-bad"}
	var all, slowest []float64
	for _, c := range list {
		all, slowest = append(all, c.All), append(slowest, c.Slowest)
		if c.All >= 0.0005 || c.Slowest >= 0.0005 {
			t.Rows = append(t.Rows, []string{c.Name, page.Percent(c.All, 1), page.Percent(c.Slowest, 1), c.Meaning})
		}
	}
	first := bars(all, classes, "response time of all operations by cause; the table has the shares")
	first.Title = "All operations"
	second := bars(slowest, classes, "response time of the slowest operations by cause; the table has the shares")
	second.Title = "The slowest, above " + figure.Micros(from)
	second.Legend = []legend{{"share-1", "target"}, {"share-2", "network"}, {"share-3", "queue"}, {"share-4", "input"}, {"share-bad", "takt and its host"}}
	return []section{{ID: "causes", Title: "Where the time went", Blocks: []block{first, second, {Table: t}}}}
}

// failures is the section on errors and result codes.
func failures(r *takt.Report) []section {
	if len(r.Errors)+len(r.Status) == 0 {
		return nil
	}
	s := section{ID: "errors", Title: "Errors and result codes"}
	if len(r.Errors) > 0 {
		ended := float64(r.Counts.OK + r.Counts.Failed + r.Counts.Unfinished)
		t := &table{Caption: "Errors by class, with the first message and the first body.", Head: []string{"class", "first message", "count", "share"}, Words: 2}
		for _, e := range r.Errors {
			sample := page.Clean(e.Sample)
			if body := page.Clean(e.Body); body != "" {
				sample = strings.TrimPrefix(sample+" · body: "+body, " · ")
			}
			t.Rows = append(t.Rows, []string{page.Clean(e.Class), sample, page.Count(e.Count), page.Percent(float64(e.Count), ended)})
		}
		s.Blocks = append(s.Blocks, block{Table: t})
	} else {
		s.Lead = "No operation failed."
	}
	if len(r.Status) > 0 {
		t := &table{Caption: "Result codes.", Head: []string{"code", "count"}, Words: 1}
		for _, code := range text.Codes(r) {
			t.Rows = append(t.Rows, []string{page.Clean(code), page.Count(r.Status[code])})
		}
		s.Blocks = append(s.Blocks, block{Table: t})
	}
	return []section{s}
}

// account is the section with the accounting of all operations.
func account(r *takt.Report) []section {
	c := r.Counts
	if c.Scheduled == 0 {
		return nil
	}
	share := func(n uint64) float64 { return float64(n) / float64(c.Scheduled) }
	bar := bars([]float64{share(c.OK), share(c.Failed), share(c.Dropped), share(c.Unfinished)}, []string{"share-1", "share-bad", "share-3", "share-4"}, text.FactsOf(r).Accounting)
	bar.Legend = []legend{{"share-1", page.Count(c.OK) + " ok"}, {"share-bad", page.Count(c.Failed) + " failed"}, {"share-3", page.Count(c.Dropped) + " dropped"}, {"share-4", page.Count(c.Unfinished) + " unfinished"}}
	f := text.FactsOf(r)
	return []section{{ID: "account", Title: "Accounting", Lead: f.Accounting + ".", Blocks: []block{bar, {Facts: facts("rate", f.Rate, "broker", f.Broker, "bytes", f.Bytes)}}}}
}

// facts are pairs of a name and a text, without empty texts.
func facts(words ...string) (list []fact) {
	for i := 0; i+1 < len(words); i += 2 {
		if words[i+1] != "" {
			list = append(list, fact{words[i], words[i+1]})
		}
	}
	return list
}

// about is the section on how the run was made.
func about(r *takt.Report) []section {
	f := text.FactsOf(r)
	if r.Kind == capacity.Kind {
		f.Extra = "" // the page shows it
	}
	list := facts("generator", f.Generator, "host class", page.Clean(r.Generator.HostClass), "extra", f.Extra)
	if floor := r.Generator.NoiseFloorUS; floor > 0 {
		list = append(list, fact{"noise floor", figure.Micros(floor)})
	}
	var labels []string
	for _, key := range page.Sorted(r.Labels) {
		labels = append(labels, page.Clean(key+"="+r.Labels[key]))
	}
	list = append(list, facts("labels", strings.Join(labels, " "), "id", page.Clean(r.ID), "comparability key", page.Clean(r.ComparabilityKey), "takt", page.Clean(r.Tool.Version+" "+r.Tool.Go))...)
	s := section{ID: "about", Title: "The run", Blocks: []block{{Title: "Command", Pre: f.Command}, {Facts: list}}}
	if len(r.Variables) > 0 {
		t := &table{Caption: "The settings that shape the load or the target.", Head: []string{"variable", "value"}, Words: 2}
		for _, key := range page.Sorted(r.Variables) {
			t.Rows = append(t.Rows, []string{page.Clean(key), page.Clean(fmt.Sprint(r.Variables[key]))})
		}
		s.Blocks = append(s.Blocks, block{Fold: "Variables", Table: t})
	}
	if own := ownSection(r); own != "" {
		s.Blocks = append(s.Blocks, block{Fold: "The driver's own section, as JSON", Pre: own})
	}
	return []section{s}
}

// longestOwn is the size of a driver's own section in bytes up to which the page shows it.
const longestOwn = 20_000

// ownSection is the driver's own section; "": the page shows all of it elsewhere, or it is too long.
func ownSection(r *takt.Report) string {
	nested := false
	for _, v := range r.Extra {
		switch v.(type) {
		case map[string]any, []any:
			nested = true
		}
	}
	if !nested || r.Kind == capacity.Kind {
		return ""
	}
	own, err := json.MarshalIndent(r.Extra, "", "  ")
	if err != nil || len(own) > longestOwn {
		return ""
	}
	return string(own)
}
