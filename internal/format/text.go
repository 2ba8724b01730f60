package format

import (
	"cmp"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Report writes the report for people, in colours if color.
func Report(w io.Writer, r *takt.Report, color bool) error {
	p := &page{color: color}
	for _, section := range []func(*page, *takt.Report) error{
		opening, subject, totals, percentiles, comparisonText, contrast, shares, parts, distribution, failures, targets, footer, warnings, conclusion,
	} {
		if err := section(p, r); err != nil {
			return err
		}
	}
	return p.writeTo(w)
}

// opening is the verdict: nobody should read figures that are not the target's before the
// report says so. An invalid run has all its warnings here.
func opening(p *page, r *takt.Report) error {
	colour, words := verdictWords(r)
	if r.Verdict != takt.Invalid && len(r.Warnings) > 0 {
		words += " at the end"
	}
	p.linef("%s", p.paint(colour, words))
	if r.Verdict == takt.Invalid {
		doubts(p, r)
		if r.Counts.OK == 0 {
			p.linef("%s", p.paint(red, "NOT ONE OPERATION SUCCEEDED."))
		}
	}
	assertions(p, r)
	p.linef("")
	return nil
}

// verdictWords are the verdict in one sentence, and its colour.
func verdictWords(r *takt.Report) (colour, words string) {
	if r.Verdict == takt.Invalid {
		return red, verdict.Headline(r.Warnings)
	}
	colour, words = green, "valid run"
	if len(r.Warnings) > 0 {
		colour = yellow
	}
	if r.Counts.OK == 0 {
		colour, words = red, words+", but nothing succeeded"
	}
	if len(r.Warnings) > 0 {
		words += ", with " + plural(len(r.Warnings), "warning")
	}
	return colour, words
}

func assertions(p *page, r *takt.Report) {
	for _, a := range r.Assertions {
		colour := map[takt.Outcome]string{takt.Pass: green, takt.Fail: red}[a.Result]
		for i, line := range wrap(clean(a.String()), pageWidth-len("PASS ")) {
			if i > 0 {
				line = "     " + line
			}
			p.linef("%s", p.paint(cmp.Or(colour, yellow), line))
		}
	}
}

// conclusion repeats the verdict as the last line, since the first one scrolls off.
func conclusion(p *page, r *takt.Report) error {
	colour, words := verdictWords(r)
	p.linef("")
	p.linef("%s", p.paint(colour, words))
	return nil
}

func doubts(p *page, r *takt.Report) {
	for _, w := range r.Warnings {
		p.bullet("- ", clean(w.Message)+" ["+clean(w.Code)+"]")
	}
}

func warnings(p *page, r *takt.Report) error {
	if r.Verdict != takt.Invalid && len(r.Warnings) > 0 {
		p.linef("")
		p.linef("%s", p.paint(yellow, "warnings"))
		doubts(p, r)
	}
	return nil
}

// subject says what was run against what.
func subject(p *page, r *takt.Report) error {
	p.item("target", strings.TrimSpace(clean(r.Kind)+" "+target(r)))
	command(p, r.Command)
	when := r.StartedAt.UTC().Format(time.DateTime) + " UTC, " + span(r.DurationS) + " measured"
	if r.WarmupS > 0 {
		when += " after " + span(r.WarmupS) + " of warm-up"
	}
	p.item("started", when)
	p.item("id", r.ID)
	var labels []string
	for _, key := range sorted(r.Labels) {
		labels = append(labels, clean(key+"="+r.Labels[key]))
	}
	p.item("labels", strings.Join(labels, " "))
	return nil
}

// target is what the variables say about the other side. Drivers name it in
// words of their own; these are the ones in use.
func target(r *takt.Report) string {
	text := func(key string) string { s, _ := r.Variables[key].(string); return s }
	words := []string{text("method"), text("host") + text("path")}
	for _, key := range []string{"apm_host", "brokers", "broker", "topic", "queue", "destination"} {
		if s := text(key); s != "" {
			words = append(words, strings.ReplaceAll(key, "_", " ")+" "+s)
		}
	}
	return clean(strings.Join(words, " "))
}

// command prints it so that it can be pasted into a shell.
func command(p *page, args []string) {
	var lines []string
	for _, arg := range args {
		arg = quote(visible(arg))
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+arg) < pageWidth-labelWidth-len("   \\") {
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
	p.lines("command", lines)
}

// quote protects what a shell would take apart.
func quote(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \"'\\$`&|;<>()*?[]{}#~!") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
