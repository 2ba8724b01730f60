package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

func TestNextAddress(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string // one for each connection
		left    []string
		want    string
	}{
		"in turn":                 {[]string{"a b c", "a b c", "a b c", "a b c"}, nil, "a b c a"},
		"answers that rotate":     {[]string{"a b", "b a", "a b", "b a"}, nil, "a b a b"},
		"one that is gone":        {[]string{"a b c", "a c", "a c", "a c"}, nil, "a c a c"},
		"one that is new":         {[]string{"a b", "a b c", "a b c", "a b c"}, nil, "a b c a"},
		"others":                  {[]string{"a b", "c d", "c d", "d"}, nil, "a c d d"},
		"one that is left out":    {[]string{"a b c", "a b c", "a b c"}, []string{"b"}, "a c a"},
		"nothing but what is out": {[]string{"a b", "b", "a b"}, []string{"b"}, "a b a"},
	} {
		a := &addresses{left: c.left}
		var got []string
		for _, answer := range c.answers {
			got = append(got, a.next(strings.Fields(answer)))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// A name may have any number of addresses.
func TestMostAddresses(t *testing.T) {
	var all []string
	for i := range 3 * mostAddresses {
		all = append(all, fmt.Sprintf("10.0.0.%d", i))
	}
	a := newAddresses(Named(func(string) ([]string, error) {
		all = append(all[1:], all[0]) // and change all the time
		return slices.Clone(all), nil
	}), &takt.Loop{Network: "tcp", Addr: "target.test:http"})
	for range len(all) {
		if addr, err := a.resolve(t.Context(), new(takt.Result)); err != nil || !strings.HasSuffix(addr, ":80") {
			t.Fatal(addr, err)
		}
	}
	if n := len(a.usable()); n != mostAddresses {
		t.Errorf("%d addresses are known", n)
	}
}
