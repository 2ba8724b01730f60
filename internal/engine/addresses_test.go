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
			addr := a.next(strings.Fields(answer), true)
			a.leave(addr)
			got = append(got, addr)
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

// An operation goes to the address with the fewest in flight, and then to that with the fewest so far; of the idle
// connections to the one that was used last. Without one, a new connection is made if there may be one.
func TestChooseAddress(t *testing.T) {
	for name, c := range map[string]struct {
		flight, begun [3]int
		idle          string // addresses of the idle connections
		grows         bool
		want          int
	}{
		"the fewest so far":       {[3]int{}, [3]int{5, 3, 4}, "a b c a b", true, 4},
		"the fewest in flight":    {[3]int{1, 2, 0}, [3]int{1, 2, 9}, "a c c a", true, 2},
		"a new connection":        {[3]int{1, 1, 0}, [3]int{1, 1, 0}, "a b a", true, -1},
		"one that is made anew":   {[3]int{1, 1, 0}, [3]int{1, 1, 0}, "a - b", true, 1},
		"no more connections":     {[3]int{2, 1, 0}, [3]int{9, 9, 0}, "a b a", false, 1},
		"no idle one":             {[3]int{1, 1, 1}, [3]int{1, 1, 1}, "", true, -1},
		"an address that is gone": {[3]int{}, [3]int{}, "x", false, 0},
	} {
		a := new(addresses)
		a.next([]string{"a", "b", "c"}, false)
		for i, addr := range []string{"a", "b", "c"} {
			*a.load(addr) = load{c.flight[i], uint64(c.begun[i])}
		}
		idle := strings.Fields(strings.ReplaceAll(c.idle, "-", `""`))
		got := a.choose(func(i int) string { return strings.Trim(idle[i], `"`) }, len(idle), c.grows)
		if got != c.want {
			t.Errorf("%s: connection %d, want %d", name, got, c.want)
		}
	}
	var one *addresses
	if got := one.choose(nil, 3, true); got != 2 {
		t.Errorf("one address: connection %d, want the last one", got)
	}
}
