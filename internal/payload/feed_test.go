package payload

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// envOf reads all feeders from text.
func envOf(text string) *Env {
	return &Env{Ends: true, Lends: true, Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// Neither a byte order mark nor blank lines are values, and a head line is not if header says so. Faults name
// the line of the file.
func TestFeederValues(t *testing.T) {
	const file = "\ufeff\r\nname,age\r\n\r\nann,1\r\n   \n\t\nbob,2\n\n"
	for text, want := range map[string]string{
		`{{file "f"}}`:          "name,age ann,1 bob,2",
		`{{file "f" header}}`:   "ann,1 bob,2",
		`{{file "f" 1}}`:        "name ann bob",
		`{{file "f" 2 header}}`: "1 2",
	} {
		tmpl, err := envOf(file).Parse("body", text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for seq := range strings.Fields(want) {
			got = append(got, string(tmpl.Append(nil, uint64(seq))))
		}
		if strings.Join(got, " ") != want || string(tmpl.Append(nil, uint64(len(got)))) != got[0] {
			t.Errorf("%s: %q", text, got)
		}
	}
	for text, want := range map[string]string{"": "empty", "\ufeff": "empty", "\ufeff\n \n": "no line with a value"} {
		if _, err := envOf(text).Parse("body", `{{file "f"}}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := envOf("head\n\n").Parse("body", `{{file "f" header}}`); err == nil || !strings.Contains(err.Error(), "no line with a value") {
		t.Errorf("a head line alone: %v", err)
	}
	if _, err := envOf(file+"bad\n").Parse("body", `{{file "f" 2 header}}`); err == nil || !strings.Contains(err.Error(), "f:9: ") {
		t.Errorf("line 9: %v", err)
	}
	tmpl, err := envOf(file).Parse("url", `{{file "f" header}}`)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(line []byte) error {
		if string(line) == "bob,2" {
			return fmt.Errorf("bad")
		}
		return nil
	}
	if err := tmpl.Check(bad); err == nil || err.Error() != "f:7: bad" {
		t.Errorf("line 7: %v", err)
	}
}

// At random the fields of one operation are of one line, all lines come, and the seed decides.
func TestFeederAtRandom(t *testing.T) {
	var file strings.Builder
	for i := range 50 {
		fmt.Fprintf(&file, "a%d,b%d\n", i, i)
	}
	read := func(seed uint64) (all []string) {
		env := envOf(file.String())
		env.Seed = seed
		left, err1 := env.Parse("url", `{{file "f" 1 random}}`)
		right, err2 := env.Parse("body", `{{file "f" 2 random}}`)
		if err1 != nil || err2 != nil || !left.Random() || left.Fixed() {
			t.Fatal(err1, err2)
		}
		for seq := range uint64(1000) {
			l, r := string(left.Append(nil, seq)), string(right.Append(nil, seq))
			if l[1:] != r[1:] {
				t.Fatalf("%s and %s", l, r)
			}
			all = append(all, l)
		}
		return all
	}
	one, same, other := read(1), read(1), read(2)
	if !slices.Equal(one, same) || slices.Equal(one, other) || slices.IsSorted(one[:50]) {
		t.Error("the seed does not decide")
	}
	slices.Sort(one)
	if n := len(slices.Compact(one)); n != 50 {
		t.Errorf("%d lines of 50", n)
	}
}

// A file that is used once limits the operations, the shortest one most.
func TestFeederOnce(t *testing.T) {
	env := envOf("a\n\nb\nc\n")
	for _, text := range []string{`{{file "f"}}`, `{{file "g" header once}}{{file "h" once}}`} {
		if _, err := env.Parse("body", text); err != nil {
			t.Fatal(err)
		}
	}
	if env.Limit() != 2 {
		t.Errorf("%d operations, want 2", env.Limit())
	}
}

// A file is used in one way, and words that nobody can follow are refused.
func TestFeederWords(t *testing.T) {
	for text, want := range map[string]string{
		`{{file "f" once}} {{file "f"}}`:               "the same words",
		`{{file "f" header}} {{file "f" header once}}`: "the same words",
		`{{file "f" random once}}`:                     "wrong arguments",
		`{{file "f" sometimes}}`:                       "wrong arguments",
		`{{file "f" header header}}`:                   "wrong arguments",
		`{{file "f" "once"}}`:                          "wrong arguments",
		`{{file "f" once 2}}`:                          "wrong arguments",
		`{{file "f" 0 once}}`:                          "wrong arguments",
	} {
		if _, err := envOf("a,b\nc,d\n").Parse("body", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{`{{file "f" once}}`: "ends the run", `{{file "f" exclusive}}`: "the user of a scenario"} {
		env := envOf("a\n")
		env.Ends, env.Lends = false, false
		if _, err := env.Parse("body", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Nobody gets a line that somebody else has, whichever process; a line that came back comes last.
func TestLease(t *testing.T) {
	for _, parts := range []uint64{1, 3} {
		var all []uint64
		for part := range parts {
			env := envOf(strings.Repeat("x\n", 10))
			if _, err := env.Parse("url", `{{file "f" 1 exclusive}}{{file "f" exclusive}}`); err != nil || len(env.Leases()) != 1 {
				t.Fatal(err, env.Leases())
			}
			l := env.Leases()[0]
			l.Begin(part, parts)
			var mine []uint64
			for line, ok := l.Take(); ok; line, ok = l.Take() {
				mine = append(mine, line)
			}
			if uint64(len(mine)) != l.Len(part, parts) {
				t.Errorf("part %d of %d has %d lines, not %d", part, parts, len(mine), l.Len(part, parts))
			}
			l.Give(mine[2])
			l.Give(mine[0])
			first, _ := l.Take()
			second, _ := l.Take()
			if _, ok := l.Take(); ok || first != mine[2] || second != mine[0] {
				t.Errorf("%d and %d came back", first, second)
			}
			all = append(all, mine...)
		}
		slices.Sort(all)
		if len(all) != 10 || len(slices.Compact(all)) != 10 {
			t.Errorf("%d parts lend %v", parts, all)
		}
	}
}
