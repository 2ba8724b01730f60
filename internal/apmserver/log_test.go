package apmserver

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	l := NewLog()
	for i := range LogLines + 500 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	for _, test := range []struct {
		n       int
		pattern string
		want    string
	}{
		{2, "", "line 1498|line 1499"},
		{3, "line 99", "line 997|line 998|line 999"},
		{2, "line 50", "line 508|line 509"},
		{2, "line 49", ""}, // 490 to 499 are gone
		{0, "", ""},
	} {
		var got []string
		for _, line := range l.Tail(test.n, test.pattern) {
			got = append(got, line.Text)
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	if all := l.Tail(1<<20, ""); len(all) != LogLines || all[0].Text != "line 500" {
		t.Errorf("%d lines from %v", len(all), all[0])
	}
}

// Lines come in pieces, with or without an end, and may be very long.
func TestLogPieces(t *testing.T) {
	l := NewLog()
	for _, piece := range []string{"a", "b\r\nc\n", "\n", strings.Repeat("x", 3*lineBytes), "y\nend"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Error(n, err)
		}
	}
	var out strings.Builder
	Print(&out, l.Tail(10, ""), false)
	if want := "ab\nc\n\n" + strings.Repeat("x", lineBytes) + "\nend\n"; out.String() != want {
		t.Errorf("%.100q", out.String())
	}
}

func TestPrint(t *testing.T) {
	l := NewLog()
	fmt.Fprint(l, "2018-05-18\tERROR\tx\nError: y\n{\"log.level\":\"error\"}\nWARN z\n{\"log.level\":\"warn\"}\nINFO \x1b[2Jw\n")
	var out strings.Builder
	Print(&out, l.Tail(10, ""), true)
	want := "\x1b[31m2018-05-18\tERROR\tx\x1b[0m\n\x1b[31mError: y\x1b[0m\n\x1b[31m{\"log.level\":\"error\"}\x1b[0m\n" +
		"\x1b[33mWARN z\x1b[0m\n\x1b[33m{\"log.level\":\"warn\"}\x1b[0m\n\x1b[37mINFO [2Jw\x1b[0m\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}
