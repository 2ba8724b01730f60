// Package sock is non-blocking TCP sockets for a thread that serves many of them, without a
// goroutine per connection. Every call is one raw system call, which the Go scheduler does
// not notice. So its monitor does not take the P away and poll: 70 against 120 µs of CPU a
// wake-up at 1000/s. The caller raises GOMAXPROCS by one for each such thread. Quiet does the
// same for a connection of package net.
//
// The package works on Linux. Elsewhere Available is false, and only Quiet may be called.
package sock

import "time"

// Event says what a socket is ready for.
type Event struct {
	Token int32 // as given to Poller.Add
	Read  bool  // bytes, or the end of the stream
	Write bool  // connected, or room to write
}

// MaxWait limits a single wait, after which the thread looks at the rest of the program.
const MaxWait = time.Second
