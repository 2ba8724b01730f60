package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

const most = 0.5

func (q *queue[T]) add(n int) (int, bool) {
	if n < 10 && q.open {
		q.n += n
		q.wake()
	}
	for i := 0; i == n; i++ {
		break
	}
	switch {
	case n > max(1, q.n):
		return n -
			1, true
	}
	_ = n
	q.n++
	return 0, n != 2
}

func (q queue[T]) wake() {
	return
}
`

// mutate finds every kind of mutation, in the order of the text, and nothing else.
func TestMutate(t *testing.T) {
	found, err := mutate("p/q.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, fmt.Sprintf("%d %s: %s", m.line, m.before, m.after))
	}
	want := []string{
		"3 const most = 0.5: const most = (0.5 + 1)",
		"6 if n < 10 && q.open {: if !(n < 10 && q.open) {",
		"6 if n < 10 && q.open {: if n <= 10 && q.open {",
		"6 if n < 10 && q.open {: if n < 11 && q.open {",
		"6 if n < 10 && q.open {: if n < 10 || q.open {",
		"7 q.n += n: (removed)",
		"7 q.n += n: q.n -= n",
		"8 q.wake(): (removed)",
		"10 for i := 0; i == n; i++ {: for i := 1; i == n; i++ {",
		"10 for i := 0; i == n; i++ {: for i := 0; i != n; i++ {",
		"10 for i := 0; i == n; i++ {: for i := 0; i == n; i-- {",
		"11 break: (removed)",
		"14 case n > max(1, q.n):: case !(n > max(1, q.n)):",
		"14 case n > max(1, q.n):: case n >= max(1, q.n):",
		"14 case n > max(1, q.n):: case n > min(1, q.n):",
		"14 case n > max(1, q.n):: case n > max(2, q.n):",
		"15 return n -: return n +",
		"16 1, true: 2, true",
		"16 1, true: 1, false",
		"19 q.n++: (removed)",
		"19 q.n++: q.n--",
		"20 return 0, n != 2: return 1, n != 2",
		"20 return 0, n != 2: return 0, n == 2",
		"20 return 0, n != 2: return 0, n != 3",
		"24 return: (removed)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f := found[0].function; f != "" {
		t.Errorf("a constant is in the function %q", f)
	}
	if a, b := found[1].function, found[len(found)-1].function; a != "queue.add" || b != "queue.wake" {
		t.Errorf("the functions are %q and %q, want queue.add and queue.wake", a, b)
	}
	if s := string(found[5].source); s != strings.Replace(sample, "q.n += n", "", 1) {
		t.Errorf("the mutant that removes a line is\n%s", s)
	}
}

// A number is not changed where one more of it has no effect.
func TestOverlook(t *testing.T) {
	const source = `package p

