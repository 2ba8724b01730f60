package verifycmd

import "testing"

func TestNamesOfSides(t *testing.T) {
	for _, c := range []struct {
		base, head []string
		want       [2]string
	}{
		{[]string{"before.json"}, []string{"http://u:secret@h/"}, [2]string{"before.json", "http://u:xxxxx@h/"}},
		{[]string{"build=one", "kind=http"}, []string{"a.json", "b.json", "c.json"}, [2]string{"build=one,kind=http", "a.json and 2 more"}},
		{[]string{"@-2"}, nil, [2]string{"", ""}},
	} {
		if got := namesOf(c.base, c.head); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.base, c.head, got, c.want)
		}
	}
}
