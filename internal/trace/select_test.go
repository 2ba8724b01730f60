package trace

import (
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// uris reads a stream to its end.
func uris(t *testing.T, s Stream) string {
	t.Helper()
	var parts []string
	var rec Record
	for {
		err := s.Next(&rec)
		if err == io.EOF {
			return strings.Join(parts, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(rec.Method)+string(rec.URI))
	}
}

func TestSelect(t *testing.T) {
	var records []Record
	for i, method := range []string{"GET", "HEAD", "POST", "DELETE", "GET"} {
		records = append(records, Record{Method: []byte(method), URI: fmt.Appendf(nil, "/%d", i), Status: []int{200, 304, 201, 404, 500}[i]})
	}
	for want, rules := range map[string]Rules{
		"GET/0 HEAD/1 GET/4":                 {},
		"POST/2":                             {Methods: []string{"POST"}},
		"GET/0 HEAD/1 POST/2 DELETE/3 GET/4": {Methods: []string{"*"}, Share: 1},
		"HEAD/1 GET/4":                       {Path: regexp.MustCompile("[1-9]")},
		"GET/0 HEAD/1":                       {NotPath: regexp.MustCompile("4$")},
		"GET/0 DELETE/3":                     {Methods: []string{"GET", "DELETE"}, Statuses: Statuses{{200, 299}, {404, 404}}},
	} {
		s := Select(&list{records: records}, rules)
		if got := uris(t, s); got != want {
			t.Errorf("%+v: %s, want %s", rules, got, want)
		}
		if c := s.Counts(); c.Kept+c.Method+c.Path+c.Status+c.Client != 5 {
			t.Errorf("%+v: the counts do not add up: %+v", rules, c)
		}
	}
	s := Select(&list{records: records}, Rules{Path: regexp.MustCompile("0"), Statuses: Statuses{{500, 599}}})
	if got := uris(t, s); got != "" || s.Counts() != (Selected{Method: 2, Path: 2, Status: 1}) {
		t.Errorf("%s %+v", got, s.Counts())
	}
}

// A share of the clients is kept, with all their requests, the same ones each time;
// a greater share has all of a smaller one. 10 000 clients at 10 % give 1000 ± 30
// (one sigma).
func TestShareOfClients(t *testing.T) {
	kept := map[float64]map[string]int{}
	for _, share := range []float64{0.1, 0.5} {
		var records []Record
		addr := netip.MustParseAddr("10.1.0.0")
		for range 10_000 {
			for range 2 {
				records = append(records, Record{Method: []byte("GET"), URI: []byte("/"), Client: []byte(addr.String())})
			}
			addr = addr.Next()
		}
		kept[share] = map[string]int{}
		s := Select(&list{records: records}, Rules{Share: share})
		var rec Record
		for s.Next(&rec) == nil {
			kept[share][string(rec.Client)]++
		}
		if n := float64(len(kept[share])); n < 10_000*share-150 || n > 10_000*share+150 {
			t.Errorf("of 10 000 clients %v were kept at %v", n, share)
		}
	}
	for client, n := range kept[0.1] {
		if n != 2 || kept[0.5][client] != 2 {
			t.Errorf("%s has %d and %d requests", client, n, kept[0.5][client])
		}
	}
	// Without clients each line decides for itself.
	n := 0
	for line := range 10_000 {
		if hash(&Record{Line: line}) < 1<<63 {
			n++
		}
	}
	if n < 4850 || n > 5150 {
		t.Errorf("%d of 10 000 lines are in the lower half", n)
	}
}

func TestStatuses(t *testing.T) {
	for text, want := range map[string]string{"200": "200-200", "2xx,404": "200-299,404-404", "200-299, 50x": "200-299,500-509", "444": "444-444"} {
		var s Statuses
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%s: %v %v", text, &s, err)
		}
	}
	for _, text := range []string{"", "20", "abc", "299-200", "200-", "2000", "x-x"} {
		var s Statuses
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %v", text, &s)
		}
	}
}

