package amqp

import (
	"io"
	"time"
)

// eager is the reader of a connection with one message under way: it has nothing to do but
// to wait for its answer, and looks for that instead of sleeping. A sleep, and the core's,
// are a third of such a message: 10.2 became 14.5 k messages/s of Artemis on the same
// machine, for 9 % more CPU each. With ten under way there is something else to do, and
// 73 became 56 k/s.
type eager struct {
	io.Reader
	direct  prompt
	expects bool // an answer
	missed  int  // looks in a row that found nothing
	skip    int  // looks to leave out
}

const (
	longestLook = 100 * time.Microsecond
	fewMissed   = 16 // are bad luck; more say that the broker is farther away …
	mostMissed  = 26 // … until it looks for one answer in 1024
)

// Read implements io.Reader.
func (e *eager) Read(b []byte) (int, error) {
	if !e.expects {
		return e.Reader.Read(b)
	}
	e.expects = false
	if e.skip > 0 {
		e.skip--
		return e.Reader.Read(b)
	}
	if n := e.direct.Look(b, longestLook); n > 0 {
		e.missed = 0
		return n, nil
	}
	e.missed = min(e.missed+1, mostMissed)
	e.skip = 1<<max(0, e.missed-fewMissed) - 1
	return e.Reader.Read(b)
}
