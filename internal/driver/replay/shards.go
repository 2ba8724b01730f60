package replay

import (
	"fmt"

	"github.com/taktload/takt/pkg/takt"
)

// The names of Options.ShardBy.
const (
	byClient  = "client"
	byRequest = "request"
)

// byClient reports whether all requests of a client go to one shard. Every shard then reads the
// whole schedule, because only the log says whose operation is whose.
func (o *Options) byClient() bool { return o.shards > 1 && o.ShardBy == byClient }

// whole is the schedule of all shards.
func (o *Options) whole() (takt.Source, error) {
	spec, err := o.engine.Spec()
	if err != nil {
		return nil, err
	}
	spec.Shard, spec.Shards = 0, 1
	return spec.Source()
}

// Below enoughRequests, or with a share of less than unevenFactor of the intended one, an uneven
// split says nothing.
const (
	enoughRequests = 100
	unevenFactor   = 2
)

// uneven says that this machine had far more requests than its share; "": it had not.
func (o *Options) uneven(r *run) string {
	if !o.byClient() || r.read < enoughRequests || r.sent*o.shards < unevenFactor*r.read {
		return ""
	}
	return fmt.Sprintf("this shard sent %.0f %% of the requests instead of %.0f %%, because all requests of a client go to one shard; more clients, or fewer shards, spread them better, and --shard-by request spreads them evenly without their clients' order",
		100*float64(r.sent)/float64(r.read), 100/float64(o.shards))
}
