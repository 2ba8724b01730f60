package door

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	for _, c := range []struct{ text, fault string }{
		{"# ours\n\nann 12345678\nbob  abcdefgh run\r\neve ABCDEFGH look\nbob 87654321 look", ""},
		{"ann\n", ":1: write NAME TOKEN"},
		{"../ann 12345678\n", ":1: write NAME TOKEN"},
		{"ann 12345678 look more\n", ":1: write NAME TOKEN"},
		{"\nann 12345678 boss\n", ":2: the third word of ann is not a role; write look, run or admin"},
		{"ann 1234567\n", ":1: the token of ann is shorter than 8"},
		{"# none\n", "has no tokens"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadTokens(path)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "1234567\"") {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		if err != nil || !is(all, "12345678", "ann", RoleRun) || !is(all, "abcdefgh", "bob", RoleRun) || !is(all, "ABCDEFGH", "eve", RoleLook) || !is(all, "87654321", "bob", RoleLook) {
			t.Errorf("%q: %v, %v", c.text, all, err)
		}
		for _, wrong := range []string{"", "12345679", "look", "ann"} {
			if one := all.Find(wrong); one != nil {
				t.Errorf("%q is the token of %v", wrong, one)
			}
		}
	}
}

func is(all Tokens, text, user string, r Role) bool {
	one := all.Find(text)
	return one != nil && one.User == user && one.Role == r
}

// Three tries a minute for each address; what is remembered of addresses is bounded.
func TestTries(t *testing.T) {
	tr := &Tries{all: map[string][]time.Time{}}
	at := time.Unix(0, 0)
	for i, want := range []bool{true, true, true, false, false} {
		if got := tr.Take("a", at.Add(time.Duration(i)*time.Second)); got != want {
			t.Errorf("try %d: %v", i, got)
		}
	}
	if !tr.Take("b", at) || !tr.Take("a", at.Add(TryTime)) || tr.Take("a", at.Add(TryTime)) {
		t.Error("a try counts for a minute, and for its address")
	}
	tr.forgive("a")
	if !tr.Take("a", at.Add(TryTime)) {
		t.Error("a right token forgives")
	}
	for i := range maxAddresses + 10 {
		tr.Take(fmt.Sprint(i), at)
	}
	if tr.Take("new", at) || len(tr.all) > maxAddresses || !tr.Take("new", at.Add(2*TryTime)) {
		t.Errorf("%d addresses are remembered", len(tr.all))
	}
}
