// Package sock is non-blocking TCP sockets for a thread that serves many of them
// by itself: what net does with a goroutine a connection, without the goroutines.
// Every call is one raw system call: nothing tells the Go scheduler, so that its
// monitor does not take the P away and poll (70 against 120 µs of CPU a wake-up at
// 1000/s). The caller raises GOMAXPROCS by one for each such thread. Quiet gives the same
// to a connection of package net.
//
// It is there on Linux; elsewhere Available is false, and nothing but Quiet may be called.
package sock

import "time"

// Event says what a socket is ready for.
type Event struct {
	Token int32 // as given to Poller.Add
	Read  bool  // there are bytes, or the end of them
	Write bool  // connected, or room for more bytes
}

// MaxWait bounds a single wait: nothing is learnt of the rest of the program
// meanwhile.
const MaxWait = time.Second
