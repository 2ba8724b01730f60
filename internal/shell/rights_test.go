package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	var n names
	for _, text := range []string{"shop=https://ann:tigerlily@shop.example/api/", "kafka=broker:9092"} {
		if err := n.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "shop", "shop=", "shop=tigerlily", "-x=http://h", "a b=http://h", "shop=/tigerlily", "x=ann:tigerlily@h:1"} {
		if err := n.Set(bad); err == nil || strings.Contains(err.Error(), "tigerlily") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if strings.Contains(n.String(), "tigerlily") {
		t.Error(n.String())
	}
	for word, want := range map[string]string{
		"@shop": "https://ann:tigerlily@shop.example/api/", "@shop/a?b=@shop": "https://ann:tigerlily@shop.example/api/a?b=@shop", "@shop?x": "https://ann:tigerlily@shop.example/api/?x",
		"--brokers=@kafka": "--brokers=broker:9092", "@kafka": "broker:9092",
		"@": "@", "@-1": "@-1", "@Shop": "@Shop", "@shopping": "@shopping", "x@shop": "x@shop", "a=@shop": "a=@shop", "@shop@h": "@shop@h",
	} {
		got, named := n.resolve([]string{word})
		if got[0] != want || (named[0] != "") != (got[0] != word) {
			t.Errorf("%s: %s, %v", word, got[0], named[0])
		}
	}
	for _, c := range []struct{ line, want string }{
		{"http @nobody", "@nobody"}, {"http -D @file http://h", ""}, {"verify --base @-1 -- http http://h", ""}, {"http http://h", ""}, {"http @nobody/x", "@nobody/x"},
	} {
		if got := unresolved(strings.Fields(c.line)); got != c.want {
			t.Errorf("%s: %q", c.line, got)
		}
	}
}

// The parts of permissions that reload changes are copies.
func TestPermitsClone(t *testing.T) {
	p := Permits{Allow: []string{"a"}, Targets: names{"a": "http://a"}, Folders: folders{"a": "/a"}}
	c := p.clone()
	if err := c.apply([]Setting{{"f:1", "target", "b=http://b"}, {"f:2", "allow-target", "c"}, {"f:3", "apm-folder", "b=/b"}}); err != nil {
		t.Fatal(err)
	}
	if len(p.Targets) != 1 || len(p.Folders) != 1 || len(p.Allow) != 1 || !slices.Contains(c.Allow, "c") {
		t.Errorf("%+v %+v", p, c)
	}
	err := c.apply([]Setting{{"f:1", "addr", "0.0.0.0:1"}, {"f:2", "apm-setting", "path.data"}})
	if err == nil || !strings.Contains(err.Error(), "f:1: addr is not a setting of a team file") || !strings.Contains(err.Error(), "path.data") {
		t.Error(err)
	}
}
