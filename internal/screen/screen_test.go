package screen

import "testing"

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "q": "q", " ?": " ?", "\x1b": "", "\x1b[A": "", "\x1bOq": "", "\x1b[1;5Qq": "q", "a\x1b[200~b": "ab", "\x1b[": "", "\x1bxq": "q", "\x1b[12": "",
	} {
		if got := string(keysOf([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
