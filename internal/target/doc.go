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
// allocation per request. At saturation it takes 10 µs of CPU a request, 9 of
// them in the kernel, where net/http takes 12 to 14; above all the dispatcher can
// write an answer itself, which a net/http handler must be woken for.
//
// With --sse answers are streams of tokens, of a model of their own: see sse.go. With --grpc that model answers calls:
// see grpc.go.
//
// Over HTTP/2 each stream is a request. The goroutine of the connection admits
// all requests of a read, and the dispatcher sends the answers together that are
// due together. So a request takes 1 to 2 µs of CPU with many streams at once.
package target
