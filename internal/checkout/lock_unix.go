//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package checkout

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/pause"
)

// guard is a lock of a build: shared by those who use it, exclusive for who makes or removes it.
type guard struct{ f *os.File }

func openGuard(path string) (*guard, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // for trim
	return &guard{f}, nil
}

func (g *guard) close() { g.f.Close() }

// share waits until nobody makes or removes the build, or ctx ends.
func (g *guard) share(ctx context.Context) error { return g.lock(ctx, outfile.TryLockShared) }

// own waits until nobody else uses the build, or ctx ends.
func (g *guard) own(ctx context.Context) error { return g.lock(ctx, outfile.TryLock) }

func (g *guard) lock(ctx context.Context, try func(*os.File) error) error {
	for {
		if err := try(g.f); !errors.Is(err, outfile.ErrLocked) {
			return err
		}
		if !pause.For(100*time.Millisecond, ctx.Done()) {
			return cmp.Or(context.Cause(ctx), ctx.Err())
		}
	}
}
