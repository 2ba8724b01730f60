package trace_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

// A rewriting keeps a URI one that can be sent, and leaves no token in it.
func FuzzRewrite(f *testing.F) {
	f.Add("/a;jsessionid=1?token=2&b", "/a")
	f.Add("/?sig=1", "?")
	f.Fuzz(func(t *testing.T, uri, strip string) {
		if !strings.HasPrefix(uri, "/") || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return
		}
		var rec trace.Record
		w := trace.Rewrite(&tracetest.List{Records: []trace.Record{{Method: []byte("GET"), URI: []byte(uri), Latency: trace.Unknown, Transfer: trace.Unknown}}}, trace.Rewriting{Strip: strip})
		if err := w.Next(&rec); err != nil {
			t.Fatal(err)
		}
		tracetest.Check(t, &rec)
		again := trace.Rewrite(&tracetest.List{Records: []trace.Record{{URI: bytes.Clone(rec.URI)}}}, trace.Rewriting{})
		if strip == "" && (again.Next(&rec) != nil || again.Left().Count(trace.Without) != 0) {
			t.Fatalf("%q still has a token", rec.URI)
		}
	})
}

func TestRewrite(t *testing.T) {
	sub := func(s string) []trace.Substitution {
		c, err := trace.ParseSubstitution(s)
		if err != nil {
			t.Fatal(err)
		}
		return []trace.Substitution{c}
	}
	for _, c := range []struct {
		how     trace.Rewriting
		uri     string
		want    string
		removed uint64 // requests that lost parameters
	}{
		{trace.Rewriting{}, "/a?b=c&d", "/a?b=c&d", 0},
		{trace.Rewriting{}, "/a?token=x", "/a", 1},
		{trace.Rewriting{}, "/a?b=c&Access_Token=x&d=e", "/a?b=c&d=e", 1},
		{trace.Rewriting{}, "/a?sig=1&b=c&PASSWORD=&x=token", "/a?b=c&x=token", 1},
		{trace.Rewriting{}, "/a?token&tokens=1&code=7&key=8", "/a?token&tokens=1&code=7&key=8", 0},
		{trace.Rewriting{}, "/a;jsessionid=77/b;v=1?x=1", "/a;v=1?x=1", 1},
		{trace.Rewriting{}, "/a?X-Amz-Signature=1&X-Amz-Credential=2&x", "/a?x", 1},
		{trace.Rewriting{}, "/a?" + strings.Repeat("n", 40) + "=1", "/a?" + strings.Repeat("n", 40) + "=1", 0},
		{trace.Rewriting{}, "/token=x?", "/token=x?", 0},
		{trace.Rewriting{KeepTokens: true}, "/a?token=x", "/a?token=x", 0},
		{trace.Rewriting{Strip: "/old"}, "/x/old/y?/old", "/x/y?/old", 0},
		{trace.Rewriting{Strip: "/old"}, "/old", "/", 0},
		{trace.Rewriting{Strip: "/old/"}, "/old/x?a", "/x?a", 0},
		{trace.Rewriting{Strip: "?a"}, "/x?a", "/x?a", 0},
		{trace.Rewriting{Changes: sub("^/old/(.*)=>/new/$1")}, "/old/x?a", "/new/x?a", 0},
		{trace.Rewriting{Changes: sub("^/=>")}, "/x", "/x", 0},
		{trace.Rewriting{Changes: append(sub("a=>b"), sub("b=>c")...)}, "/ab", "/cc", 0},
		{trace.Rewriting{Strip: "/s", Changes: sub("^/x$=>/y")}, "/s/x?token=1", "/y", 1},
	} {
		w := trace.Rewrite(&tracetest.List{Records: []trace.Record{{URI: []byte(c.uri)}}}, c.how)
		if got := tracetest.URIs(t, w); got != c.want || w.Left().Count(trace.Without) != c.removed {
			t.Errorf("%s: %s, %d removed; want %s", c.uri, got, w.Left().Count(trace.Without), c.want)
		}
	}
	var rec trace.Record
	w := trace.Rewrite(&tracetest.List{Records: []trace.Record{{Host: []byte("h")}}}, trace.Rewriting{Scheme: "https", Host: "other:8"})
	if err := w.Next(&rec); err != nil || string(rec.Scheme) != "https" || string(rec.Host) != "other:8" {
		t.Errorf("%s %s %v", rec.Scheme, rec.Host, err)
	}
	for _, text := range []string{"", "=>x", "a", "(=>x", "a=>b c", "a=>ü"} {
		if _, err := trace.ParseSubstitution(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for i, name := range trace.TokenNames() {
		if slices.Contains(trace.TokenNames()[:i], name) {
			t.Errorf("%s stands twice", name)
		}
		if name != strings.ToLower(name) || len(name) > 32 {
			t.Errorf("%s can never match", name)
		}
	}
}

// docs/traces.md names every token.
func TestTokensAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range trace.TokenNames() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is not in docs/traces.md", name)
		}
	}
}
