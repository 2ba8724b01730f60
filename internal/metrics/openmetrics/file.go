package openmetrics

import (
	"context"
	"strings"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/outfile"
)

// file replaces a file with each batch. A reader sees the old content or the new one, never a part.
type file struct {
	path    string
	dialect dialect
}

// dialectOf is the format of a file: node_exporter reads files that end with .prom, and only Prometheus'
// own format.
func dialectOf(path string) dialect {
	if strings.HasSuffix(path, ".prom") {
		return prometheus
	}
	return openMetrics
}

// openFile checks that the file can be written.
func openFile(path string) (metrics.Exporter, error) {
	f, err := outfile.Open(path)
	if err != nil {
		return nil, err
	}
	f.Discard()
	return &file{path, dialectOf(path)}, nil
}

// Export implements metrics.Exporter.
func (f *file) Export(_ context.Context, b *metrics.Batch) error {
	to, err := outfile.Open(f.path)
	if err != nil {
		return err
	}
	defer to.Discard()
	if _, err = to.Write(text(b, f.dialect)); err == nil {
		err = to.Show() // without a sync: the content is old after a second
	}
	if err == nil {
		err = to.Close()
	}
	return err
}

// Close implements metrics.Exporter. The file stays, with the figures of the whole run.
func (*file) Close(context.Context) error { return nil }
