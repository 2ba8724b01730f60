package html

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale scale
		n     int
		want  string
	}{
		{linear(10), 5, "[0 2 4 6 8 10]"}, {linear(1.1), 2, "[0 1]"}, {linear(0), 3, ""},
		{scale{low: -0.2, high: 0.2}, 4, "[-0.2 -0.1 0 0.1 0.2]"},
		{logarithmic(900, 11_000), 5, "[1000 2000 3000 5000 7000 10000]"},
		{logarithmic(9, 1.1e6), 5, "[10 100 1000 10000 100000 1e+06]"},
		{logarithmic(0.001, 1e9), 4, ""},
	} {
		list := c.scale.ticks(c.n)
		if len(list) > c.n+1 {
			t.Errorf("%+v: %d ticks, more than %d", c.scale, len(list), c.n+1)
		}
		for i := range list {
			list[i] = math.Round(list[i]*1e9) / 1e9
			if at := c.scale.at(list[i]); at < 0 || at > 1 {
				t.Errorf("%+v: %v is at %v", c.scale, list[i], at)
			}
		}
		if got := fmt.Sprint(list); c.want != "" && got != c.want {
			t.Errorf("%+v: %s, want %s", c.scale, got, c.want)
		}
	}
	for end, want := range map[float64]string{0: "[]", 0.25: "[0 0.05 0.1 0.15 0.2 0.25]", 30: "[0 5 10 15 20 25 30]", 600: "[0 120 240 360 480 600]", 7200: "[0 1800 3600 5400 7200]"} {
		list := timeTicks(end, 6)
		for i := range list {
			list[i] = math.Round(list[i]*1e6) / 1e6
		}
		if got := fmt.Sprint(list); got != want {
			t.Errorf("%v s: %s, want %s", end, got, want)
		}
	}
}

// The pen's path ends where the strokes end, however many were rounded.
func TestPen(t *testing.T) {
	var p pen
	p.move(0, 10)
	p.to(1, 10)
	p.to(2, 10)
	p.to(2, 7.26)
	p.to(3.04, 7.26)
	if got := p.path(); got != "M0 10h2v-2.7h1" {
		t.Errorf("path %q", got)
	}
	p = pen{whole: true}
	p.move(0, 0)
	for i := range 1000 {
		p.to(float64(i)/3, float64(i%2)/3)
	}
	if got := p.path(); got != "M0 0h333" {
		t.Errorf("path %q", got)
	}
}

// A stepped curve has a gap where nothing was measured.
func TestSteps(t *testing.T) {
	d := newDrawing(100)
	d.steps([]point{{from: 0, to: 0.1, y: 1}, {gap: true}, {from: 0.2, to: 0.3, y: 0.5}, {from: 0.3, to: 0.4, y: 0}}, "x")
	if got := d.curves.String(); got != `<path class="x" d="M0 0h100M200 50h100v50h100"/>` {
		t.Error(got)
	}
	d = newDrawing(100)
	upper := []point{{from: 0, to: 0.5, y: 0.5}, {from: 0.5, to: 1, y: 0.2}}
	lower := []point{{from: 0, to: 0.5, y: 0.1}, {from: 0.5, to: 1, y: 0.4}}
	d.between(upper, lower, "gap") // only where the first is higher
	if got := d.curves.String(); got != `<path class="gap" d="M0 90v-40h500v40h-500z"/>` {
		t.Error(got)
	}
}

// A panel has at least two labels, whatever its highest value is.
func TestFrameHasLabels(t *testing.T) {
	s := &series{list: []second{{}}, end: 1}
	for high := 1.0; high < 1000; high++ {
		d := s.drawing(panelHeight)
		s.frame(d, linear(1.1*high), func(v float64) string { return "label" })
		if n := strings.Count(d.over.String(), "label"); n < 2 || n > 4 {
			t.Errorf("%v: %d labels", high, n)
		}
	}
}

// On a phone no two labels under a plot overlap, nor do those of the chart of compare, which has names of
// rows at its left.
func TestLabelsOfPhone(t *testing.T) {
	ticks := []string{"-200%", "-150%", "-100%", "-50%", "0%", "+50%", "+100%", "+150%", "+200%"}
	at := make([]float64, len(ticks))
	for i := range at {
		at[i] = float64(i) / float64(len(at)-1)
	}
	for _, c := range []struct {
		d    *drawing
		want []string
	}{
		{newDrawing(100), []string{"-200%", "-100%", "0%", "+50%", "+150%"}},
		{newRows(3), []string{"-200%", "-50%", "+50%", "+150%"}},
	} {
		c.d.columns(at, func(i int) string { return ticks[i] })
		var got []string
		for _, m := range regexp.MustCompile(`class="tick"[^>]*>([^<]*)<`).FindAllStringSubmatch(c.d.over.String(), -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A value within the scale is a dot, one beyond it an arrow that points out of the picture.
func TestBeyondTheScale(t *testing.T) {
	s := scale{low: 10, high: 20}
	for v, want := range map[float64][2]string{
		9: {"rotate(180)", "rotate(90)"}, 10: {"<circle", "<circle"}, 20: {"<circle", "<circle"}, 21: {"rotate(0)", "rotate(270)"},
	} {
		x, y := newDrawing(100), newDrawing(100)
		x.across(s, v, 0.5, 3, "dot", "")
		y.upright(0.5, s, v, 3, "dot", "")
		for i, d := range []*drawing{x, y} {
			if !strings.Contains(d.over.String(), want[i]) {
				t.Errorf("%v: %s, want %s", v, d.over.String(), want[i])
			}
		}
	}
}
