//go:build real

package html_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/test/chromium"
)

// A click on a heading sorts the table of shards by its column, another click the other way round.
func TestRealSort(t *testing.T) {
	var page bytes.Buffer
	if err := html.Report(&page, whole(run(20, 100), 60)); err != nil {
		t.Fatal(err)
	}
	p := show(t, chromium.ForTest(t), saved(t, page.String()), chromium.View{Width: 1280, Height: 900})
	const head = "[...document.querySelectorAll('#shard-table thead th')]"
	column := chromium.Eval[int](t, p, head+".findIndex((h) => h.textContent == 'p99')")
	// In milliseconds, read in another way than the page does.
	cells := func() []float64 {
		return chromium.Eval[[]float64](t, p, `[...document.querySelectorAll('#shard-table tbody tr')].map((r) => r.children[`+string(rune('0'+column))+`].textContent).map((s) => s.endsWith("µs") ? parseFloat(s) / 1000 : s.endsWith("ms") ? parseFloat(s) : parseFloat(s) * 1000)`)
	}
	first := cells()
	if len(first) != 50 || slices.IsSorted(first) {
		t.Fatalf("%v", first)
	}
	click := head + "[" + string(rune('0'+column)) + "].click() ?? true"
	_ = chromium.Eval[bool](t, p, click)
	down := cells()
	_ = chromium.Eval[bool](t, p, click)
	up := cells()
	if sorted := slices.Sorted(slices.Values(first)); !slices.Equal(up, sorted) || slices.Equal(up, down) {
		t.Errorf("%v, then %v", down, up)
	}
	slices.Reverse(down)
	if !slices.IsSorted(down) {
		t.Errorf("backwards: %v", down)
	}
	if name := os.Getenv("TAKT_PICTURE"); name != "" {
		picture, err := p.Picture(0)
		if err == nil {
			err = os.WriteFile(name, picture, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, fault := range p.Faults() {
		t.Error(fault)
	}
}
