package value_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/taktload/takt/internal/foreign"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, text, line, lines string }{
		{"plain é 漢 😀", "plain é 漢 😀", "plain é 漢 😀", "plain é 漢 😀"},
		{"\x1b]0;owned\a\x1b[31mred", "·]0;owned··[31mred", "·]0;owned··[31mred", "·]0;owned··[31mred"},
		{"c1 \u009b2J \u0085 del \x7f", "c1 ·2J   del ·", "c1 ·2J del ·", "c1 ·2J · del ·"},
		{"gnp\u202eexe\u2066\u200f\u061c", "gnp·exe···", "gnp·exe···", "gnp·exe···"},
		{"zero\u200b\ufeff\u00ad width", "zero··· width", "zero··· width", "zero··· width"},
		{"a\r\nb\tc  d\u2028e", "a  b c  d e", "a b c d e", "a\nb\tc  d·e"},
		{"no UTF-8 \xff\x9b2J \ufffd", "no UTF-8 ··2J ·", "no UTF-8 ··2J ·", "no UTF-8 ··2J ·"},
		{"\x00\x08\x0b", "·· ", "··", "···"},
		{"", "", "", ""},
	} {
		if text, line, lines := foreign.Text(c.in), foreign.Line(c.in), foreign.Lines(c.in); text != c.text || line != c.line || lines != c.lines {
			t.Errorf("%q: %q, %q, %q", c.in, text, line, lines)
		}
	}
	if got := foreign.Cut("a\x1bb  cdefg", 6); got != "a·b c…" {
		t.Errorf("cut to %q", got)
	}
	if got := foreign.Cut(strings.Repeat("漢", 6), 6); got != strings.Repeat("漢", 6) {
		t.Errorf("cut to %q", got)
	}
}

// Whatever comes in, nothing comes out that a terminal acts on.
func FuzzText(f *testing.F) {
	f.Add("\x1b[2J\u202e\u009b\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range foreign.Text(s) + foreign.Line(s) + foreign.Cut(s, 10) + strings.NewReplacer("\n", "", "\t", "").Replace(foreign.Lines(s)) {
			if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
				t.Fatalf("%q keeps %U", s, r)
			}
		}
	})
}
