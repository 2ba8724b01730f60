package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

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
		part.WriteText(p, part.Part{Blocks: []part.Block{{Close: true, Below: WarningSentences(r)}}})
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
	o := overload.Of(r)
	colour, words = page.Green, validRun(r, o)
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

// validRun is a valid run in two words, or, with an overload, whose limit it shows.
func validRun(r *takt.Report, o *takt.Overload) string {
	if o != nil {
		return "valid run " + overload.Kind(r)
	}
	return "valid run"
}

// Headline is the verdict as a word and as a sentence, for a page.
func Headline(r *takt.Report) (word string, tone part.Tone, sentence string) {
	_, words := VerdictWords(r)
	switch {
	case r.Verdict == takt.Invalid:
		if r.Counts.OK == 0 {
			words += " Not one operation succeeded."
		}
		return "invalid", part.Bad, words
	case r.Counts.OK == 0:
		return "failed", part.Bad, words
	case overload.Of(r) != nil:
		return "overloaded", part.Warn, overload.Sentence(r)
	case len(ownOf(r)) > 0:
		return "valid", part.Warn, "The generator was not the bottleneck, but some figures are its own lateness."
	case len(r.Warnings) > 0:
		return "valid", part.Warn, "The figures are those of the target, with " + page.Plural(len(r.Warnings), "warning") + "."
	}
	return "valid", part.Good, "The generator was not the bottleneck: the figures are those of the target."
}

// Doubtful reports whether the run meets an assertion, and does not prove it.
func Doubtful(a *takt.Assertion) bool {
	return a.Result == takt.Pass && a.Proof != nil && !a.Proof.Proven
}

func assertions(p *page.Page, r *takt.Report) {
	for _, a := range r.Assertions {
		colour := map[takt.Outcome]string{takt.Pass: page.Green, takt.Fail: page.Red}[a.Result]
		if Doubtful(&a) {
			colour = page.Yellow
		}
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
	o := overload.Of(r)
	if r.Verdict != takt.Invalid && o != nil && r.Counts.OK > 0 {
		words = validRun(r, o) // the first line has the figures
	}
	all := page.Plural(len(r.Assertions), "assertion")
	switch outcome := assert.Outcome(r); {
	case r.Verdict == takt.Invalid:
	case outcome == takt.Fail:
		colour, words = page.Red, fmt.Sprintf("%s, %d of %s failed", validRun(r, o), with(r.Assertions, takt.Fail), all)
	case outcome == takt.Void && r.Counts.OK > 0:
		colour, words = page.Yellow, fmt.Sprintf("%s, %d of %s void", validRun(r, o), with(r.Assertions, takt.Void), all)
	case outcome == takt.Unproven:
		colour, words = page.Yellow, fmt.Sprintf("%s, %d of %s not proven", validRun(r, o), with(r.Assertions, takt.Unproven), all)
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

// WarningSentences are the warnings, with their codes.
func WarningSentences(r *takt.Report) (list []part.Sentence) {
	for _, w := range r.Warnings {
		list = append(list, part.Sentence{Text: w.Message, Code: string(w.Code), Mark: "- "})
	}
	return list
}

// Warnings are the warnings after the figures. The text of an invalid run has them before the figures, and a
// page always.
func Warnings(r *takt.Report) (one part.Part) {
	if len(r.Warnings) == 0 {
		return one
	}
	if r.Verdict != takt.Invalid {
		one.Blocks = append(one.Blocks, part.Block{In: part.Text, Title: "warnings", Tone: part.Warn, Below: WarningSentences(r)})
	}
	one.Blocks = append(one.Blocks, part.Block{In: part.Markdown, Title: "Warnings", Bold: true, Below: WarningSentences(r)})
	return one
}

func markdownVerdict(b *strings.Builder, r *takt.Report) {
	word, but := "valid", ""
	switch {
	case r.Verdict == takt.Invalid:
		word = "invalid"
	case r.Counts.OK == 0:
		but = ", but nothing succeeded"
	}
	fmt.Fprintf(b, "### takt: %s run of %s%s\n\n", word, page.CodeSpan(Title(r)), but)
	if s := overload.Sentence(r); s != "" {
		fmt.Fprintf(b, "**%s**\n\n", page.Escape(s))
	}
	if r.Verdict == takt.Invalid {
		fmt.Fprintf(b, "**%s** The warnings say how.\n\n", verdict.Sentence(r.Warnings))
		if r.Counts.OK == 0 {
			b.WriteString("**Not one operation succeeded.**\n\n")
		}
	}
}

// assertionTable comes before the figures in Markdown, because a CI job depends on it.
func assertionTable(r *takt.Report) (one part.Part) {
	if len(r.Assertions) == 0 {
		return one
	}
	t := &part.Table{Columns: []part.Column{{Title: "assertion", Words: true}, {Title: "result", Words: true}, {Words: true}}}
	for _, a := range r.Assertions {
		result := part.Words(strings.ToUpper(string(a.Result)))
		result.Strong = true
		t.Add(part.Quoted(a.Expression), result, part.Words(a.Reason))
	}
	one.Blocks = []part.Block{{In: part.Markdown, Table: t}}
	return one
}
