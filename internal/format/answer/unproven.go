package answer

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/verify"
)

// unproven is the part about what a judgement does not show. Text has no such part: its reader has typed the command.
func unproven(j verify.Judgement) part.Part {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, c := range j.Comparisons {
		if open := undecided(append(c.Findings[:len(c.Findings):len(c.Findings)], c.Costs...)); open != "" {
			say("whether head is worse than %s by more than the tolerance in %s", page.Clean(Revision(c.Base.Name)), open)
		}
	}
	if len(j.Comparisons) > 0 {
		say("changes for the worse up to the tolerance, %s %%, or %s points of errors: they count as ok", page.Short(j.Tolerance*100), page.Short(j.ErrorTolerance))
	}
	switch r := j.Answers; {
	case r == nil:
		say("whether head still answers the same: --answers auto compares the answers")
	case len(r.Varying) > 0:
		say("whether values are right where base varies by itself")
	}
	switch r := j.Functions; {
	case r == nil && j.Head.Commit != nil:
		say("which functions use the time: --profile auto takes profiles of a server in Go, --profile COMMAND of any other")
	case r != nil:
		n := 0
		for _, f := range r.Functions {
			if f.Word == functions.Unproven {
				n++
			}
		}
		if n > 0 {
			say("any change of %s: the intervals contain 0", page.Plural(n, "function"))
		}
	}
	say("other loads and other machines: the figures are of the load in the command, on one machine")
	return part.Part{ID: "unproven", Title: "What is not proven", Blocks: []part.Block{{In: part.Markdown | part.HTML, Title: "not proven", Bold: true, Below: listed(list)}}}
}

// undecided are the inconclusive metrics.
func undecided(list []verify.Finding) string {
	var names []string
	for _, f := range list {
		if f.Verdict == verify.Inconclusive {
			names = append(names, f.Metric)
		}
	}
	return strings.Join(names, ", ")
}
