package amqp

import (
	"io"
	"time"
)

// eager is the reader of a connection with one message in flight. It spins for the answer
// instead of sleeping: putting the thread and the core to sleep takes a third of such a
// message's time. With Artemis on the same machine 10.2 became 14.5 k messages/s, for 9 %
// more CPU each. With ten in flight there is other work to do: 73 became 56 k/s.
type eager struct {
	io.Reader
	direct  prompt
	expects bool // an answer is expected
	missed  int  // number of looks in a row without an answer
	skip    int  // number of looks to skip
}

const (
	longestLook = 100 * time.Microsecond
	fewMissed   = 16 // largest number of misses by chance; more mean a distant broker
	mostMissed  = 26 // largest count of misses: one look per 1024 answers
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
