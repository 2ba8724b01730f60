// Package early catches the signals that end a run while takt is still being loaded. Go initializes 200
// packages before main, in 25 to 50 ms, and until then SIGQUIT would print all goroutines. Go initializes a
// package as soon as all that it imports is ready, so this one imports little, and comes among the first.
package early

import "github.com/taktload/takt/internal/stop"

// Signals has the signals since the start of the process.
var Signals = stop.Catch()
