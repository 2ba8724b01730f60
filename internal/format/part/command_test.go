package part

import "testing"

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"--rate": "--rate", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "http://h/?a=1&b": "'http://h/?a=1&b'"} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
