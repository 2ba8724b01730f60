package engine

import (
	"strings"
	"testing"
	"time"
)

// Identifiers sort by time, and are ULIDs.
func TestULID(t *testing.T) {
	at := time.UnixMilli(1469918176385) // the example of the specification: 01ARYZ6S41…
	if id := NewID(at); !strings.HasPrefix(id, "01ARYZ6S41") || len(id) != 26 {
		t.Error(id)
	}
	if id := NewID(time.UnixMilli(0)); !strings.HasPrefix(id, "0000000000") || len(id) != 26 {
		t.Error(id)
	}
	if one, other := NewID(at), NewID(at); one == other {
		t.Error("two runs have one id")
	}
}
