package html

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/functions"
)

// stacksOf are stacks of names, outermost first, with the times of base and head in µs.
func stacksOf(times map[string][2]float64, order ...string) *functions.Stacks {
	s := &functions.Stacks{}
	at := map[string]int{}
	for _, stack := range order {
		caller := -1
		if k := strings.LastIndexByte(stack, ';'); k >= 0 {
			caller = at[stack[:k]]
		}
		at[stack] = len(s.Frames)
		s.Frames = append(s.Frames, functions.Frame{Name: stack[strings.LastIndexByte(stack, ';')+1:], Caller: caller, Own: times[stack]})
	}
	return s
}

var frame = regexp.MustCompile(`<svg x="([\d.]+)%" y="(\d+)" width="([\d.]+)%" height="18"><title>([^<]*)</title><rect class="([a-z0-9-]+)"`)

// A frame is as wide as the time of head, above its caller, and as dark as the difference to base.
func TestFlameGraph(t *testing.T) {
	s := stacksOf(map[string][2]float64{
		"main;b": {50, 100}, "main;a": {30, 30}, "main;a;c": {15, 10}, "main;gone": {5, 0}, "main;tiny": {0, 0.1}, "main": {0, 59.9},
	}, "main", "main;b", "main;a", "main;a;c", "main;gone", "main;tiny")
	b := flameGraph(answer.Flame{Stacks: s})[0]
	var got []string
	for _, m := range frame.FindAllStringSubmatch(string(b.Picture), -1) {
		got = append(got, strings.Join(m[1:4], " ")+" "+m[5]+" "+strings.SplitN(m[4], ":", 2)[0])
	}
	want := []string{"0.00 36 100.00 more-3 main", "0.00 18 20.00 less-2 a", "0.00 0 5.00 less-2 c", "20.00 18 50.00 more-3 b"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !strings.Contains(b.Help, "5µs of a request") || !strings.Contains(string(b.Picture), "b: 100µs of a request (50.00 %), base 50µs (50.00 %), +50µs") {
		t.Errorf("%s\n%s", b.Help, b.Picture)
	}
	if flameGraph(answer.Flame{Stacks: &functions.Stacks{}}) != nil {
		t.Error("a picture of nothing")
	}
}

// A profile of a server that wants to harm makes neither a long page nor code.
func TestFlameGraphOfStranger(t *testing.T) {
	s := &functions.Stacks{}
	for i := range 200_000 { // a tower, and many beside each other
		f := functions.Frame{Name: `"><script>alert(1)</script>` + strings.Repeat("\x1b[31m\u202ea", 1000), Caller: -1, Own: [2]float64{1, 1}}
		if i > 0 && i < 400 {
			f.Caller = i - 1
		}
		s.Frames = append(s.Frames, f)
		if i > 1000 {
			s.Frames[i].Name = "f"
		}
	}
	s.Frames[399].Own = [2]float64{1e6, 1e6}
	b := flameGraph(answer.Flame{Stacks: s})[0]
	picture := string(b.Picture)
	if n := strings.Count(picture, "<rect"); n == 0 || n > flameLevels {
		t.Errorf("%d frames", n)
	}
	if len(picture) > 100_000 || strings.Contains(picture, "<script") || strings.ContainsAny(picture, "\x1b\u202e") {
		t.Errorf("%d bytes: %.300s", len(picture), picture)
	}
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
		t.Error(err)
	}
	if !strings.Contains(b.Help, "outermost 356 calls") {
		t.Error(b.Help)
	}
	for i := range s.Frames { // as many as there may be, each as large as another
		s.Frames[i] = functions.Frame{Name: "f", Caller: -1, Own: [2]float64{0, 1}}
	}
	s.Frames[0].Own[0] = 1
	if b := flameGraph(answer.Flame{Stacks: s}); len(b[0].Picture) > 2000 {
		t.Errorf("%d bytes of frames that are too small", len(b[0].Picture))
	}
}
