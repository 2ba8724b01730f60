// Package text writes the report of a run for people: as text and as Markdown.
package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Report writes the report for people, in colours if color.
func Report(w io.Writer, r *takt.Report, color bool) error {
	h, err := hist.Decode(r.Latency[Primary(r)].HDR)
	if err != nil {
		return err
	}
	p := &page.Page{Color: color}
	for _, section := range []func(*page.Page, *takt.Report){
		opening, Subject, totals, percentiles, comparisonText, stepsText, contrast, shares, parts,
		func(p *page.Page, r *takt.Report) { distribution(p, r, h) }, server, outages, failures, targets, shardLines, exports, footer, warnings, conclusion,
	} {
		section(p, r)
	}
	return p.Print(w)
}

// opening is the verdict: nobody should read figures that are not the target's before the
// report says so. An invalid run has all its warnings here.
func opening(p *page.Page, r *takt.Report) {
	colour, words := VerdictWords(r)
	if r.Verdict != takt.Invalid && len(r.Warnings) > 0 {
		words += " at the end"
	}
	for _, line := range page.Wrap(words, page.Width) {
		p.Linef("%s", p.Paint(colour, line))
	}
	if r.Verdict == takt.Invalid {
		ListWarnings(p, r)
		if r.Counts.OK == 0 {
			p.Linef("%s", p.Paint(page.Red, "NOT ONE OPERATION SUCCEEDED."))
		}
	}
	assertions(p, r)
	p.Linef("")
}

// VerdictWords are the verdict in one sentence, and its colour.
func VerdictWords(r *takt.Report) (colour, words string) {
	if r.Verdict == takt.Invalid {
		return page.Red, verdict.Headline(r.Warnings)
	}
	colour, words = page.Green, validRun(r)
	o := overload.Of(r)
	if len(r.Warnings) > 0 || o != nil {
		colour = page.Yellow
	}
	if o != nil {
		words += ": " + overload.Words(o)
	}
	if r.Counts.OK == 0 {
		colour, words = page.Red, words+", but nothing succeeded"
	}
	if len(r.Warnings) > 0 {
		words += ", with " + page.Plural(len(r.Warnings), "warning")
	}
	return colour, words
}

// validRun is a valid run in two words, or whose limit it shows.
func validRun(r *takt.Report) string {
	if overload.Of(r) != nil {
		return "valid run " + overload.Kind(r)
	}
	return "valid run"
}

func assertions(p *page.Page, r *takt.Report) {
	for _, a := range r.Assertions {
		colour := map[takt.Outcome]string{takt.Pass: page.Green, takt.Fail: page.Red}[a.Result]
		for i, line := range page.Wrap(page.Clean(a.String()), page.Width-len("PASS ")) {
			if i > 0 {
				line = "     " + line
			}
			p.Linef("%s", p.Paint(cmp.Or(colour, page.Yellow), line))
		}
	}
}

// conclusion repeats the verdict as the last line, since the first one scrolls off, with the
// failed or void assertions and the operations of a valid run.
func conclusion(p *page.Page, r *takt.Report) {
	colour, words := VerdictWords(r)
	if r.Verdict != takt.Invalid && overload.Of(r) != nil && r.Counts.OK > 0 {
		words = validRun(r) // the first line has the figures
	}
	all := page.Plural(len(r.Assertions), "assertion")
	switch outcome := assert.Outcome(r); {
	case r.Verdict == takt.Invalid:
	case outcome == takt.Fail:
		colour, words = page.Red, fmt.Sprintf("%s, %d of %s failed", validRun(r), with(r.Assertions, takt.Fail), all)
	case outcome == takt.Void && r.Counts.OK > 0:
		colour, words = page.Yellow, fmt.Sprintf("%s, %d of %s void", validRun(r), with(r.Assertions, takt.Void), all)
	}
	if r.Verdict != takt.Invalid {
		words += ": " + briefly(r.Counts)
	}
	p.Linef("")
	p.Linef("%s", p.Paint(colour, words))
}

// briefly is the account of the operations without what is 0.
func briefly(c takt.Counts) string {
	s := fmt.Sprintf("%d of %d ok", c.OK, c.Scheduled)
	for _, part := range []struct {
		n    uint64
		name string
	}{{c.Failed, "failed"}, {c.Dropped, "dropped"}, {c.Unfinished, "unfinished"}} {
		if part.n > 0 {
			s += fmt.Sprintf(", %d %s", part.n, part.name)
		}
	}
	return s
}

