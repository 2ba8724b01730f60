package runscmd

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// counting is a store of n equal runs that counts what is loaded.
type counting struct {
	store.Store
	report        func() *takt.Report
	n             int
	change        func(*takt.Report)
	loaded, atOne int
}

func (s *counting) Runs(context.Context, stored.Query) iter.Seq2[stored.Run, error] {
	return func(yield func(stored.Run, error) bool) {
		r := s.report()
		for i := range s.n {
			r.ID = fmt.Sprint("run", i)
			if !yield(stored.RunOf(r), nil) {
				return
			}
		}
	}
}

func (s *counting) Load(_ context.Context, ids ...string) (list []*takt.Report, err error) {
	s.loaded, s.atOne = s.loaded+len(ids), max(s.atOne, len(ids))
	for _, id := range ids {
		r := s.report()
		r.ID = id
		if s.change != nil {
			s.change(r)
		}
		list = append(list, r)
	}
	return list, nil
}

// Of a long list 200 runs are checked, 8 reports are in memory at once, and takt says how
// many were not checked. It gives up on a store in which all lies.
func TestProofIsBounded(t *testing.T) {
	text, err := os.ReadFile("../../format/testdata/failures/report.json")
	if err != nil {
		t.Fatal(err)
	}
	small := func() *takt.Report { // with the race detector histograms are slow
		r := &takt.Report{}
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		r.Intervals, r.Latency = nil, map[string]takt.Latency{takt.LatencyResponse: r.Latency[takt.LatencyResponse]}
		return r
	}
	lists := map[string]func(core.Env, store.Store) error{
		"runs": func(e core.Env, st store.Store) error { return (&runs{env: e}).list(t.Context(), st) },
		"collate": func(e core.Env, st store.Store) error {
			l := &collate{env: e, output: "table", sort: "report_date"}
			if err := l.validate([]string{"branch"}); err != nil {
				return err[0]
			}
			var list []stored.Run
			for r := range st.Runs(t.Context(), stored.Query{}) {
				list = append(list, r)
			}
			_, err := l.proven(t.Context(), st, list)
			return err
		},
	}
	for name, list := range lists {
		var out, errs strings.Builder
		env := core.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
		st := &counting{report: small, n: 250}
		err := list(env, st)
		want := "takt: warning: the figures of 50 runs were not checked against their reports; "
		if merged := st.loaded - mostProven; err != nil || st.atOne > provenAtOnce || merged < 0 || merged > 100 || !strings.HasPrefix(errs.String(), want) {
			t.Errorf("%s: %v, %d loaded, %d at once\n%s", name, err, st.loaded, st.atOne, errs.String())
		}
		errs.Reset()
		st = &counting{report: small, n: 1000, change: func(r *takt.Report) { r.Counts.OK++ }}
		err = list(env, st)
		lines := slices.Collect(strings.Lines(errs.String()))
		switch {
		case st.atOne > provenAtOnce || len(lines) < mostProven || len(lines) > mostLeftOut+provenAtOnce+1:
			t.Errorf("%s: %v, %d loaded, %d at once, %d lines", name, err, st.loaded, st.atOne, len(lines))
		case name == "collate" && (err == nil || !strings.HasPrefix(err.Error(), "more than 200 runs of the store contradict")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
