package loadcmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Messages of a run wait while the view uses the terminal, and none is lost without a word.
func TestMessagesWait(t *testing.T) {
	var out bytes.Buffer
	m := &messages{w: &out}
	fmt.Fprintln(m, "before")
	m.hold()
	fmt.Fprintln(m, "first\n\nsecond ")
	if out.String() != "before\n" || m.last() != "second" {
		t.Errorf("%q is written, and the newest line is %q", &out, m.last())
	}
	m.release()
	fmt.Fprintln(m, "after")
	if want := "before\nfirst\n\nsecond \nafter\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	out.Reset()
	m.hold()
	for range 3 {
		fmt.Fprint(m, strings.Repeat("x", maxHeld/2+1))
	}
	m.release()
	if n := strings.Count(out.String(), "x"); n != maxHeld || !strings.Contains(out.String(), "no room") {
		t.Errorf("%d bytes of %d, and %q", n, maxHeld, out.String()[n:])
	}
}
