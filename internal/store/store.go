// Package store saves and loads reports: in a file on this machine, or in a shared
// Elasticsearch or OpenSearch cluster.
package store

import (
	"context"
	"iter"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// Store saves reports. Its errors wrap those of package fault.
type Store interface {
	// Save saves all reports or none. It replaces a report with the same ID.
	Save(ctx context.Context, reports ...*takt.Report) error
	// Load returns the complete reports, in the order of ids.
	Load(ctx context.Context, ids ...string) ([]*takt.Report, error)
	// Runs returns the runs that q selects, newest first. It ends with the first error.
	Runs(ctx context.Context, q stored.Query) iter.Seq2[stored.Run, error]
	// Delete deletes the runs and ignores unknown ids.
	Delete(ctx context.Context, ids ...string) error
	// Close closes the store.
	Close() error
}
