package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// A report says what the replay left out, with the first line of each reason, and not what stands in the line.
func TestLeftOut(t *testing.T) {
	var left trace.Left
	left.Add(trace.NoRequest, "CONNECT opens a tunnel", "access.log", 3)
	left.Add(trace.NoRequest, "CONNECT opens a tunnel", "access.log", 9)
	left.AddText(trace.Bad, "no shape", "access.log", 4, []byte("GET /secret"))
	one := leftOut(&run{Report: &takt.Report{Extra: map[string]any{trace.LeftKey: left.List()}}})
	p := &page.Page{}
	part.WriteText(p, one)
	var text bytes.Buffer
	if err := p.Print(&text); err != nil {
		t.Fatal(err)
	}
	var md strings.Builder
	part.WriteMarkdown(&md, one)
	for _, got := range []string{text.String(), md.String()} {
		squeezed := strings.Join(strings.Fields(strings.ReplaceAll(got, "|", " ")), " ")
		if !strings.Contains(squeezed, "2 no request access.log:3 CONNECT opens a tunnel") || !strings.Contains(squeezed, "1 bad line access.log:4 no shape") || strings.Contains(got, "secret") {
			t.Error(got)
		}
	}
	if none := leftOut(&run{Report: &takt.Report{}}); len(none.Blocks) > 0 {
		t.Error("a part without rows")
	}
}
