package replay

import (
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

// uneven reports whether this machine had far more requests than its share.
func (o *Options) uneven(r *run) bool {
	return o.byClient() && r.read >= enoughRequests && r.sent*o.shards >= unevenFactor*r.read
}
