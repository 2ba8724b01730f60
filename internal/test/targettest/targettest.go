// Package targettest serves targets to tests.
package targettest

import (
	"context"
	"testing"

	"github.com/taktload/takt/internal/target"
)

// Start serves a target on a free port until stop, which gives what Serve returned.
func Start(o target.Options) (s *target.Server, stop func() error, err error) {
	o.Addr = "127.0.0.1:0"
	if s, err = target.Listen(o); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	return s, func() error { cancel(); return <-done }, nil
}

// Serve serves a target until the test ends.
func Serve(t testing.TB, o target.Options) *target.Server {
	t.Helper()
	s, stop, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}
