package main

import (
	"slices"
	"testing"
)

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"github.com/olivere/elastic/v7.(*Client).Do":                     "github.com/olivere/elastic/v7",
		"gopkg.in/yaml%2ev3.Marshal":                                     "gopkg.in/yaml.v3",
		"slices.SortFunc[go.shape.[]github.com/twmb/franz-go/pkg/kgo.T]": "slices",
		"type:.eq.github.com/spf13/pflag.Flag":                           "github.com/spf13/pflag",
		"runtime.mallocgc":                                               "runtime",
		"main.main":                                                      "main",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("%s: %s, want %s", symbol, got, want)
		}
	}
}

func TestParts(t *testing.T) {
	got := parts([]byte("  4a0 100 T a/b.F\n  5a0 20 t a/b.g\n  6a0 8 D a/b.v\n  7a0 4096 B a/b.zero\n        U c.x\n"))
	if want := (part{code: 120, data: 8, functions: 2}); got["a/b"] != want {
		t.Errorf("%+v", got)
	}
}

// What another package imports, too, stays.
func TestAlone(t *testing.T) {
	of := func(path string) *struct{ Path string } { return &struct{ Path string }{path} }
	all := map[string]pkg{
		root:         {Imports: []string{"m/a", "n/a"}, Module: of("takt")},
		"m/a":        {Imports: []string{"m/b", "both", "only"}, Module: of("m")},
		"m/b":        {Module: of("m")},
		"n/a":        {Imports: []string{"both"}, Module: of("n")},
		"both":       {},
		"only":       {Imports: []string{"old"}, ImportMap: map[string]string{"old": "vendor/old"}},
		"vendor/old": {},
	}
	var got []string
	for path, is := range alone(all, "m") {
		if is {
			got = append(got, path)
		}
	}
	slices.Sort(got)
	if want := []string{"m/a", "m/b", "only", "vendor/old"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
