package sock

import (
	"testing"
	"time"
)

// Once KeepStamps has returned, a packet has the stamp of its arrival.
func TestKeepStamps(t *testing.T) {
	for range 20 {
		done, ok := KeepStamps(10 * time.Second)
		if !ok {
			t.Fatal("the kernel does not stamp packets within 10 s")
		}
		other, ok := KeepStamps(0)
		if !ok {
			t.Error("a second socket has no stamps")
		}
		other()
		done()
	}
}
