// Package storetest is the suite that every store passes.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// Store is store.Store, which lies above this package.
type Store interface {
	Save(ctx context.Context, reports ...*takt.Report) error
	Load(ctx context.Context, ids ...string) ([]*takt.Report, error)
	Runs(ctx context.Context, q stored.Query) iter.Seq2[stored.Run, error]
	Delete(ctx context.Context, ids ...string) error
	Close() error
}

// Open makes an empty store; with again it opens that of the same test once more. The
// suite closes what it opened.
type Open func(t *testing.T, again bool) Store

// Run holds a store against what takt expects of all.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"what is saved is loaded", loads},
		{"a report of the same id is replaced", replaces},
		{"the newest come first", sorts},
		{"queries", queries},
		{"a run is that of its report", runs},
		{"an unknown id is an error", unknown},
		{"what is deleted is gone", deletes},
		{"a large report", large},
		{"many reports at once", many},
		{"many writers at once", writers},
		{"a cancelled context", cancelled},
		{"an iteration that is left early", leavesEarly},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newSuite(t, open)) })
	}
}

// suite is one test with its store.
type suite struct {
	Store
	open func() Store
	random
}

func newSuite(t *testing.T, open Open) *suite {
	s := &suite{random: random{rand.New(rand.NewPCG(1, 2))}}
	s.open = func() Store {
		st := open(t, s.Store != nil)
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		return st
	}
	s.Store = s.open()
	return s
}

func (s *suite) save(t *testing.T, reports ...*takt.Report) {
	t.Helper()
	if err := s.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
}

