package answer

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stored"
)

var historyTones = map[history.Word]part.Tone{history.Regressed: part.Bad, history.Inconclusive: part.Warn, history.OK: part.Good}

// History is the result of history.
func History(h history.History) *part.Document {
	d := &part.Document{Command: "history", Title: "history", Word: string(h.Verdict), Tone: historyTones[h.Verdict], Line: historyFound(h), More: historyCriteria(h), Notes: listed(historyNotes(h))}
	for i := range h.Groups {
		g := &h.Groups[i]
		one := part.Part{ID: fmt.Sprintf("group-%d", i+1), Title: historyTitle(g)}
		t := &part.Table{Caption: "Every metric of these runs.", Columns: []part.Column{
			{Title: "metric", Words: true}, {Title: "revisions"}, {Title: "first level"}, {Title: "newest level"}, {Title: "spread"}, {Title: "verdict", Words: true},
		}}
		all := part.Block{In: part.Markdown | part.HTML, Title: one.Title, Bold: true, Table: t}
		var charts []part.Block
		text := part.Block{In: part.Text, Title: one.Title, Plot: func(p *page.Page) {
			for k := range g.Series {
				historySeries(p, h, g, &g.Series[k])
			}
		}}
		for k := range g.Series {
			s := &g.Series[k]
			first, last := s.Points[0].Level, s.Points[len(s.Points)-1].Level
			t.Add(part.Words(s.Metric), part.Count(uint64(len(s.Points))), part.Words(page.Amount(s.Unit, first)), part.Words(page.Amount(s.Unit, last)), part.Words(relative(s, s.Noise.Spread)), part.Words(string(s.Verdict)))
			all.Below = append(all.Below, historySentences(h, g, s)...)
			charts = append(charts, part.Block{In: part.HTML, Drawing: SeriesChart{h, g, s}})
			if len(s.Changes) > 0 {
				charts = append(charts, part.Block{In: part.HTML, Table: changeTable(s)})
			}
		}
		one.Blocks = append([]part.Block{text, all}, charts...)
		d.Parts = append(d.Parts, one)
	}
	return d
}

// SeriesChart is a drawing of a series over the revisions of its group.
type SeriesChart struct {
	History history.History
	Group   *history.Group
	Series  *history.Series
}

// historySentences say what changed in a series, or what it cannot show. A page has them in a table.
func historySentences(h history.History, g *history.Group, s *history.Series) (list []part.Sentence) {
	add := func(text string) {
		list = append(list, part.Sentence{Text: text, Mark: "- ", In: part.Text | part.Markdown})
	}
	for _, c := range s.Changes {
		add(changeSentence(g, s, c))
	}
	if s.Verdict == history.Inconclusive {
		add(NeedSentence(h, s))
	}
	return list
}

// changeTable has the changes of a series.
func changeTable(s *history.Series) *part.Table {
	t := &part.Table{Caption: "The changes of " + page.Clean(s.Metric) + "."}
	for _, title := range []string{"revision", "date", "change", "95 % interval", "later than", "not later than", ""} {
		t.Columns = append(t.Columns, part.Column{Title: title, Words: true})
	}
	for _, c := range s.Changes {
		size, ends := changeSize(s, c)
		sign := "+"
		if c.Difference < 0 {
			sign = "−"
		}
		if ends == "" {
			ends = "none: too few revisions"
		}
		t.Add(part.Words(Revision(c.Revision)), part.Words(day(c.Date)), part.Words(sign+size), part.Words(strings.Trim(ends, " ()")), part.Words(Revision(c.After)), part.Words(Revision(c.Until)), part.Words(changeWord(c)))
	}
	return t
}

// historyFound says how many changes there are.
func historyFound(h history.History) string {
	open, all := 0, 0
	for _, g := range h.Groups {
		for _, s := range g.Series {
			all += len(s.Changes)
			for _, c := range s.Changes {
				if c.Open {
					open++
				}
			}
		}
	}
	switch {
	case open > 0:
		return page.Plural(open, "open change") + " for the worse"
	case all > 0:
		return page.Plural(all, "change") + ", none of them open"
	}
	return "no change"
}

// historyCriteria says what counts as a change.
func historyCriteria(h history.History) string {
	return fmt.Sprintf("tolerance %s %%, errors %s points, confidence %s %%", page.Short(h.Tolerance*100), page.Short(h.ErrorTolerance), atLeast(h.Confidence))
}

