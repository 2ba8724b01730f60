package files

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A byte order mark at the beginning is no part of a text, however it comes; one in its middle is.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "\ufeff": "", "\ufeffa\n": "a\n", "a\ufeff": "a\ufeff", "\ufeff\ufeffa": "\ufeffa",
		"\xef": "\xef", "\xef\xbb": "\xef\xbb", "\xef\xbbx": "\xef\xbbx", "\xffx": "\xffx", "\xff": "\xff", "\xfe\xfd": "\xfe\xfd",
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in)), "small reads": strings.NewReader(in), "with its end": iotest.DataErrReader(strings.NewReader(in)),
		} {
			r = Text(r)
			if name == "small reads" {
				r = iotest.OneByteReader(r)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != want {
				t.Errorf("%q, %s: %q, %v", in, name, got, err)
			}
		}
		if got := string(TextOf([]byte(in))); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for _, in := range []string{"\xff\xfea\x00", "\xfe\xff\x00a", "\xff\xfe"} {
		if got, err := io.ReadAll(Text(iotest.OneByteReader(strings.NewReader(in)))); !errors.Is(err, ErrUTF16) || len(got) > 0 {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	broken := errors.New("broken")
	if got, err := io.ReadAll(Text(io.MultiReader(strings.NewReader("\ufeffab"), iotest.ErrReader(broken)))); string(got) != "ab" || err != broken {
		t.Errorf("%q, %v", got, err)
	}
}

// What a pipe brought is passed on before more is asked for.
func TestTextOfAPipe(t *testing.T) {
	r, w := io.Pipe()
	go w.Write([]byte("a\n"))
	b := make([]byte, 10)
	if n, err := Text(r).Read(b); string(b[:n]) != "a\n" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	w.Close()
}
