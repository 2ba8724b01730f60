package apmserver

import (
	"cmp"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// incomparable lists why a run must not be compared with others, by hey-apm's rules. For a
// server that takt does not manage, the memory is unknown, and the revision is what the user
// says.
func (t *Trial) incomparable(r *takt.Report) (why []string) {
	v := t.Server.Revision()
	least := cmp.Or(t.Least, 30*time.Second)
	managed := t.Server.Location().Kind != KindRemote
	all := r.Counts.OK + r.Counts.Failed
	seconds, ok := number(r.Variables["duration_s"]) // the requested duration: a closed loop's last answer may come just before its end
	if !ok {
		seconds = r.DurationS
	}
	for _, rule := range []struct {
		broken bool
		reason string
	}{
		{r.Warned(warn.Cancelled), "it was cancelled"},
		{r.Warned(warn.BrokeOff), "it broke off"},
		{r.Warned(warn.EventsDropped), "apm-server dropped events"},
		{r.Warned(warn.NotDrained), "events had not arrived when it ended"},
		{r.Warned(warn.ServerRestarted), "apm-server restarted"},
		{r.Warned(warn.DocumentsMissing), "the cluster lost events"},
		{v.Branch == "", "the branch is not known; give it with: apm switch BRANCH"},
		{v.Hash == "", "the revision is not known; give it with: apm switch BRANCH REVISION"},
		{managed && v.Date.IsZero(), "the date of the revision is not known"},
		{v.Unstaged, "the clone has changes that are in no commit; commit or undo them"},
		{managed && r.Extra["max_rss"] == nil, "the memory of the server could not be read"},
		{seconds < least.Seconds(), fmt.Sprintf("it took %.3g s, which is less than %v; test for longer", seconds, least)},
		{all == 0, "there was no answer"},
		{all > 0 && r.Counts.OK == 0, "no request was accepted"},
	} {
		if rule.broken {
			why = append(why, rule.reason)
		}
	}
	return why
}