// historyTitle names a group: its settings, and how many revisions it has.
func historyTitle(g *history.Group) string {
	parts := settings(g.Kind, g.Same)
	first, last := g.Revisions[0].Date, g.Revisions[len(g.Revisions)-1].Date
	when := day(first) + " to " + day(last)
	if day(first) == day(last) {
		when = day(first)
	}
	parts = append(parts, fmt.Sprintf("%s in %s, %s", page.Plural(len(g.Revisions), "revision"), page.Plural(g.Runs, "run"), when))
	return page.Clean(strings.Join(parts, ", "))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// historySeries writes a series: its level with its curve on one line, then its changes, with a larger
// curve, and what it cannot show.
func historySeries(p *page.Page, h history.History, g *history.Group, s *history.Series) {
	first := s.Points[0].Level
	last := s.Points[len(s.Points)-1].Level
	levels := page.Amount(s.Unit, last) + ","
	if len(s.Changes) > 0 {
		levels = page.Amount(s.Unit, first) + " → " + levels
	}
	p.Linef("")
	word := p.Paint(historyTones[s.Verdict].Colour(), page.Left(string(s.Verdict), 12))
	rest := page.Wrap(joined(levels)+" "+spreadText(h, s), page.Width-25)
	p.Linef("%s %s  %s", page.Left(page.Clean(s.Metric), 10), word, rest[0])
	for _, line := range rest[1:] {
		p.Linef("%25s%s", "", line)
	}
	if len(s.Changes) > 0 {
		for _, line := range historyPlot(s) {
			p.Linef("%s", line)
		}
	} else {
		p.Linef("           %s", sparkline(s))
	}
	for _, one := range historySentences(h, g, s) {
		p.Bullet("", one.String())
	}
}

// spreadText is the noise of a series, and how soon a change shows in it.
func spreadText(h history.History, s *history.Series) string {
	t := "spread " + joined(relative(s, s.Noise.Spread))
	if s.Noise.Outliers > 0 {
		t += ", " + page.Plural(s.Noise.Outliers, "outlier")
	}
	if s.Noise.Delay > 0 && s.Verdict != history.Inconclusive {
		t += "; " + joined(fmt.Sprintf("%s shows after %d", relative(s, detectable(h, s)), s.Noise.Delay))
	}
	return t
}

// joined is a text that no line break divides.
func joined(s string) string { return strings.ReplaceAll(s, " ", page.NoBreak) }

// relative writes a size of a change: in per cent, or in percentage points.
func relative(s *history.Series, v float64) string {
	if s.Absolute {
		return page.Short(v) + " points"
	}
	return percentText(v) + " %"
}

// percentText writes a ratio in per cent: with one decimal below 10 %.
func percentText(v float64) string {
	v *= 100
	if math.Abs(v) < 9.95 {
		return page.TrimZeros(fmt.Sprintf("%.1f", v))
	}
	return fmt.Sprintf("%.0f", v)
}

// changeSentence says what changed, by how much, when, and what became of it.
func changeSentence(g *history.Group, s *history.Series, c history.Change) string {
	verb := "rose"
	if c.Difference < 0 {
		verb = "fell"
	}
	size, ends := changeSize(s, c)
	r := g.Revisions[c.At]
	text := fmt.Sprintf("%s %s by %s%s at %s (%s), ", s.Metric, verb, size, ends, stored.ShortRevision(r.Name), day(r.Date))
	if c.To-c.From == 1 {
		text += "the revision after " + stored.ShortRevision(c.After)
	} else {
		text += fmt.Sprintf("between %s and %s", stored.ShortRevision(c.After), stored.ShortRevision(c.Until))
	}
	return page.Clean(text + ": " + changeWord(c))
}

// changeWord says what a change means for the verdict.
func changeWord(c history.Change) string {
	switch {
	case c.Open:
		return "worse, open"
	case c.Accepted:
		return "worse, accepted"
	case c.Worse:
		return "worse, taken back later"
	}
	return "better"
}

// changeSize writes the size of a change without its sign, and the ends of its interval.
func changeSize(s *history.Series, c history.Change) (size, ends string) {
	sign := 1.0
	if c.Difference < 0 {
		sign = -1
	}
	size = relative(s, sign*c.Difference)
	if c.Low == nil || c.High == nil {
		return size, ""
	}
	low, high := *c.Low*sign, *c.High*sign
	if sign < 0 {
		low, high = high, low
	}
	if s.Absolute {
		return size, fmt.Sprintf(" (%s … %s points)", page.TrimZeros(fmt.Sprintf("%.3g", low)), page.TrimZeros(fmt.Sprintf("%.3g", high)))
	}
	return size, fmt.Sprintf(" (%s … %s %%)", percentText(low), percentText(high))
}

// NeedSentence says why a series is inconclusive, and what it lacks.
func NeedSentence(h history.History, s *history.Series) string {
	size, metric, n := relative(s, detectable(h, s)), page.Clean(s.Metric), page.Plural(len(s.Points), "revision")
	more := fmt.Sprintf("about %d more are needed", s.Noise.Missing)
	switch {
	case s.Noise.Missing > manyMore:
		more = fmt.Sprintf("more than %d more are needed, so make its runs longer or the machine quieter", manyMore)
	case s.Noise.Missing == 1:
		more = "about 1 more is needed"
	}
	if s.Noise.Spread > 0 && s.Noise.Needed > shortHistory {
		return fmt.Sprintf("%s is too noisy to show a change of %s with %s; %s", metric, size, n, more)
	}
	verb := "are"
	if len(s.Points) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s %s too few to show %s in %s; %s", n, verb, size, metric, more)
}

const (
	shortHistory = 12   // revisions that even a quiet series needs
	manyMore     = 1000 // missing revisions above which the number does not matter
)

// detectable is the size of change to detect, in the unit of differences of the series.
func detectable(h history.History, s *history.Series) float64 {
	if s.Absolute {
		return h.ErrorTolerance * h.Detect / h.Tolerance
	}
	return h.Detect
}

// historyNotes say what the series do not show.
func historyNotes(h history.History) (notes []string) {
	for _, s := range h.Advice {
		notes = append(notes, page.Clean(s))
	}
	if h.Unfit > 0 {
		notes = append(notes, fmt.Sprintf("left out: %s, invalid, cut short, or shards", page.Plural(h.Unfit, "run")))
	}
	if h.Without > 0 {
		notes = append(notes, fmt.Sprintf("left out: %s without a label revision", page.Plural(h.Without, "run")))
	}
	if h.Hidden > 0 {
		notes = append(notes, fmt.Sprintf("not judged: %s with older runs; add filters", page.Plural(h.Hidden, "more group")))
	}
	older := 0
	skipped := map[string]int{}
	for _, g := range h.Groups {
		older += g.Older
		for _, s := range g.Series {
			skipped[s.Metric] += s.Skipped
		}
	}
	if older > 0 {
		notes = append(notes, fmt.Sprintf("left out: %s older than the newest of their group; choose fewer with -n", page.Plural(older, "revision")))
	}
	for _, metric := range page.Sorted(skipped) {
		if skipped[metric] > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s without a value that can be judged, or with more than 1 %% errors", page.Clean(metric), page.Plural(skipped[metric], "run")))
		}
	}
	for _, s := range next(h) {
		notes = append(notes, page.Clean(s))
	}
	return notes
}

