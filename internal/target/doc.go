// Package target is the HTTP server behind "takt target": a server whose every
// delay is known, for demos, calibration and as the truth that tests hold the
// engine against.
//
// It is a FIFO queue with N servers in virtual time. When a request arrives the
// instants at which its service starts and ends follow at once:
//
//	start = max(arrival, the instant at which a server is free)
//	end   = start + service + the freezes in between
//
// A dispatcher on a thread of its own sends the answer at end. So nothing polls,
// and a late release never delays the requests behind it. The server keeps a
// record of what it did, the Truth.
//
// HTTP is spoken by a small loop of its own, a goroutine per connection and no
// allocation per request: net/http takes about 20 µs a request, several times
// what this one does, and would be most of what is measured on a small machine.
package target
