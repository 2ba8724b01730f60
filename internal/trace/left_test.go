package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace"
)

// A row has the count of its reason and the first line, also of the notes that come before their line is known.
func TestLeft(t *testing.T) {
	var a, b trace.Left
	a.Note("header cookie")
	a.At("one", 3)
	a.Note("header cookie")
	a.At("one", 4)
	a.AddText(trace.Bad, "no shape", "one", 5, []byte("rubbish \x1b[31m"))
	b.AddText(trace.Bad, "no shape", "two", 1, []byte("other"))
	b.Add(trace.NoRequest, "a tunnel", "two", 2)
	kept := a.Copy()
	a.Merge(&b)
	const want = `       1 no request: a tunnel; first two:2
       2 bad line: no shape; first one:5: "rubbish \x1b[31m"
       2 without: header cookie; first one:3
`
	if got := string(a.AppendText(nil)); got != want || a.Sum() != ", 3 without a request" || kept.Count(trace.Bad) != 1 {
		t.Errorf("%s%s %d", got, a.Sum(), kept.Count(trace.Bad))
	}
	if most := a.Most(1); len(most) != 1 || most[0].Why != "no shape" || most[0].Place() != "one:5" {
		t.Errorf("%+v", most)
	}
	if list := a.List(); len(list) != 3 || strings.Contains(fmt.Sprint(list), "rubbish") {
		t.Errorf("%v", list)
	}
}

// The rows of a hostile log are bounded, and nothing is lost from the counts.
func TestLeftIsBounded(t *testing.T) {
	var l trace.Left
	for i := range 1000 {
		l.Add(trace.Bad, fmt.Sprintf("reason %d", i), "log", i+1)
		l.Add(trace.NoRequest, fmt.Sprintf("reason %d", i), "log", i+1)
	}
	if n := len(l.Reasons()); n > 50 || l.Count(trace.Bad) != 1000 || l.Count(trace.NoRequest) != 1000 {
		t.Errorf("%d rows, %d and %d", n, l.Count(trace.Bad), l.Count(trace.NoRequest))
	}
}