// next says how to confirm the first open change, and how to accept it.
func next(h history.History) (list []string) {
	for _, g := range h.Groups {
		for _, s := range g.Series {
			for _, c := range s.Changes {
				if c.Open {
					return []string{confirm(c) + "; --accept " + pasteable(c.Revision) + " accepts the change, and exit code 4 ends"}
				}
			}
		}
	}
	return nil
}

// confirm is the command that compares the commits beside a change. A revision is anybody's text, so only a hash
// is written into a command.
func confirm(c history.Change) string {
	from, to := stored.ShortRevision(c.After), stored.ShortRevision(c.Until)
	if !isHash(from) || !isHash(to) {
		return "to confirm the change, compare the revisions beside it with takt verify"
	}
	command := fmt.Sprintf("takt verify --git %s..%s", from, to)
	if c.To-c.From > 1 {
		return "to find the commit, run " + command + " --bisect"
	}
	return "to confirm the change, run " + command
}

// isHash reports whether a name is a hash, or the start of one, and nothing else.
func isHash(s string) bool { return stored.BeginsHash(s) && !strings.Contains(s, "-") }

// pasteable is a revision as a word of a command: its name, if a shell reads it as one word.
func pasteable(name string) string {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._/+-"
	if strings.Trim(name, plain) != "" || strings.HasPrefix(name, "-") {
		return "REVISION"
	}
	return stored.ShortRevision(name)
}
