package grpc

import (
	"context"

	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// finishing is Driver.Finish: that of the connections, and the messages of good calls, if a side streams them.
func (r *run) finishing(connections func(context.Context, *takt.Report) error) func(context.Context, *takt.Report) error {
	return func(ctx context.Context, report *takt.Report) error {
		if err := connections(ctx, report); err != nil || r.method.streams() == streamsNone {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		var all tokens.Messages
		for _, c := range r.conns {
			all.Sent, all.Received = all.Sent+c.sent, all.Received+c.received
		}
		report.Extra[tokens.CallsKey] = all.Extra()
		return nil
	}
}
