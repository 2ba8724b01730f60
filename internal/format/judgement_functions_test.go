package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/functions"
)

// The functions of both sides are in all outputs for people, the slower one first, and a name is only a name.
func TestJudgementOfFunctions(t *testing.T) {
	const slow = "main.(*T[<b>\x1b[31m]).slow"
	side := func(slower int64) (runs []*functions.Run) {
		for i := range int64(12) {
			runs = append(runs, &functions.Run{Requests: 100, Nanos: map[string]int64{slow: 1e8 + i*1e6 + slower, "main.same": 4e8 + i%3*1e6, "package runtime": 1e6}})
		}
		return runs
	}
	for slower, want := range map[int64]string{
		2e7: "functions: main.(*T[<b>·[31m]).slow needs 200µs more of a request than in base (95 %: 200µs to 200µs)",
		0:   "functions: no function is proven slower",
	} {
		r, err := functions.Compare(side(0), side(slower), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		j := judged(t, 8, nil)
		j.Functions = &r
		text := strings.Join(strings.Fields(judgementAs(t, j, "text", false)), " ")
		if slower > 0 {
			want = strings.Replace(want, "95 %", fmt.Sprintf("%.3g %%", 100*r.Functions[0].Level), 1)
		}
		if !strings.Contains(text, want) || !strings.Contains(text, "1 function with less than 0.5 % of the time each") {
			t.Errorf("%s\nwant %s", text, want)
		}
		for _, f := range format.Judgements() {
			s := judgementAs(t, j, f, false)
			if strings.ContainsAny(s, "\x1b\u009b") || f == "html" && (strings.Contains(s, "<b>·") || !strings.Contains(s, "main.same")) {
				t.Errorf("%s shows a name as it is, or not at all", f)
			}
		}
	}
}

// The stacks of both sides are lines that tools for flame graphs read, whatever the names are, and a hostile profile fills
// no disk.
func TestFolded(t *testing.T) {
	j := judged(t, 8, nil)
	if s := judgementAs(t, j, format.Folded, false); s != "" {
		t.Errorf("without profiles: %q", s)
	}
	stacks := functions.Stacks{Frames: []functions.Frame{
		{Name: "main.main", Caller: -1}, {Name: "a;b\n\x1b[31m c", Caller: 0, Own: [2]float64{1.5, 0}}, {Name: "d", Caller: 1, Own: [2]float64{0.0004, 2}}, {Name: "e", Caller: 0, Own: [2]float64{0, 0.0001}},
	}}
	j.Functions = &functions.Result{Stacks: stacks}
	if s, want := judgementAs(t, j, format.Folded, false), "main.main;a,b ·[31m c 1500 0\nmain.main;a,b ·[31m c;d 0 2000\n"; s != want {
		t.Errorf("%q, want %q", s, want)
	}
	j.Functions.Stacks = functions.Stacks{}
	for i := range 400 { // a tower with many leaves
		j.Functions.Stacks.Frames = append(j.Functions.Stacks.Frames, functions.Frame{Name: strings.Repeat("x", 1000), Caller: i - 1})
	}
	for range 400 {
		j.Functions.Stacks.Frames = append(j.Functions.Stacks.Frames, functions.Frame{Name: "leaf", Caller: 399, Own: [2]float64{1, 1}})
	}
	s := judgementAs(t, j, format.Folded, false)
	if lines := strings.Count(s, "\n"); len(s) > 64<<20+100 || !strings.HasSuffix(s, fmt.Sprintf("\n[more stacks] %[1]d %[1]d\n", 1000*(400-lines+1))) {
		t.Errorf("%d lines, %d bytes: %q", lines, len(s), s[max(0, len(s)-100):])
	}
}
