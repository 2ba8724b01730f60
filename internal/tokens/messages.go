package tokens

import (
	"math"

	"github.com/taktload/takt/pkg/takt"
)

// CallsKey is the place of Messages in Report.Extra.
const CallsKey = "grpc"

// Messages are those of the good gRPC calls that were due in the measured time, of methods with streams.
type Messages struct{ Sent, Received uint64 }

// Extra are the figures as Report.Extra has them: plain values.
func (m Messages) Extra() map[string]any {
	return map[string]any{"messages_sent": float64(m.Sent), "messages_received": float64(m.Received)}
}

// MessagesOf are the figures of a report; ok is false if it has none, or some that are not as Extra writes them.
func MessagesOf(r *takt.Report) (m Messages, ok bool) {
	x, ok := r.Extra[CallsKey].(map[string]any)
	for name, to := range map[string]*uint64{"messages_sent": &m.Sent, "messages_received": &m.Received} {
		n, is := x[name].(float64)
		if ok = ok && is && n >= 0 && n <= 1<<53 && n == math.Trunc(n); ok {
			*to = uint64(n)
		}
	}
	return m, ok
}

// MergeMessages are those of a whole run, from the reports of its shards; ok is false if one has none.
func MergeMessages(shards []*takt.Report) (x map[string]any, ok bool) {
	var whole Messages
	for _, r := range shards {
		m, ok := MessagesOf(r)
		if !ok {
			return nil, false
		}
		whole.Sent, whole.Received = whole.Sent+m.Sent, whole.Received+m.Received
	}
	return whole.Extra(), len(shards) > 0
}
