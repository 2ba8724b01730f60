package keep_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/keep"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

func TestIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	p := load.Plan{
		Driver:   load.Handler(func(context.Context, *takt.Op, *takt.Result) error { return nil }),
		Schedule: schedule.Constant(100, 50*time.Millisecond), Store: keep.In(path),
	}
	r, err := load.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenExisting(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Load(t.Context(), r.ID); err != nil || len(got) != 1 || got[0].Counts != r.Counts {
		t.Errorf("%v, %v", got, err)
	}
	p.Store = keep.In(filepath.Join(path, "runs.db")) // below a file
	if r, err := load.Run(t.Context(), p); r == nil || err == nil {
		t.Errorf("%v, %v", r, err)
	}
}
