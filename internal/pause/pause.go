// Package pause waits for a time that something else may end.
package pause

import "time"

// For waits for d, and reports false if over was closed before. Under testing/synctest it waits in fake time.
func For(d time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	}
}