// ids are those of the runs that q selects, in order.
func (s *suite) ids(t *testing.T, q stored.Query) (ids []string) {
	t.Helper()
	for r, err := range s.Runs(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// holds says whether the store gives exactly these reports, to another that opens it too.
func (s *suite) holds(t *testing.T, reports ...*takt.Report) {
	t.Helper()
	var ids []string
	for _, r := range reports {
		ids = append(ids, r.ID)
	}
	for _, st := range []Store{s.Store, s.open()} {
		got, err := st.Load(t.Context(), ids...)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(reports) {
			t.Fatalf("%d reports were loaded, %d saved", len(got), len(reports))
		}
		for i, r := range got {
			if a, b := text(t, r), text(t, reports[i]); a != b {
				t.Errorf("run %s is not what was saved:\n%.3000s\nwas\n%.3000s", r.ID, a, b)
			}
		}
	}
}

func loads(t *testing.T, s *suite) {
	var all []*takt.Report
	for range 30 {
		all = append(all, s.report())
		s.save(t, all[len(all)-1])
	}
	s.holds(t, all...)
	slices.Reverse(all) // the order is that of the ids asked for
	s.holds(t, all...)
	empty := &takt.Report{SchemaVersion: takt.SchemaVersion, ID: "empty"}
	s.save(t, empty)
	s.holds(t, empty)
	s.save(t) // nothing is not wrong
}

func replaces(t *testing.T, s *suite) {
	first, other := s.report(), s.report()
	s.save(t, first, other)
	second := s.report()
	second.ID = first.ID
	s.save(t, second)
	s.holds(t, second, other)
	if ids := s.ids(t, stored.Query{}); len(ids) != 2 {
		t.Errorf("runs %v, want two", ids)
	}
	third := s.report()
	third.ID = first.ID
	s.save(t, second, third) // in one Save the last counts
	s.holds(t, third)
}

func sorts(t *testing.T, s *suite) {
	var want []string
	for i := range 5 {
		r := s.report()
		// A nanosecond apart; the last two at the same instant, then by id.
		r.StartedAt = noon.Add(time.Duration(min(i, 3)))
		r.ID = fmt.Sprintf("R%d", i)
		want = append(want, r.ID)
		s.save(t, r)
	}
	slices.Reverse(want)
	if got := s.ids(t, stored.Query{}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// noon is in another zone, which must not matter for the order.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3*3600))

func queries(t *testing.T, s *suite) {
	for i, r := range []struct {
		kind   string
		labels map[string]string
	}{
		{"http", map[string]string{"branch": "main", "revision": "a1", "os": "linux"}},
		{"http", map[string]string{"branch": "main", "revision": "a2"}},
		{"apm", map[string]string{"branch": "main", "revision": "a1", "revision_date": "2026-05-01T10:00:00Z"}},
		{"http", map[string]string{"branch": "", "os": "linux", "a=b": "c"}},
		{"http", nil},
		{"http", map[string]string{"branch": "dev'; --", "os": "plan 9", "a": "b=c", "long": strings.Repeat("x", 40_000)}},
	} {
		report := s.report()
		report.ID, report.Kind, report.Labels, report.StartedAt = fmt.Sprint(i), r.kind, r.labels, noon.Add(time.Duration(i)*time.Second)
		report.Schedule.RunGroup = []string{"", "nightly", "nightly", "weekly", "", "nightly'"}[i]
		s.save(t, report)
	}
	odd := func(r *stored.Run) bool { return r.ID == "1" || r.ID == "3" || r.ID == "5" }
	label := func(words ...string) stored.Query {
		q := stored.Query{Labels: map[string]string{}}
		for i := 0; i < len(words); i += 2 {
			q.Labels[words[i]] = words[i+1]
		}
		return q
	}
	for _, test := range []struct {
		name string
		q    stored.Query
		want string
	}{
		{"all", stored.Query{}, "543210"},
		{"ids", stored.Query{IDs: []string{"1", "4", "9", "1"}}, "41"},
		{"an unknown id", stored.Query{IDs: []string{"9"}}, ""},
		{"no ids do not restrict", stored.Query{IDs: []string{}, Labels: map[string]string{}}, "543210"},
		{"kind", stored.Query{Kind: "apm"}, "2"},
		{"group", stored.Query{Group: "nightly"}, "21"},
		{"the beginning of a group", stored.Query{Group: "night"}, ""},
		{"group and kind", stored.Query{Group: "nightly", Kind: "apm"}, "2"},
		{"since an instant that a run has", stored.Query{Since: noon.Add(3 * time.Second)}, "543"},
		{"since just after it", stored.Query{Since: noon.Add(3*time.Second + 1).UTC()}, "54"},
		{"branch", label("branch", "main"), "210"},
		{"empty branch", label("branch", ""), "3"},
		{"branch of another kind", label("branch", "dev'; --"), "5"},
		{"revision", label("revision", "a1"), "20"},
		{"revision date", label("revision_date", "2026-05-01T10:00:00Z"), "2"},
		{"another label", label("os", "linux"), "30"},
		{"two labels", label("os", "linux", "branch", "main"), "0"},
		{"a name with =", label("a=b", "c"), "3"},
		{"a value with =", label("a", "b=c"), "5"},
		{"a long value", label("long", strings.Repeat("x", 40_000)), "5"},
		{"the beginning of a value", label("os", "lin"), ""},
		{"an unknown label", label("nobody", ""), ""},
		{"limit", stored.Query{Limit: 2}, "54"},
		{"limit above what there is", stored.Query{Limit: 20}, "543210"},
		{"match", stored.Query{Match: odd}, "531"},
		{"limit after match", stored.Query{Match: odd, Limit: 2}, "53"},
		{"limit after label", stored.Query{Labels: map[string]string{"os": "linux"}, Limit: 1}, "3"},
		{"all of it", stored.Query{IDs: []string{"0", "1", "2", "3"}, Kind: "http", Since: noon, Labels: map[string]string{"branch": "main"}, Match: odd, Limit: 1}, "1"},
	} {
		if got := strings.Join(s.ids(t, test.q), ""); got != test.want {
			t.Errorf("%s: runs %q, want %q", test.name, got, test.want)
		}
	}
}

func runs(t *testing.T, s *suite) {
	want, reports := map[string]stored.Run{}, map[string]*takt.Report{}
	shared := s.report()
	for i := range 20 {
		r := s.report()
		if i%2 == 0 {
			r.Variables, r.ComparabilityKey = maps.Clone(shared.Variables), shared.ComparabilityKey
		}
		r.Generator.HostClass = shared.Generator.HostClass
		s.save(t, r)
		loaded, err := s.Load(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		want[r.ID], reports[r.ID] = stored.RunOf(loaded[0]), loaded[0]
	}
	settings := map[*stored.Settings]bool{}
	for got, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		settings[got.Settings] = true
		w := want[got.ID]
		if differs := got.Differs(reports[got.ID]); differs != "" {
			t.Errorf("run %s: %s", got.ID, differs)
		}
		if !got.StartedAt.Equal(w.StartedAt) {
			t.Errorf("run %s was started at %v, want %v", got.ID, got.StartedAt, w.StartedAt)
		}
		if got.StartedAt = w.StartedAt; len(got.Labels)+len(w.Labels) == 0 {
			got.Labels = w.Labels // nil or empty
		}
		if len(got.Settings.Variables)+len(w.Settings.Variables) == 0 {
			s := *got.Settings
			s.Variables = w.Settings.Variables
			got.Settings = &s
		}
		if !reflect.DeepEqual(got, w) {
			t.Errorf("run\n%+v %+v, want\n%+v %+v", got, got.Settings, w, w.Settings)
		}
	}
	if len(settings) != 11 {
		t.Errorf("%d settings for 10 runs with one and 10 with their own, want 11", len(settings))
	}
}

func unknown(t *testing.T, s *suite) {
	if _, err := s.Load(t.Context(), "nobody"); !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("in an empty store: %v", err)
	}
	r := s.report()
	s.save(t, r)
	if _, err := s.Load(t.Context(), r.ID, "nobody"); !errors.Is(err, fault.ErrNotFound) {
		t.Error(err)
	}
	if got, err := s.Load(t.Context()); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

func deletes(t *testing.T, s *suite) {
	if err := s.Delete(t.Context(), "nobody"); err != nil {
		t.Error("in an empty store:", err)
	}
	a, b, c := s.report(), s.report(), s.report()
	s.save(t, a, b, c)
	if err := s.Delete(t.Context(), a.ID, "nobody", c.ID); err != nil {
		t.Fatal(err)
	}
	if ids := s.ids(t, stored.Query{}); !slices.Equal(ids, []string{b.ID}) {
		t.Errorf("runs %v, want %v", ids, b.ID)
	}
	if _, err := s.Load(t.Context(), a.ID); !errors.Is(err, fault.ErrNotFound) {
		t.Error(err)
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	s.save(t, a) // it may come again
	s.holds(t, a, b)
}

// large is more than a run of many hours makes: 1200 intervals with two histograms.
func large(t *testing.T, s *suite) {
	r := s.report()
	r.Intervals = nil
	hdr := s.text(3000)
	for i := range 1200 {
		r.Intervals = append(r.Intervals, takt.Interval{T: float64(i), HDR: hdr[i:], ServiceHDR: hdr[i+1:]})
	}
	s.save(t, r)
	s.holds(t, r)
	if n := len(s.ids(t, stored.Query{})); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func many(t *testing.T, s *suite) {
	const n = 1100 // more than a page of a listing
	var all []*takt.Report
	for range n {
		r := s.small()
		r.StartedAt = noon // page breaks between runs of one instant
		all = append(all, r)
	}
	s.save(t, all...)
	ids := s.ids(t, stored.Query{})
	slices.Sort(ids)
	if got := len(slices.Compact(ids)); got != n {
		t.Errorf("%d runs are listed, %d were saved", got, n)
	}
	if got := len(s.ids(t, stored.Query{Limit: 1050})); got != 1050 {
		t.Errorf("limit 1050 gave %d", got)
	}
	s.holds(t, all...)
	if err := s.Delete(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
	if left := s.ids(t, stored.Query{}); left != nil {
		t.Errorf("%d runs are left", len(left))
	}
}

func writers(t *testing.T, s *suite) {
	const n, each = 4, 10
	var all []*takt.Report
	for range n * each {
		all = append(all, s.small())
	}
	var wait sync.WaitGroup
	for i := range n {
		st := s.open() // each has opened it itself, as processes do
		wait.Go(func() {
			for _, r := range all[i*each : (i+1)*each] {
				if err := st.Save(t.Context(), r); err != nil {
					t.Error(err)
				}
				for _, err := range st.Runs(t.Context(), stored.Query{Limit: 1}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	s.holds(t, all...)
	if got := len(s.ids(t, stored.Query{})); got != n*each {
		t.Errorf("%d runs, want %d", got, n*each)
	}
}

func cancelled(t *testing.T, s *suite) {
	kept, r := s.report(), s.report()
	s.save(t, kept)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, loadErr := s.Load(ctx, kept.ID)
	var runsErr error
	for _, err := range s.Runs(ctx, stored.Query{}) {
		runsErr = err
	}
	for name, err := range map[string]error{"save": s.Save(ctx, r), "load": loadErr, "runs": runsErr, "delete": s.Delete(ctx, kept.ID)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", name, err, context.Canceled)
		}
	}
	s.holds(t, kept)
	if ids := s.ids(t, stored.Query{}); len(ids) != 1 {
		t.Errorf("runs %v", ids)
	}
}

func leavesEarly(t *testing.T, s *suite) {
	a, b := s.small(), s.small()
	s.save(t, a, b)
	for r, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), r.ID); err != nil { // while it is open
			t.Fatal(err)
		}
		break
	}
	if ids := s.ids(t, stored.Query{}); len(ids) != 1 {
		t.Errorf("runs %v, want one", ids)
	}
}
