package html_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/pkg/takt"
)

// broken is a run of ten seconds with two outages and two commands.
func broken() *takt.Report {
	r := run(10, 20)
	to, first, doubled, code := 4.5, 1.25, uint64(3), 0
	r.Outages = []takt.Outage{
		{From: 2, To: &to, FirstSuccess: &first, Parts: 3, First: "partition 1", Cause: "connection <reset>", Failed: 12, Retried: 7, Doubled: &doubled},
		{From: 9, Parts: 1, First: "partition 2", Cause: "refused"},
	}
	r.Faults = []takt.Fault{
		{Command: "kill -9 <1>", From: 2, To: &to, ExitCode: &code, Output: "killed"},
		{Command: "never", From: 20, Output: "the run ended before"},
	}
	return r
}

// The page has outages and commands in its charts, and their tables.
func TestOutages(t *testing.T) {
	page := pageOf(t, broken())
	for _, want := range []string{
		`class="outage"`, `class="fault"`, "fault 1", ">Outages<", "after 1.2s", ">the end<", "partition 1 and 2 more: connection &lt;reset&gt;",
		"kill -9 &lt;1&gt;", "from 2.0s to 4.5s", "exit code 0; killed", "did not start; the run ended before",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page, "fault 2") {
		t.Error("a command that did not start is in the picture")
	}
	if page := pageOf(t, run(10, 20)); strings.Contains(page, `class="outage"`) || strings.Contains(page, ">Outages<") {
		t.Error("a run without an outage has a section of outages")
	}
}

// Text and Markdown have the same, and show what nobody counted.
func TestOutagesAsText(t *testing.T) {
	var plain, markdown bytes.Buffer
	if err := report.Text(&plain, broken(), false); err != nil {
		t.Fatal(err)
	}
	if err := report.Markdown(&markdown, broken()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`
outages
  from       to  first success  failed  retried  lost  doubled  out of order
  2.0s     4.5s     after 1.2s      12        7     –        3             –
      partition 1 and 2 more: connection <reset>
  9.0s  the end           none       0        0     –        –             –
      partition 2: refused

faults
    from 2.0s to 4.5s, exit code 0: kill -9 <1>; killed
    at 20.0s, did not start: never; the run ended before
`} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("the text is\n%s, want\n%s", plain.String(), want)
		}
	}
	for _, want := range []string{"| 2.0s | 4.5s | after 1.2s | 12 | 7 | – | 3 | – | partition 1 and 2 more: connection", "| from 2.0s to 4.5s | exit code 0; killed |"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in\n%s", want, markdown.String())
		}
	}
}
