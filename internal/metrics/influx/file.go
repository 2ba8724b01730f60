package influx

import (
	"context"
	"os"
	"time"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/metrics"
)

// file gets the lines at its end. Telegraf and others follow such files.
type file struct{ *os.File }

func openFile(path string) (metrics.Exporter, error) {
	// A pipe that is opened for writing only waits for a reader.
	f, err := files.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

// Export implements metrics.Exporter. What a full disk accepted of the lines is removed again: a reader
// could believe the begin of a number.
func (f *file) Export(ctx context.Context, b *metrics.Batch) error {
	_ = f.SetWriteDeadline(time.Time{})                                                // a regular file has none
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })() // of a pipe that nobody reads
	n, err := f.Write(lines(b))
	if err == nil || n == 0 {
		return err
	}
	if info, bad := f.Stat(); bad == nil && info.Mode().IsRegular() {
		_ = f.Truncate(info.Size() - int64(n)) // the error of the lines counts
	}
	return err
}

// Close implements metrics.Exporter.
func (f *file) Close(context.Context) error { return f.File.Close() }
