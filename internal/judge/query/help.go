package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

// ownFields are the fields of the run itself.
func ownFields() []string {
	return []string{"id", "kind", "date", "run_group", "host_class", "unfit"}
}

// Help explains the VARIABLE of collate, and the FILTER of all commands.
func Help() string {
	var b strings.Builder
	b.WriteString("It shows stored runs side by side, in groups that differ only in VARIABLE, which is\n\n")
	b.WriteString(paragraph("a label", "branch, revision, server_version, or NAME of --label NAME=VALUE"))
	for i, kind := range stored.HelpVariables() {
		what := map[bool]string{true: "a variable"}[i == 0]
		of := "of every load: "
		if kind.Name != "" {
			of = "of " + kind.Name + ": "
		}
		b.WriteString(paragraph(what, of+strings.Join(kind.Variables, " ")))
	}
	b.WriteString(paragraph("a flag", "of the server under test, such as apm-server.tracing.enabled"))
	b.WriteString("\ntakt show RUN -o json has all variables and labels of a run. label.NAME, variable.NAME\nand flag.NAME say which is meant. hey-apm's names:\n\n")
	b.WriteString(paragraph("", aliasText()))
	b.WriteString("\nFILTER is FIELD OPERATOR VALUE in one word, with one of = != < <= > >= between them.\nA run must match all filters. FIELD is one of the above, or\n\n")
	b.WriteString(paragraph("of the run", strings.Join(append(ownFields(), stored.LabelRevisionDate), " ")))
	b.WriteString(paragraph("a metric", metricText()))
	b.WriteString(paragraph("a latency", "of the response time: "+strings.Join(stored.Statistics(), " ")+"; of others with their name, such as service.p99"))
	b.WriteString("\nValues have units: 'p99<250ms' 'errors<=0.1%' 'index>90%' 'accepted>4MB/s' 'date>=2026-01-31'\nduration=30s memory_limit_bytes=4GB. Quote < > and ! from a command shell. Text has no order.")
	return b.String()
}

// paragraph formats text with a heading on its left, in 86 columns.
func paragraph(heading, text string) string {
	const left, width = 14, 72
	var b strings.Builder
	line := ""
	flush := func() {
		fmt.Fprintf(&b, "  %-*s%s\n", left-2, heading, line)
		heading, line = "", ""
	}
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			flush()
		}
		line = strings.TrimSpace(line + " " + word)
	}
	flush()
	return b.String()
}

func aliasText() string {
	all := aliases()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return strings.Join(list, " ")
}

func metricText() string {
	var list []string
	for _, m := range stored.Metrics() {
		list = append(list, m.Name)
	}
	return strings.Join(list, " ")
}
