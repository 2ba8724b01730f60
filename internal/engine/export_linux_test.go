package engine

import "time"

// Unwatch makes closed loops do without their poller once they have not waited in it for
// so long, until undo.
func Unwatch(after time.Duration) (undo func()) {
	before := unwatchAfter
	unwatchAfter = after
	return func() { unwatchAfter = before }
}
