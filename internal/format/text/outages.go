package text

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// outages writes the times in which the target did not do its work, and what --fault did.
func outages(p *page.Page, r *takt.Report) {
	if len(r.Outages) > 0 {
		p.Linef("")
		p.Linef("%s", p.Paint(page.Bold, "outages"))
		table := append([][]string{OutageHead()}, OutageRows(r)...)
		page.Align(table, func(int) bool { return true })
		p.Linef("  %s", strings.Join(table[0], "  "))
		for i, cells := range table[1:] {
			p.Linef("  %s", strings.Join(cells, "  "))
			p.Bullet("    ", OutageCause(&r.Outages[i]))
		}
	}
	if len(r.Faults) > 0 {
		p.Linef("")
		p.Linef("%s", p.Paint(page.Bold, "faults"))
		for i := range r.Faults {
			p.Bullet("  ", faultLine(&r.Faults[i]))
		}
	}
}

// OutageHead and OutageRows are the table of the outages.
func OutageHead() []string {
	return []string{"from", "to", "first success", "failed", "retried", "lost", "doubled", "out of order"}
}

// OutageRows has a row for each outage.
func OutageRows(r *takt.Report) (rows [][]string) {
	for i := range r.Outages {
		o := &r.Outages[i]
		to, first := "the end", "none"
		if o.To != nil {
			to = tenths(*o.To)
		}
		if o.FirstSuccess != nil {
			first = "after " + tenths(*o.FirstSuccess)
		}
		rows = append(rows, []string{
			tenths(o.From), to, first, page.Count(o.Failed), page.Count(o.Retried), maybe(o.Lost), maybe(o.Doubled), maybe(o.Reordered),
		})
	}
	return rows
}

// OutageCause says what was out, and the first error.
func OutageCause(o *takt.Outage) string {
	more := ""
	if o.Parts > 1 {
		more = fmt.Sprintf(" and %d more", o.Parts-1)
	}
	return page.Clean(o.First) + more + ": " + page.Clean(o.Cause)
}

// tenths writes seconds of an outage: to the millisecond below a second.
func tenths(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.3fs", s)
	}
	return fmt.Sprintf("%.1fs", s)
}

// maybe writes a count; a dash: nobody counted.
func maybe(n *uint64) string {
	if n == nil {
		return "–"
	}
	return page.Count(*n)
}

func faultLine(f *takt.Fault) string {
	return FaultTime(f) + ", " + FaultEnd(f) + ": " + page.Clean(f.Command) + FaultOutput(f)
}

// FaultTime is when a command ran.
func FaultTime(f *takt.Fault) string {
	if f.To == nil {
		return "at " + tenths(f.From)
	}
	return "from " + tenths(f.From) + " to " + tenths(*f.To)
}

// FaultEnd is how a command ended.
func FaultEnd(f *takt.Fault) string {
	switch {
	case f.ExitCode == nil:
		return "did not start"
	case f.Stopped:
		return "ended by takt"
	case *f.ExitCode < 0:
		return "ended by a signal"
	}
	return fmt.Sprintf("exit code %d", *f.ExitCode)
}

// maxOutput is the largest part of a command's output shown, in runes.
const maxOutput = 140

// FaultOutput is the output of a command; "": it wrote nothing.
func FaultOutput(f *takt.Fault) string {
	if s := page.Cut(page.Clean(f.Output), maxOutput); s != "" {
		return "; " + s
	}
	return ""
}

func markdownOutages(b *strings.Builder, r *takt.Report) {
	if len(r.Outages) > 0 {
		fmt.Fprintf(b, "\n| outage %s | cause |\n|%s---|\n", strings.Join(OutageHead(), " | "), strings.Repeat("---:|", len(OutageHead())))
		for i, row := range OutageRows(r) {
			fmt.Fprintf(b, "| %s | %s |\n", strings.Join(row, " | "), page.Escape(OutageCause(&r.Outages[i])))
		}
	}
	if len(r.Faults) > 0 {
		b.WriteString("\n| fault | when | end |\n|---|---|---|\n")
		for i := range r.Faults {
			f := &r.Faults[i]
			fmt.Fprintf(b, "| %s | %s | %s |\n", page.Cell(f.Command), FaultTime(f), page.Escape(FaultEnd(f)+FaultOutput(f)))
		}
	}
}
