package shell

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Two readers at different paces see the same; what a slow one has missed it is told.
func TestLog(t *testing.T) {
	l := newLog("")
	fmt.Fprint(l, "one\r\ntwo\x1b[2J\u0085\n")
	p := l.read(0)
	if string(p.text) != "one\ntwo·[2J·\n" || p.skipped != 0 || p.ended {
		t.Fatalf("%+v", p)
	}
	line := []byte(strings.Repeat("x", 99) + "\n")
	written := p.next
	for range 2 * maxLog / len(line) {
		_, _ = l.Write(line)
		written += int64(len(line))
	}
	select {
	case <-p.more:
	default:
		t.Error("the reader was not told")
	}
	if l.end() != written || len(l.kept) > maxLog {
		t.Errorf("the end is at %d of %d, and %d bytes are kept", l.end(), written, len(l.kept))
	}
	l.close()
	var rest bytes.Buffer
	for at := p.next; ; {
		p := l.read(at)
		at = p.next
		rest.Write(p.text)
		if p.skipped > 0 {
			rest.WriteString("skipped\n")
		}
		if p.ended {
			break
		}
	}
	text := strings.Split(rest.String(), "\n")
	if len(text[0]) != 99 || rest.Len() < maxLog/3 || strings.Count(rest.String(), "skipped") != 1 {
		t.Errorf("%d bytes, the first line %q", rest.Len(), text[0])
	}
}
