package kept

import (
	"strings"
	"testing"
)

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"/home/a_b/takt.db":              "/home/a_b/takt.db",
		"elasticsearch://u@h:9200/index": "elasticsearch://u@h:9200/index",
		"":                               "''",
		"a b":                            "'a b'",
		"$HOME":                          "'$HOME'",
		"it's":                           `'it'\''s'`,
		"a\nb":                           "'a\nb'",
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestBadID(t *testing.T) {
	for id, bad := range map[string]bool{
		"01JD3A": false, "größe-1": false, strings.Repeat("x", 512): false,
		"": true, " ": true, "a b": true, "a\x00": true, "\x1b[31m": true, "a\u2028b": true, "\ufffd": true, strings.Repeat("x", 513): true,
	} {
		if err := badID(id); (err != nil) != bad {
			t.Errorf("%q: %v", id, err)
		}
	}
}
