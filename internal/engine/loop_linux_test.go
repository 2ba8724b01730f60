package engine

import (
	"slices"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// A run that is invalid over many connections says what bounds them; one that is valid, or
// whose connections were asked for, has nothing to be told.
func TestManyConnections(t *testing.T) {
	for _, c := range []struct {
		verdict takt.Verdict
		asked   int
		made    int
		want    bool
	}{
		{takt.Invalid, 0, blindMost + 1, true},
		{takt.Invalid, 0, blindMost, false},
		{takt.Invalid, 1000, blindMost + 1, false},
		{takt.Valid, 0, blindMost + 1, false},
	} {
		m := &loops{opt: Options{Connections: c.asked}, all: []*loop{{conns: make([]*lconn, 1)}, {conns: make([]*lconn, c.made-1)}}}
		rep := takt.Report{Verdict: c.verdict}
		m.advise(&rep)
		told := slices.ContainsFunc(rep.Warnings, func(w takt.Warning) bool { return w.Code == "many_connections" })
		if told != c.want || rep.Verdict != c.verdict {
			t.Errorf("%+v: %v, %v", c, rep.Warnings, rep.Verdict)
		}
	}
}
