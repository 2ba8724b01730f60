package session

import (
	"errors"
	"strings"
	"testing"
)

// A hostile body has no more values, and is nested no deeper, than takt has room for.
func TestHostileBodies(t *testing.T) {
	many := func(n int) string { return `{"a":[` + strings.Repeat("1,", n-1) + "1]}" }
	for _, c := range []struct {
		source, body string
		values       int
		err          error
	}{
		{"json a", many(maxFound), maxFound, nil},
		{"json a", many(maxFound + 1), 0, errManyFound},
		{"regexp 1", many(maxFound), maxFound, nil},
		{"regexp 1", many(maxFound + 1), 0, errManyFound},
		{"json 0.0", strings.Repeat("[", maxNested) + strings.Repeat("]", maxNested), 1, nil},
		{"json 0", strings.Repeat("[", maxNested+1) + strings.Repeat("]", maxNested+1), 0, errNested},
		{"json a", strings.Repeat(`{"a":`, 1<<20/5), 0, errNested},
		{"json a", `{"a":"` + strings.Repeat(`[\"{`, maxNested) + `"}`, 1, nil},
		{"json a", `{"a":[]}`, 0, errMissing},
		{"json a", `{"a":[1,null]}`, 0, errNullWithin},
	} {
		s, err := ParseSource(c.source)
		if err != nil {
			t.Fatal(err)
		}
		values, err := s.FromBody([]byte(c.body))
		if !errors.Is(err, c.err) || err == nil && len(values) != c.values {
			t.Errorf("%s of %.30s…: %d values, %v; want %d, %v", c.source, c.body, len(values), err, c.values, c.err)
		}
	}
}
