package http

import (
	"strings"
	"testing"
)

// The first --connect-to that fits decides, with all others for the same host and port.
func TestDetours(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "a.test:80",
		"a.test:80:b.test:81":                   "b.test:81",
		"a.test:80:b.test:81 a.test:80:c.test:": "b.test:81 c.test:80",
		"A.test:80:b.test: c.test:80:d.test: a.test:80:e.test:": "b.test:80 e.test:80",
		"::b.test: a.test:80:c.test: ::d.test:":                 "b.test:80 d.test:80",
		"a.test::b.test: a.test:80:c.test:":                     "b.test:80",
		"c.test:80:b.test:81":                                   "a.test:80",
	} {
		var c ConnectTo
		for _, one := range strings.Fields(text) {
			if err := c.Set(one); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(c.detours("a.test:80"), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
