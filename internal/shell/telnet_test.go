package shell

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
)

// reading is a telnet that reads in and keeps what it answers.
func reading(in string) (tn *telnet, answered *bytes.Buffer, events *[]string) {
	answered, events = &bytes.Buffer{}, &[]string{}
	tn = &telnet{
		in: bufio.NewReader(strings.NewReader(in)), answer: func(b []byte) { answered.Write(b) },
		interrupt: func() { *events = append(*events, "interrupt") },
	}
	tn.window = func(w, h int) { *events = append(*events, strings.Repeat("w", w)+strings.Repeat("h", h)) }
	return tn, answered, events
}

func TestTelnetLines(t *testing.T) {
	for _, c := range []struct{ name, in, lines, answer, events string }{
		{"line ends", "a\nb\r\nc\r\x00d\re\n\n", "a|b|c|d|e||", "", ""},
		{"cut at the end", "a\nquit", "a|", "", ""},
		{"a byte of 255", "a\xff\xffb\n", "a\xffb|", "", ""},
		{"asked for an option", "\xff\xfd\x18s\xff\xfb\x1ft\n", "st|", "\xff\xfc\x18\xff\xfe\x1f", ""},
		{"refusals end it", "\xff\xfc\x18\xff\xfe\x1fs\n", "s|", "", ""},
		{"Ctrl-C of a telnet", "stat\xff\xf4\xff\xfd\x06queue\n", "queue|", "\xff\xfc\x06", "interrupt"},
		{"Ctrl-C of a key", "stat\x03queue\n", "queue|", "", "interrupt"},
		{"a window", "\xff\xfa\x1f\x00\x03\x00\x02\xff\xf0s\n", "s|", "", "wwwhh"},
		{"another option", "\xff\xfa\x18\x00xterm\xff\xf0s\n", "s|", "", ""},
		{"go ahead, nothing", "\xff\xf9\xff\xf1s\n", "s|", "", ""},
		{"a command cut", "s\n\xff", "s|", "", ""},
	} {
		tn, answered, events := reading(c.in)
		var got strings.Builder
		for {
			line, err := tn.line()
			if err != nil {
				break
			}
			got.WriteString(line + "|")
		}
		if got.String() != c.lines || answered.String() != c.answer || strings.Join(*events, " ") != c.events {
			t.Errorf("%s: lines %q, answer %q, events %q", c.name, got.String(), answered, *events)
		}
	}
}

// A line that is too long is lost as a whole, and the next one is read.
func TestLongLine(t *testing.T) {
	tn, _, _ := reading(strings.Repeat("x", 1<<20) + "\nstatus\n" + strings.Repeat("y", maxLine) + "\n")
	if line, err := tn.line(); err != errLongLine {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	if line, err := tn.line(); line != "status" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if line, err := tn.line(); len(line) != maxLine || err != nil {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}

// Whatever comes, lines are bounded, have no end of a line in them, and the answers are
// no more than what was asked.
func FuzzTelnet(f *testing.F) {
	for _, in := range []string{"status\r\n", "\xff\xfd\x06", "\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0", "\xff\xff\x03\r\x00", "\xff\xfa" + strings.Repeat("x", 100)} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		tn, answered, _ := reading(in)
		for {
			line, err := tn.line()
			if len(line) > maxLine || strings.ContainsAny(line, "\r\n\x03") && !strings.Contains(in, "\xff\xff") {
				t.Errorf("the line %q", line)
			}
			if err != nil && err != errLongLine {
				break
			}
		}
		if answered.Len() > len(in) {
			t.Errorf("%d bytes are answered to %d", answered.Len(), len(in))
		}
	})
}

// Keys for the editor: Enter is a carriage return, and Ctrl-C empties the line.
func TestKeys(t *testing.T) {
	tn, _, events := reading("a\r\x00\x03b")
	all, err := io.ReadAll(tn)
	if string(all) != "a\r\x05\x15b" || err != nil || len(*events) != 1 {
		t.Errorf("%q, %v, %q", all, err, *events)
	}
}
