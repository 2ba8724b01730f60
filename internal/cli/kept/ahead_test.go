package kept

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// numbered are sources of n reports each. The last source fails if err is set.
func numbered(count, n int, err error, open *atomic.Int64, most *atomic.Int64) (list []Source) {
	for i := range count {
		list = append(list, func(do func(*takt.Report) error) error {
			for j := range n {
				now := open.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				failed := do(&takt.Report{ID: fmt.Sprintf("%d.%d", i, j)})
				if open.Add(-1); failed != nil {
					return failed
				}
			}
			if i == count-1 {
				return err
			}
			return nil
		})
	}
	return list
}

// Reports come in the order of their sources, and few are in memory.
func TestAheadIsInOrder(t *testing.T) {
	var open, most atomic.Int64
	var got, want []string
	for i := range 100 {
		for j := range 3 {
			want = append(want, fmt.Sprintf("%d.%d", i, j))
		}
	}
	broken := errors.New("broken")
	for _, fails := range []error{nil, broken} {
		got = nil
		err := Ahead(t.Context(), numbered(100, 3, fails, &open, &most), func(source int, r *takt.Report) error {
			if !strings.HasPrefix(r.ID, fmt.Sprint(source, ".")) {
				t.Errorf("%s is of source %d", r.ID, source)
			}
			got = append(got, r.ID)
			return nil
		})
		if err != fails || !slices.Equal(got, want) {
			t.Errorf("%d reports, %v; want %d and %v", len(got), err, len(want), fails)
		}
	}
	if n := most.Load(); n > mostAhead {
		t.Errorf("%d reports at once", n)
	}
	if err := Ahead(t.Context(), nil, nil); err != nil {
		t.Errorf("no sources: %v", err)
	}
}

// An error ends the reading of all sources.
func TestAheadEnds(t *testing.T) {
	var open, most atomic.Int64
	broken := errors.New("broken")
	n := 0
	err := Ahead(t.Context(), numbered(100, 3, nil, &open, &most), func(int, *takt.Report) error {
		if n++; n == 5 {
			return broken
		}
		return nil
	})
	if err != broken || n != 5 {
		t.Errorf("%v after %d reports", err, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Ahead(ctx, numbered(100, 3, nil, &open, &most), func(int, *takt.Report) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
