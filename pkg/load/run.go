package load

import (
	"context"

	"github.com/taktload/takt/internal/inprocess"
	"github.com/taktload/takt/pkg/takt"
)

// Kind is the Report.Kind of runs of this package.
const Kind = "bench"

// Run makes the run of p and returns its report.
//
// When ctx ends, the run stops sending, drains operations in flight and still returns its report.
// An error without a report means that the run could not start. An error with a report means that
// the report could not be written to one of Plan.Outputs or to Plan.Store.
//
// A failed assertion or an invalid run is not an error: look at Report.Assertions and
// Report.Verdict.
//
// Run uses neither signals nor flags. A worker that never returns costs a goroutine, not the report.
func Run(ctx context.Context, p Plan) (*takt.Report, error) {
	k, err := p.prepare()
	if err != nil {
		return nil, err
	}
	return inprocess.Run(ctx, k)
}
