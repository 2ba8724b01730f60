package grpc

import (
	"context"

	"github.com/taktload/takt/pkg/takt"
)

// Key is the place of the driver's figures in Report.Extra.
const Key = "grpc"

// finishing is Driver.Finish: that of the connections, and the messages of good calls, if a side streams them.
func (r *run) finishing(connections func(context.Context, *takt.Report) error) func(context.Context, *takt.Report) error {
	return func(ctx context.Context, report *takt.Report) error {
		if err := connections(ctx, report); err != nil || r.method.streams() == streamsNone {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		var sent, received uint64
		for _, c := range r.conns {
			sent, received = sent+c.sent, received+c.received
		}
		report.Extra[Key] = map[string]any{"messages_sent": sent, "messages_received": received}
		return nil
	}
}
