package shell

import (
	"slices"
	"strings"
	"testing"
)

// Tab completes the flags of the command that the line, or the part behind the last ;, begins with.
func TestTabCompletesFlags(t *testing.T) {
	c := &session{server: &Server{host: Host{Flags: func(line []string) []string {
		if len(line) == 0 || line[0] != "http" {
			return nil
		}
		return []string{"--rate", "--redirects", "--requests"}
	}}}}
	for line, want := range map[string]string{
		"http --ra":             "http --rate ",
		"status; http --ra":     "status; http --rate ",
		"http -n 5 --red":       "http -n 5 --redirects ",
		"http --re":             "http --re", // two
		"http --x":              "http --x",
		"jms --ra":              "jms --ra",
		"http x; status ; --ra": "http x; status ; --ra",
		"--ra":                  "--ra",
	} {
		got, at, ok := c.complete(line, len(line), keyTab)
		if got != want || at != len(want) || !ok {
			t.Errorf("%q: %q at %d", line, got, at)
		}
	}
	if _, _, ok := c.complete("http --ra", 9, 'x'); ok {
		t.Error("another key completes")
	}
}

// words has commands and flags for rlwrap -f, each once, and in order.
func TestEveryWord(t *testing.T) {
	c := &session{user: &user{}, server: &Server{host: Host{Flags: func([]string) []string { return []string{"--rate"} }}}}
	list := c.everyWord()
	if !slices.IsSorted(list) || strings.Count(strings.Join(list, " ")+" ", "--rate ") != 1 || !slices.Contains(list, "status") || !slices.Contains(list, "http") {
		t.Errorf("%q", list)
	}
}
