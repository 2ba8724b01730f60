//go:build unix

package influx

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/metricstest"
)

// A pipe that nobody reads delays neither the start of the run nor, for longer than the time limit, the
// exporter.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	e := open(t, path)
	var err error
	for i := 0; err == nil && i < 10_000; i++ { // a pipe has room for 64 KiB
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err = e.Export(ctx, metricstest.Batches(t, "")[0])
		cancel()
	}
	if !os.IsTimeout(err) {
		t.Errorf("%v", err)
	}
}
