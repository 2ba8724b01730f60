package shell

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
		all, err := readTokens(path)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "1234567\"") {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		if err != nil || !is(all, "12345678", "ann", roleRun) || !is(all, "abcdefgh", "bob", roleRun) || !is(all, "ABCDEFGH", "eve", roleLook) || !is(all, "87654321", "bob", roleLook) {
			t.Errorf("%q: %v, %v", c.text, all, err)
		}
		for _, wrong := range []string{"", "12345679", "look", "ann"} {
			if one := all.find(wrong); one != nil {
				t.Errorf("%q is the token of %v", wrong, one)
			}
		}
	}
}

func is(all tokens, text, user string, r role) bool {
	one := all.find(text)
	return one != nil && one.user == user && one.role == r
}

// Three tries a minute for each address; what is remembered of addresses is bounded.
func TestTries(t *testing.T) {
	tr := &tries{all: map[string][]time.Time{}}
	at := time.Unix(0, 0)
	for i, want := range []bool{true, true, true, false, false} {
		if got := tr.take("a", at.Add(time.Duration(i)*time.Second)); got != want {
			t.Errorf("try %d: %v", i, got)
		}
	}
	if !tr.take("b", at) || !tr.take("a", at.Add(tryTime)) || tr.take("a", at.Add(tryTime)) {
		t.Error("a try counts for a minute, and for its address")
	}
	tr.forgive("a")
	if !tr.take("a", at.Add(tryTime)) {
		t.Error("a right token forgives")
	}
	for i := range maxAddresses + 10 {
		tr.take(fmt.Sprint(i), at)
	}
	if tr.take("new", at) || len(tr.all) > maxAddresses || !tr.take("new", at.Add(2*tryTime)) {
		t.Errorf("%d addresses are remembered", len(tr.all))
	}
}

func TestAllow(t *testing.T) {
	list, err := parseTargets([]string{"example.com", "other.com:81", "10.0.0.0/8", "::1", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"example.com": true, "Example.com:8080": true, "sub.example.com": false, "other.com:81": true, "other.com:82": false, "other.com": false,
		"10.1.2.3": true, "10.1.2.3:80": true, "11.1.2.3": false, "::1": true, "[::1]:80": true, "[fd00::2]:1": true, "::ffff:10.0.0.1": true, "": false,
	} {
		if list.allows(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
	for _, bad := range []string{"", "http://h/", "*.com", "a b", "10.0.0.0/99"} {
		if _, err := parseTargets([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		o      Options
		faults string
	}{
		{Options{Addr: defaultAddr}, ""},
		{Options{Addr: "localhost:0"}, ""},
		{Options{Addr: "[::1]:1"}, ""},
		{Options{Addr: "none", Unix: "/x"}, ""},
		{Options{Addr: "none"}, "leaves nothing"},
		{Options{Addr: "8234"}, "bad --addr"},
		{Options{Addr: ":8234"}, "give --token-file|without TLS"},
		{Options{Addr: "0.0.0.0:1", TokenFile: "t"}, "without TLS"},
		{Options{Addr: "0.0.0.0:1", TokenFile: "t", Insecure: true}, ""},
		{Options{Addr: "0.0.0.0:1", Insecure: true}, "give --token-file"},
		{Options{Addr: "0.0.0.0:1", TokenFile: "t", Cert: "c", Key: "k"}, ""},
		{Options{Addr: defaultAddr, HTTP: "127.0.0.1:0"}, ""},
		{Options{Addr: "none", HTTP: "127.0.0.1:0"}, ""},
		{Options{Addr: defaultAddr, HTTP: "8235"}, "bad --http"},
		{Options{Addr: defaultAddr, HTTP: "0.0.0.0:1"}, "--http 0.0.0.0:1 can be reached|without TLS"},
		{Options{Addr: defaultAddr, HTTP: "0.0.0.0:1", TokenFile: "t"}, "without TLS"},
		{Options{Addr: defaultAddr, HTTP: "0.0.0.0:1", TokenFile: "t", Insecure: true}, ""},
		{Options{Addr: defaultAddr, Cert: "c", Permits: Permits{Allow: []string{"/"}}}, "belong together|bad --allow-target"},
	} {
		faults := c.o.Validate()
		var want []string
		if c.faults != "" {
			want = strings.Split(c.faults, "|")
		}
		if len(faults) != len(want) {
			t.Errorf("%+v: %v", c.o, faults)
			continue
		}
		for i, f := range faults {
			if !strings.Contains(f.Error(), want[i]) {
				t.Errorf("%+v: %v, want %s", c.o, f, want[i])
			}
		}
	}
}