func TestPart(t *testing.T) {
	var records []Record
	for i := range 5 {
		records = append(records, Record{URI: fmt.Appendf(nil, "/%d", i)})
	}
	for _, c := range []struct {
		from, n uint64
		want    string
	}{{0, 0, "/0 /1 /2 /3 /4"}, {2, 0, "/2 /3 /4"}, {1, 2, "/1 /2"}, {4, 9, "/4"}, {9, 1, ""}} {
		if got := uris(t, Part(&list{records: records}, c.from, c.n)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestRewrite(t *testing.T) {
	sub := func(s string) []Substitution {
		c, err := ParseSubstitution(s)
		if err != nil {
			t.Fatal(err)
		}
		return []Substitution{c}
	}
	for _, c := range []struct {
		how     Rewriting
		uri     string
		want    string
		removed uint64
	}{
		{Rewriting{}, "/a?b=c&d", "/a?b=c&d", 0},
		{Rewriting{}, "/a?token=x", "/a", 1},
		{Rewriting{}, "/a?b=c&Access_Token=x&d=e", "/a?b=c&d=e", 1},
		{Rewriting{}, "/a?sig=1&b=c&PASSWORD=&x=token", "/a?b=c&x=token", 2},
		{Rewriting{}, "/a?token&tokens=1&code=7&key=8", "/a?token&tokens=1&code=7&key=8", 0},
		{Rewriting{}, "/a;jsessionid=77/b;v=1?x=1", "/a;v=1?x=1", 1},
		{Rewriting{}, "/a?X-Amz-Signature=1&X-Amz-Credential=2&x", "/a?x", 2},
		{Rewriting{}, "/a?" + strings.Repeat("n", 40) + "=1", "/a?" + strings.Repeat("n", 40) + "=1", 0},
		{Rewriting{}, "/token=x?", "/token=x?", 0},
		{Rewriting{KeepTokens: true}, "/a?token=x", "/a?token=x", 0},
		{Rewriting{Strip: "/old"}, "/x/old/y?/old", "/x/y?/old", 0},
		{Rewriting{Strip: "/old"}, "/old", "/", 0},
		{Rewriting{Strip: "/old/"}, "/old/x?a", "/x?a", 0},
		{Rewriting{Strip: "?a"}, "/x?a", "/x?a", 0},
		{Rewriting{Changes: sub("^/old/(.*)=>/new/$1")}, "/old/x?a", "/new/x?a", 0},
		{Rewriting{Changes: sub("^/=>")}, "/x", "/x", 0},
		{Rewriting{Changes: append(sub("a=>b"), sub("b=>c")...)}, "/ab", "/cc", 0},
		{Rewriting{Strip: "/s", Changes: sub("^/x$=>/y")}, "/s/x?token=1", "/y", 1},
	} {
		w := Rewrite(&list{records: []Record{{URI: []byte(c.uri)}}}, c.how)
		if got := uris(t, w); got != c.want || w.Removed() != c.removed {
			t.Errorf("%s: %s, %d removed; want %s", c.uri, got, w.Removed(), c.want)
		}
	}
	var rec Record
	w := Rewrite(&list{records: []Record{{Host: []byte("h")}}}, Rewriting{Scheme: "https", Host: "other:8"})
	if err := w.Next(&rec); err != nil || string(rec.Scheme) != "https" || string(rec.Host) != "other:8" {
		t.Errorf("%s %s %v", rec.Scheme, rec.Host, err)
	}
	for _, text := range []string{"", "=>x", "a", "(=>x", "a=>b c", "a=>ü"} {
		if _, err := ParseSubstitution(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if names := tokenNames(); len(Rewrite(nil, Rewriting{}).tokens) != len(names) {
		t.Error("a name stands twice")
	} else {
		for _, name := range names {
			if name != strings.ToLower(name) || len(name) > 32 {
				t.Errorf("%s can never match", name)
			}
		}
	}
}
