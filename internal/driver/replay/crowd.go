package replay

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// keyed counts the requests of a run with users.
type keyed struct{ all, without atomic.Uint64 }

// count counts a request. known says that the log has its user.
func (k *keyed) count(known bool) {
	k.all.Add(1)
	if !known {
		k.without.Add(1)
	}
}

// withUsers has the driver say at its end what the users did. The driver's own figures come first.
func (o *Options) withUsers(d *takt.Driver, k *keyed) {
	finish, thinker := d.Finish, o.run.Load().thinker
	d.Finish = func(ctx context.Context, r *takt.Report) error {
		err := finish(ctx, r)
		all, without := k.all.Load(), k.without.Load()
		if u, ok := r.Extra["users"].(map[string]any); ok {
			u["without_user"] = without
		}
		if without*2 > all {
			r.Warn(warn.UsersUnknown, "%d of %d requests have no %s in the log, so each of them was a user of its own; %s",
				takt.Number("without_user", without), takt.Number("requests", all), o.Per.what(), takt.Advice("check --per"))
		}
		if thinker != nil {
			thinker.slowed(r)
		}
		return err
	}
}

// what is the name of what a user is.
func (p *per) what() string {
	if p.name == "" {
		return p.kind
	}
	return fmt.Sprintf("%s %.60q", p.kind, p.name)
}

// How much later than recorded a request is due before the report says so: leastSlowed, and 1 % of
// the log or mostSlowed.
const (
	leastSlowed = 10 * time.Millisecond
	mostSlowed  = time.Second
)

// slowed warns of requests that were due much later than recorded.
func (t *thinker) slowed(r *takt.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.behind <= max(leastSlowed, min(mostSlowed, t.recorded/100)) {
		return
	}
	unknown := ""
	if t.unknown > 0 {
		unknown = fmt.Sprintf("; the log has no latency before %d requests, so their whole gap was think time", t.unknown)
	}
	r.Warn(warn.UsersSlowed, "users waited for slow answers: %d requests were due later than recorded, by up to %v, and the last one %v later than the log's; the target had less load than the log%s",
		takt.Number("late", t.late), takt.Time("late_most", t.behind.Round(time.Millisecond)), takt.Time("last", max(0, t.latest-t.recorded).Round(time.Millisecond)), unknown)
}
