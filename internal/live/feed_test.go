package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A board shows what the run's own process would show.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Board
		if b.View(80, 24, Mono, "") != nil {
			t.Error("an empty board has a picture")
		}
		f := Feed(&b)
		f.Begin(head(), time.Now())
		for n := range 47 {
			f.Second(second(n))
			synctest.Wait()
		}
		time.Sleep(300 * time.Millisecond)
		want := moment(47)
		want.Keys, want.Hint = false, "Enter"
		if got, want := strings.Join(b.View(80, 24, Mono, "Enter"), "\n"), strings.Join(after(head(), 47).View(want, 80, 24, Mono), "\n"); got != want {
			t.Errorf("the board shows\n%s\nwant\n%s", got, want)
		}
		f.End(nil)
		if b.View(80, 24, Mono, "") != nil {
			t.Error("a board has a picture after the run")
		}
	})
}

// Whatever arrives, in whatever pieces, a board stays usable and small.
func TestBoardOfGarbage(t *testing.T) {
	var text bytes.Buffer
	f := Feed(&text)
	f.Begin(head(), time.Now())
	f.Second(second(0))
	f.End(nil)
	whole, _, _ := strings.Cut(text.String(), `{"over"`)
	var b Board
	for _, garbage := range []string{"\n", "x\n", `{"snapshot":{}}` + "\n", `{"head":{"end":-1,"assertions":["x"]}}` + "\n", `{"snapshot":{"interval":{"t_s":-1e300,"hdr":"x","in_flight_max":-5,"ok":18446744073709551615}}}` + "\n", strings.Repeat("x", 3*maxMessage), "\n"} {
		fmt.Fprint(&b, garbage)
		_ = b.View(80, 24, Rich, "")
	}
	if cap(b.rest) > 4*maxMessage {
		t.Errorf("%d bytes wait", cap(b.rest))
	}
	for _, c := range []byte(whole) {
		_, _ = b.Write([]byte{c})
	}
	if lines := b.View(80, 24, Mono, ""); len(lines) != 24 || !strings.HasPrefix(lines[0], "takt http") {
		t.Errorf("%q", lines)
	}
}

type stuck struct{ err error }

func (s stuck) Write([]byte) (int, error) {
	if s.err == nil {
		select {}
	}
	return 0, s.err
}

// A reader that hangs or is gone does not delay a run.
func TestFeedNeverWaits(t *testing.T) {
	for _, w := range []io.Writer{stuck{errors.New("gone")}, stuck{}} {
		f := Feed(w)
		f.Begin(head(), time.Now())
		for range 10 * waiting {
			f.Second(Snapshot{})
		}
		f.End(nil)
	}
}