// with is the number of assertions with this result.
func with(list []takt.Assertion, result takt.Outcome) (n int) {
	for _, a := range list {
		if a.Result == result {
			n++
		}
	}
	return n
}

// ListWarnings adds the warnings, with their codes.
func ListWarnings(p *page.Page, r *takt.Report) {
	for _, w := range r.Warnings {
		p.Bullet("- ", page.Clean(w.Message)+" ["+page.Clean(string(w.Code))+"]")
	}
}

func warnings(p *page.Page, r *takt.Report) {
	if r.Verdict != takt.Invalid && len(r.Warnings) > 0 {
		p.Linef("")
		p.Linef("%s", p.Paint(page.Yellow, "warnings"))
		ListWarnings(p, r)
	}
}

// Subject says what was run against what.
func Subject(p *page.Page, r *takt.Report) {
	p.Item("target", strings.TrimSpace(page.Clean(r.Kind)+" "+Target(r)))
	command(p, r.Command)
	p.Item("started", r.StartedAt.UTC().Format(time.DateTime)+" UTC, "+measured(r))
	p.Item("shard", PartOf(r))
	p.Item("id", r.ID)
	var labels []string
	for _, key := range page.Sorted(r.Labels) {
		labels = append(labels, page.Clean(key+"="+r.Labels[key]))
	}
	p.Item("labels", strings.Join(labels, " "))
}

// measured is the length of the run.
func measured(r *takt.Report) string {
	s := page.Span(r.DurationS) + " measured"
	switch over := overAfter(r); {
	case r.DurationS == 0 && r.WarmupS > 0 && over > 0:
		return "over after " + page.Span(over) + " of " + page.Span(r.WarmupS) + " of warm-up"
	case over > 0 && over < mostOfRun*(r.WarmupS+r.DurationS):
		s = page.Span(r.DurationS) + " scheduled, over after " + page.Span(over)
		if r.WarmupS > 0 {
			s += " with " + page.Span(r.WarmupS) + " of warm-up"
		}
		return s
	}
	if r.WarmupS > 0 {
		s += " after " + page.Span(r.WarmupS) + " of warm-up"
	}
	return s
}

// mostOfRun is the part of a schedule after which a run counts as having lasted for all of it.
const mostOfRun = 0.9

// overAfter is when the run was over, in seconds since its start; 0: unknown.
func overAfter(r *takt.Report) float64 {
	if len(r.Intervals) == 0 {
		return 0
	}
	return r.Intervals[len(r.Intervals)-1].T
}

// PartOf names the part of the load that a report is of, and the variables that chose it; "": the
// whole.
func PartOf(r *takt.Report) string {
	switch s := r.Schedule; {
	case !takt.IsShard(s.Shard):
		return ""
	case s.ShardFrom == "":
		return page.Clean(s.Shard)
	default:
		return page.Clean(s.Shard) + " by " + page.Clean(s.ShardFrom)
	}
}

// Target is what the variables say about the other side. Drivers name it in
// words of their own; these are the ones in use.
func Target(r *takt.Report) string {
	text := func(key string) string { s, _ := r.Variables[key].(string); return s }
	words := []string{stored.Program(r.Variables), text("method"), text("host") + text("path")}
	for _, key := range []string{"apm_host", "brokers", "broker", "topic", "queue", "destination"} {
		if s := text(key); s != "" {
			words = append(words, strings.ReplaceAll(key, "_", " ")+" "+s)
		}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return page.Clean(strings.Join(words, " "))
}

// command prints it so that it can be pasted into a shell.
func command(p *page.Page, args []string) {
	var lines []string
	for _, arg := range args {
		arg = quote(page.Visible(arg))
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+arg) < page.Width-page.LabelWidth-len("   \\") {
			lines[last] += " " + arg
		} else {
			lines = append(lines, arg)
		}
	}
	for i := range lines {
		if i > 0 {
			lines[i] = "  " + lines[i]
		}
		if i < len(lines)-1 {
			lines[i] += " \\"
		}
	}
	p.Lines("command", lines)
}

// quote protects what a shell would take apart.
func quote(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \"'\\$`&|;<>()*?[]{}#~!") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
