// Package store keeps reports and gives them again: in a file on this machine, or in
// an Elasticsearch or OpenSearch cluster that many share.
package store

import (
	"context"
	"iter"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/pkg/takt"
)

// Store keeps reports. Its errors wrap those of package fault.
type Store interface {
	// Save keeps the reports, all or none. One whose ID is there already replaces it.
	Save(ctx context.Context, reports ...*takt.Report) error
	// Load gives the reports whole, in the order of ids.
	Load(ctx context.Context, ids ...string) ([]*takt.Report, error)
	// Runs gives the runs that q selects, newest first. It ends with the first error.
	Runs(ctx context.Context, q analysis.Query) iter.Seq2[analysis.Run, error]
	// Delete forgets the runs; those that are not there do not matter.
	Delete(ctx context.Context, ids ...string) error
	// Close gives the store back.
	Close() error
}
