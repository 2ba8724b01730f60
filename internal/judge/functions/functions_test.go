package functions

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestOwn(t *testing.T) {
	for _, test := range []struct {
		stack []string // innermost first
		want  string
	}{
		{[]string{"crypto/sha256.block", "crypto/sha256.Sum256", "main.work", "main.main.func1", "net/http.HandlerFunc.ServeHTTP"}, "main.work"},
		{[]string{"main.main.func1", "net/http.HandlerFunc.ServeHTTP"}, "main.main"},
		{[]string{"runtime.mallocgc", "example.com/a/b.(*T).f.func2.1", "main.work"}, "example.com/a/b.(*T).f"},
		{[]string{"slices.SortFunc[...]", "example.com/a.Sort[go.shape.*uint8,example.com/x.T]"}, "example.com/a.Sort[go.shape.*uint8,example.com/x.T]"},
		{[]string{"main.function"}, "main.function"},
		{[]string{"main.T.func"}, "main.T.func"},
		{[]string{"runtime.scanobject", "runtime.gcDrain", "runtime.systemstack"}, "package runtime"},
		{[]string{"internal/runtime/syscall.Syscall6", "net/http.(*conn).serve"}, "package internal/runtime/syscall"},
		{[]string{"aeshashbody"}, "package aeshashbody"},
		{nil, "unknown"},
	} {
		if got := Own(test.stack); got != test.want {
			t.Errorf("%q: %s, want %s", test.stack, got, test.want)
		}
	}
}

// A profile as a server writes it is read; one of allocations, and what is none, is refused.
func TestAdd(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{3, 30e6}}, {Value: []int64{1, 10e6}}},
	}
	written := func() []byte {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 65 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	if err := NewRun(nil).Add(bomb.Bytes()); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("%d bytes that become 65 MiB: %v", bomb.Len(), err)
	}
	r := NewRun(nil)
	for range 2 {
		if err := r.Add(written()); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]int64{"main.work": 60e6, "unknown": 20e6}; !maps.Equal(r.Nanos, want) {
		t.Errorf("%v, want %v", r.Nanos, want)
	}
	if want := []Frame{{"main.work", -1, [2]float64{60e6}}, {"unknown", -1, [2]float64{20e6}}}; !slices.Equal(r.Stacks.Frames, want) {
		t.Errorf("%v, want %v", r.Stacks.Frames, want)
	}
	p.SampleType[1] = &profile.ValueType{Type: "alloc_space", Unit: "bytes"}
	if err := r.Add(written()); err != errNoCPU {
		t.Errorf("allocations: %v", err)
	}
	if r.Add([]byte("<html>")) == nil || r.Add(nil) == nil {
		t.Error("no profile, and no error")
	}
}

// profiles are those of runs with 400 samples of 40 functions; slow needs so many times the time of the others.
func profiles(rng *rand.Rand, runs int, slow float64) (all []*Run) {
	for range runs {
		r := NewRun(nil)
		r.Requests = 1000
		for k := range 40 {
			mean := 10.0
			if k == 7 {
				mean *= slow
			}
			n := 0
			for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() { // Poisson's distribution
				n++
			}
			r.Nanos[fmt.Sprintf("main.f%d", k)] = int64(n) * 10e6
		}
		all = append(all, r)
	}
	return all
}

// The function that is slower by 5 % of a request is named first, and of equal servers none in 95 of 100 comparisons.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	named, falsely := 0, 0
	for range 100 {
		base := profiles(rng, 16, 1)
		r, err := Compare(base, profiles(rng, 16, 3), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if f := r.Slowest(); f != nil && f.Name == "main.f7" {
			named++
		}
		if r, err = Compare(base, profiles(rng, 16, 1), 0.95); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(r.Functions, func(f Function) bool { return f.Word != Unproven }) {
			falsely++
		}
	}
	if named < 95 || falsely > 10 {
		t.Errorf("named in %d of 100, falsely in %d", named, falsely)
	}
	if _, err := Compare([]*Run{NewRun(nil)}, profiles(rng, 1, 1), 0.95); err == nil {
		t.Error("a side without samples, and no error")
	}
	if n := Enough(40, 0.95); n != 11 {
		t.Errorf("%d pairs are enough for 40 functions", n) // 2 ÷ 2¹¹ ≤ 5 % ÷ 40
	}
}

func TestTouched(t *testing.T) {
	const diff = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,8 +1,9 @@ func before() {\n // comment\n-const n = 1\n+const n = 2\n func work(n int) int {\n-\treturn n\n+\treturn n + 1\n }\n \n+// words\n func same() {\n }\n" +
		"@@ -20,4 +20,3 @@\n func (t *T[K]) more() {\n+\tn++\n }\n-func (T) gone() {\n-}\n"
	got := touchedBy(diff).names
	maps.DeleteFunc(got, func(name string, _ bool) bool { return strings.HasSuffix(name, " (a.go)") })
	if want := map[string]bool{"work": true, "(*T).more": true, "T.gone": true}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	r := Result{Functions: []Function{{Name: "example.com/a.(*T[...]).more"}, {Name: "main.work"}, {Name: "main.same"}, {Name: "package runtime"}}}
	r.Touch(diff)
	if f := r.Functions; !f[1].Touched || f[2].Touched || f[3].Touched {
		t.Errorf("%+v", f)
	}
}

// Stacks of both sides are together by request, and no profile makes more of them than memory has room for.
func TestStacks(t *testing.T) {
	base, head := NewRun(nil), NewRun(nil)
	base.Requests, head.Requests = 10, 20
	base.add([]string{"b", "a"}, 100e3)
	base.add([]string{"c", "a"}, 50e3)
	head.add([]string{"b", "a"}, 400e3)
	head.add([]string{"a"}, 20e3)
	r, err := Compare([]*Run{base, NewRun(nil)}, []*Run{head, NewRun(nil)}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	// 100 µs of 10 requests, in one of two runs
	if want := []Frame{{"a", -1, [2]float64{0, 0.5}}, {"b", 0, [2]float64{5, 10}}, {"c", 0, [2]float64{2.5, 0}}}; !slices.Equal(r.Stacks.Frames, want) {
		t.Errorf("%v, want %v", r.Stacks.Frames, want)
	}
	if whole := r.Stacks.Whole(); whole[0] != [2]float64{7.5, 10.5} || !slices.Equal(r.Stacks.Stack(2), []string{"a", "c"}) {
		t.Errorf("%v, %q", whole, r.Stacks.Stack(2))
	}
	wide := NewRun(nil)
	for i := range 2 * mostFrames {
		wide.add([]string{fmt.Sprint("f", i), "outer"}, 1)
	}
	if n := len(wide.Stacks.Frames); n != mostFrames || wide.Stacks.Whole()[0][0] != 2*mostFrames {
		t.Errorf("%d frames with %v ns", n, wide.Stacks.Whole()[0])
	}
	l := &profile.Location{Line: make([]profile.Line, 3)}
	for i := range l.Line {
		l.Line[i].Function = &profile.Function{Name: fmt.Sprint("inlined", i)}
	}
	deep := stackOf(&profile.Sample{Location: slices.Repeat([]*profile.Location{l}, 1000)})
	if len(deep) != deepest+1 || deep[deepest].name != cutOff || deep[0].name != "inlined0" {
		t.Errorf("%d functions, the outermost %q", len(deep), deep[len(deep)-1].name)
	}
}
