package engine

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// A connection that is not of a loop says the same of parts: when the operation began, when the bytes of each read, and the
// end, came, and that the rest of the answer does not come.
func TestBlockingTellsWhenPartsCame(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	codec := &told{}
	heard := make(chan bool, 8)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close() // with the second byte read, the operation fails
		_, _ = c.Read(make([]byte, 8))
		for range 2 {
			_, _ = c.Write([]byte("a"))
			<-heard
		}
	}()
	l := &takt.Loop{
		Network: "tcp", Addr: listener.Addr().String(), ConnectTimeout: time.Minute, Timeout: time.Minute,
		Codec: func(int) takt.Codec { return telling{codec, heard} },
	}
	_, connection := Connections(nil, l)
	c := connection(0)
	defer c.Close()
	var o Observed
	begun := time.Now()
	o.measures(begun, nil)
	var r takt.Result
	c.Do(o.context(), &takt.Op{Due: 7 * time.Millisecond}, &r)
	over := time.Since(begun)
	if r.Class == "" || len(codec.starts) != 1 || codec.starts[0][0] != 7*ms || codec.starts[0][1] > over {
		t.Fatalf("class %q, %s, starts %v", r.Class, r.Err, codec.starts)
	}
	sent := codec.starts[0][1]
	at := []time.Duration{sent}
	for _, came := range codec.came {
		at = append(at, came[:]...)
	}
	at = append(append(at, codec.stops...), over)
	if len(codec.came) != 3 || codec.came[0][0] != sent || len(codec.stops) != 1 || !slices.IsSorted(at) { // two bytes and the end
		t.Errorf("sent at %v, %v, stops at %v, until %v", sent, codec.came, codec.stops, over)
	}
	// Before a run nothing is measured.
	*codec = told{}
	l.Timeout = time.Millisecond // nobody accepts the connection
	c.Do(new(Observed).context(), &takt.Op{}, &r)
	if len(codec.starts)+len(codec.came)+len(codec.stops) > 0 {
		t.Errorf("without a run: %+v", codec)
	}
}

// telling is a told that says when it has parsed a read.
type telling struct {
	*told
	heard chan bool
}

func (c telling) Parse(in []byte, eof bool, r *takt.Result) (int, takt.Progress) {
	if len(in) > 0 {
		c.heard <- true
	}
	return c.told.Parse(in, eof, r)
}
