package engine

import "time"

// Unwatch makes closed loops do without their poller once they have not waited in it for
// so long, until undo.
func Unwatch(after time.Duration) (undo func()) {
	before := unwatchAfter
	unwatchAfter = after
	return func() { unwatchAfter = before }
}

// Trust makes runs look at no connection that was idle for less than an hour, until undo.
func Trust() (undo func()) {
	idle, after := idleCheck, trustAfter
	idleCheck, trustAfter = time.Hour, 0
	return func() { idleCheck, trustAfter = idle, after }
}