func f(x float64, s []int) (int, int, bool, error) {
	_, _ = make([]int, 1, 20), make(map[int]int, 30)
	_, _ = slices.Grow(s, 40), strconv.FormatFloat(x, 'f', -50, 64)
	if math.IsInf(x, 60) {
		return 70, 2, false, nil
	}
	if x > 3 {
		return -80, 0, true, fmt.Errorf("%d", 4)
	}
	return 5, -6, true, nil
}
`
	found, err := mutate("p/q.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.after)
	}
	want := []string{
		"_, _ = make([]int, 2, 20), make(map[int]int, 30)",
		"if !(math.IsInf(x, 60)) {", "return 70, 2, true, nil",
		"if !(x > 3) {", "if x >= 3 {", "if x > 4 {",
		`return -80, 0, false, fmt.Errorf("%d", 4)`, `return -80, 0, true, fmt.Errorf("%d", 5)`,
		"return 6, -6, true, nil", "return 5, -7, true, nil", "return 5, -6, false, nil",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A key stays the same when lines are added above or a comment is added behind, and differs between
// lines that look the same.
func TestKey(t *testing.T) {
	const source = "package p\n%[1]sfunc f() {\n\tg()\n\tg() %[1]s\n}\n"
	var keys [2][]string
	for i, more := range []string{"", "// more\n"} {
		found, err := mutate("p/q.go", fmt.Appendf(nil, source, more))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			keys[i] = append(keys[i], m.key())
		}
	}
	want := []string{"p/q.go f\n- g()\n+ (removed)", "p/q.go f #2\n- g()\n+ (removed)"}
	if !slices.Equal(keys[0], want) || !slices.Equal(keys[1], want) {
		t.Errorf("keys %q, want twice %q", keys, want)
	}
}

// The list of equivalent mutants must have a reason for each, and name only mutants that exist.
func TestEquivalent(t *testing.T) {
	found, err := mutate("p/q.go", []byte("package p\n\nfunc f() {\n\tg()\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := parseEquivalent("list", "p/q.go f\n- g()\n+ (removed)\n# g does nothing\n\np2/q.go f\n- g()\n+ (removed)\n# g does nothing\n")
	if err != nil {
		t.Fatal(err)
	}
	if !e.has(found[0]) {
		t.Error("the mutant is not in the list")
	}
	if err := e.check(target{folder: "p"}, found); err != nil {
		t.Error(err)
	}
	if err := e.check(target{folder: "p2"}, found); err == nil || !strings.HasSuffix(err.Error(), "\np2/q.go f\n- g()\n+ (removed)") {
		t.Errorf("a mutant that does not exist: %v", err)
	}
	for _, bad := range []string{"p/q.go f\n- g()\n+ (removed)\n", "p/q.go f\n# why\n", "p/q.go f\n- g()\n+ (removed)\n# why\n\np/q.go f\n- g()\n+ (removed)\n# why\n"} {
		if _, err := parseEquivalent("list", bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// A survivor is found again when its line has moved.
func TestReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(file, []byte("p/q.go:7, f: a < 1:2, -> a > 1:2,\n\npackage  mutants\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := readAgain(file)
	m := mutant{file: "p/q.go", line: 9, function: "f", before: "a < 1:2,", after: "a > 1:2,"}
	if err != nil || !again[withoutLine(m.String())] {
		t.Errorf("%v, %v", again, err)
	}
	if again, err := readAgain(""); again != nil || err != nil {
		t.Errorf("without a file: %v, %v", again, err)
	}
}

// The same seed draws the same mutants, and they stay in order.
func TestDraw(t *testing.T) {
	found, err := mutate("p/q.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	a, b, other := draw(found, 5, 1), draw(found, 5, 1), draw(found, 5, 2)
	if len(a) != 5 || !slices.Equal(a, b) || slices.Equal(a, other) {
		t.Errorf("drawn: %v, %v, with another seed %v", a, b, other)
	}
	if !slices.IsSortedFunc(a, func(x, y *mutant) int { return slices.Index(found, x) - slices.Index(found, y) }) {
		t.Errorf("not in order: %v", a)
	}
	if n := len(draw(found, 0, 1)); n != len(found) {
		t.Errorf("%d of %d drawn without a number", n, len(found))
	}
}

// Mutants that do not compile, and equivalent ones, do not count in the share.
func TestTally(t *testing.T) {
	one, two := &target{folder: "p/one"}, &target{folder: "p/two"}
	sum := newTally()
	for f, n := range map[fate]int{killed: 3, survived: 1, equivalent: 2, broken: 7} {
		for range n {
			sum.add(&mutant{target: one}, f)
		}
	}
	if got := sum.share(); got != 75 {
		t.Errorf("%v %% killed, want 75", got)
	}
	sum.add(&mutant{target: two}, killed)
	const want = `package               mutants   killed survived equivalent   killed
p/one                       6        3        1          2   75.0 %
p/two                       1        1        0          0  100.0 %
all                         7        4        1          2   80.0 %
`
	if got := sum.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := newTally().share(); got != 100 {
		t.Errorf("%v %% of nothing", got)
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose([]string{"./pkg/hist/", "internal/engine"})
	if err != nil || folders(chosen) != "pkg/hist, internal/engine" {
		t.Errorf("%v, %v", folders(chosen), err)
	}
	if _, err := choose([]string{"pkg/nothing"}); err == nil || !strings.Contains(err.Error(), "not one of pkg/schedule") {
		t.Errorf("an unknown package: %v", err)
	}
	if engine := chosen[1]; !engine.has("loop_conn_linux.go") || engine.has("options.go") || !chosen[0].has("log.go") {
		t.Error("the wrong files are mutated")
	}
}
