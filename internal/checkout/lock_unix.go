//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package checkout

import (
	"cmp"
	"context"
	"errors"
	"os"
	"syscall"
	"time"
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
func (g *guard) share(ctx context.Context) error { return g.lock(ctx, syscall.LOCK_SH) }

// own waits until nobody else uses the build, or ctx ends.
func (g *guard) own(ctx context.Context) error { return g.lock(ctx, syscall.LOCK_EX) }

func (g *guard) lock(ctx context.Context, how int) error {
	for {
		err := syscall.Flock(int(g.f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return &os.PathError{Op: "flock", Path: g.f.Name(), Err: err}
		}
		select {
		case <-ctx.Done():
			return cmp.Or(context.Cause(ctx), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
