package live

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Watcher follows one run. Its calls come one at a time, and no operation of the run waits for them. A
// Begin or Second that takes long delays the seconds after it, so neither waits for others. A nil member is
// not called.
type Watcher struct {
	Begin  func(h Head, start time.Time) // called once, when the start is known, which may lie ahead
	Second func(s Snapshot)              // called at the end of each second and of the run; nobody changes what s refers to
	End    func(r *takt.Report)          // the last call, also without Begin; it may wait for a bounded time, and add to r; nil: there is no report
}

// Watchers get each call in their order.
type Watchers []Watcher

// Begin calls Begin of all.
func (all Watchers) Begin(h Head, start time.Time) {
	for _, w := range all {
		if w.Begin != nil {
			w.Begin(h, start)
		}
	}
}

// Second calls Second of all.
func (all Watchers) Second(s Snapshot) {
	for _, w := range all {
		if w.Second != nil {
			w.Second(s)
		}
	}
}

// End calls End of all.
func (all Watchers) End(r *takt.Report) {
	for _, w := range all {
		if w.End != nil {
			w.End(r)
		}
	}
}
