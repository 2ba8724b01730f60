package report

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// faults has the commands of --fault. Text has a sentence for each.
func faults(r *run) part.Part {
	if len(r.Faults) == 0 {
		return part.Part{}
	}
	const table = part.Markdown | part.HTML
	t := &part.Table{Caption: "Commands of --fault.", Columns: []part.Column{
		{In: part.Text, Below: true, Mark: "  "}, {Title: "fault", In: part.HTML, Words: true}, {Title: "command", Markdown: "fault", In: table, Words: true},
		{Title: "when", In: table, Words: true}, {Title: "end", In: table, Words: true},
	}}
	for i := range r.Faults {
		f := &r.Faults[i]
		when, end := faultTime(f), faultEnd(f)
		t.Add(part.Words(when+", "+end+": "+page.Clean(f.Command)+faultOutput(f)), part.Count(uint64(i+1)), part.Quoted(f.Command),
			part.Words(when), part.Words(end+faultOutput(f)))
	}
	return part.Part{ID: "faults", Title: "Faults", Within: "outages", Blocks: []part.Block{{Title: "faults", Table: t}}}
}

// faultTime is when a command ran.
func faultTime(f *takt.Fault) string {
	if f.To == nil {
		return "at " + tenths(f.From)
	}
	return "from " + tenths(f.From) + " to " + tenths(*f.To)
}

// faultEnd is how a command ended.
func faultEnd(f *takt.Fault) string {
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

// faultOutput is the output of a command; "": it wrote nothing.
func faultOutput(f *takt.Fault) string {
	if s := page.Cut(page.Clean(f.Output), maxOutput); s != "" {
		return "; " + s
	}
	return ""
}
