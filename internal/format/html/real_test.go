//go:build real

package html_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/test/chromium"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// hostile is a run whose target and command line try to take over the page.
func hostile() *takt.Report {
	r := run(60, 200)
	r.WarmupS, r.DurationS = 5, 55
	for i := range 5 {
		r.Intervals[i].Warmup = true
	}
	r.Variables = map[string]any{"method": "GET", "host": "127.0.0.1", "path": "/" + payload, payload: payload}
	r.Command = append(r.Command, payload)
	r.Labels = map[string]string{payload: payload}
	r.Errors = []takt.ErrorClass{{Class: "5xx", Count: 3, Sample: payload, Body: payload}}
	r.Counts.OK, r.Counts.Failed = r.Counts.OK-3, 3
	r.Warnings = []takt.Warning{{Code: "steal", Message: payload}}
	r.Assertions = []takt.Assertion{{Expression: payload, Result: takt.Fail, Reason: payload}}
	return r
}

func saved(t *testing.T, page string) string {
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

func show(t *testing.T, b *chromium.Browser, url string, v chromium.View) *chromium.Page {
	t.Helper()
	p, err := b.Open(url, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Every page is shown without an error or a request, fits the window, and has something in each chart,
// on a desktop and on a phone, light and dark, with and without scripts. Nothing that came from a
// target runs.
func TestRealChromium(t *testing.T) {
	b := chromium.ForTest(t)
	for name, page := range realPages(t) {
		url := saved(t, page)
		for _, v := range []chromium.View{
			{Width: 1280, Height: 900}, {Width: 400, Height: 800}, {Width: 1280, Height: 900, Dark: true},
			{Width: 400, Height: 800, Dark: true}, {Width: 1280, Height: 900, NoScript: true}, {Width: 400, Height: 800, NoScript: true, Dark: true},
		} {
			t.Run(fmt.Sprintf("%s %+v", name, v), func(t *testing.T) { look(t, b, url, v) })
		}
	}
}

func look(t *testing.T, b *chromium.Browser, url string, v chromium.View) {
	p := show(t, b, url, v)
	if wide := chromium.Eval[[]int](t, p, "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"); wide[0] > wide[1] {
		t.Errorf("the page is %d pixels wide, and the window %d", wide[0], wide[1])
	}
	if !v.NoScript && chromium.Eval[bool](t, p, "document.querySelector('.actions') && document.querySelector('.actions').hidden") {
		t.Error("the script did not run")
	}
	if chromium.Eval[bool](t, p, "'struck' in window || document.querySelectorAll('img:not([src^=\"data:image/png\"])').length > 0") {
		t.Error("a text of the target is code of the page")
	}
	charts(t, p)
	for _, fault := range p.Faults() {
		t.Error(fault)
	}
}

// charts looks for something other than the background in each chart that is shown.
func charts(t *testing.T, p *chromium.Page) {
	picture, err := p.Picture(0)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	type box struct{ X, Y, W, H float64 }
	list := chromium.Eval[[]box](t, p, `[...document.querySelectorAll("svg.plot, .heat img, .heat canvas")].map((e) => e.getBoundingClientRect()).filter((r) => r.width > 0).map((r) => ({X: r.x + scrollX, Y: r.y + scrollY, W: r.width, H: r.height}))`)
	if len(list) == 0 {
		t.Error("the page has no chart")
	}
	for _, r := range list {
		if n := colours(img, image.Rect(int(r.X), int(r.Y), int(r.X+r.W), int(r.Y+r.H))); n == 0 {
			t.Errorf("the chart at %v is blank", r)
		}
	}
}

// colours is the number of colours in a part of a picture that differ from its left upper corner.
func colours(img image.Image, part image.Rectangle) int {
	seen := map[any]bool{}
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			seen[img.At(x, y)] = true
		}
	}
	delete(seen, img.At(0, 0))
	return len(seen)
}

// The buttons copy the report and its Markdown, and save a picture; a chart shows the figures beside
// the pointer.
func TestRealChromiumButtons(t *testing.T) {
	b := chromium.ForTest(t)
	r := hostile()
	p := show(t, b, saved(t, write(t, r)), chromium.View{Width: 1280, Height: 900})
	chromium.Eval[bool](t, p, `(() => { window.copied = []; navigator.clipboard.writeText = async (s) => { copied.push(s); }; HTMLAnchorElement.prototype.click = function () { window.link = this.href; }; return true; })()`)
	press := func(button, result string) string {
		chromium.Eval[bool](t, p, fmt.Sprintf("document.querySelector(%q).click(), true", button))
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if s := chromium.Eval[string](t, p, result+" ?? ''"); s != "" {
				return s
			}
		}
		t.Fatalf("%s: nothing came; the page says %q", button, chromium.Eval[string](t, p, "document.querySelector('#said').textContent"))
		return ""
	}
	if s := press(`[data-copy="markdown"]`, "copied[0]"); !strings.HasPrefix(s, "### takt: valid run of ") {
		t.Errorf("Markdown: %q", s)
	}
	got, err := document.Parse([]byte(press(`[data-copy="json"]`, "copied[1]")))
	if err != nil {
		t.Fatal(err)
	}
	if g, w := recoded(t, got), recoded(t, r); g != w {
		t.Errorf("JSON: got\n%.2000s\nwant\n%.2000s", g, w)
	}
	if s := press(".save", "window.link"); !strings.HasPrefix(s, "data:image/png;base64,") || len(s) < 5000 {
		t.Errorf("PNG: %.100q", s)
	}
	tip := chromium.Eval[string](t, p, `(() => { const c = document.querySelector(".pane .plot[data-table], .plot[data-table]"), all = [...document.querySelectorAll("[data-table]")].filter((e) => e.getBoundingClientRect().width > 0)[0], r = all.getBoundingClientRect(); all.dispatchEvent(new PointerEvent("pointermove", {clientX: r.x + r.width / 2, clientY: r.y + 20, bubbles: true})); return document.querySelector("#tip").hidden ? "" : document.querySelector("#tip").textContent; })()`)
	if !strings.Contains(tip, "until30s") && !strings.Contains(tip, "until31s") {
		t.Errorf("the text beside the pointer is %q", tip)
	}
	for _, fault := range p.Faults() {
		t.Error(fault)
	}
}

// recoded is r as JSON with the histograms encoded here: browsers compress otherwise.
func recoded(t *testing.T, r *takt.Report) string {
	t.Helper()
	text, err := document.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(again(t, v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func again(t *testing.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = again(t, v[k])
		}
	case []any:
		for i := range v {
			v[i] = again(t, v[i])
		}
	case string:
		if strings.HasPrefix(v, "HISTF") {
			h, err := hist.Decode(v)
			if err != nil {
				t.Fatal(err)
			}
			return h.Encode()
		}
	}
	return v
}

// realPages are pages of all kinds.
func realPages(t *testing.T) map[string]string {
	return map[string]string{
		"hostile": write(t, hostile()), "one operation": write(t, run(1, 1)), "ten minutes": write(t, run(600, 50)),
		"capacity": capacityPage(t), "verify": judgementPage(t), "compare": contrastPage(t), "collate": collationPage(t), "history": historyPage(t), "replay": write(t, replayed()),
	}
}

// A printed page opens what is folded, except tables of hundreds of rows, names the chosen percentile, and cuts no table.
func TestRealChromiumPrints(t *testing.T) {
	b := chromium.ForTest(t)
	for name, page := range realPages(t) {
		p := show(t, b, saved(t, page), chromium.View{Width: 794, Height: 1100, NoScript: true}) // A4
		if _, err := p.Call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}); err != nil {
			t.Fatal(err)
		}
		if n := chromium.Eval[int](t, p, `[...document.querySelectorAll("details:not(:has(.many)) > :not(summary)")].filter((e) => e.getBoundingClientRect().height === 0 || !e.checkVisibility({contentVisibilityAuto: true})).length`); n > 0 {
			t.Errorf("%s: %d folded parts are not printed", name, n)
		}
		if n := chromium.Eval[int](t, p, `[...document.querySelectorAll(".tabs input:checked + label")].filter((e) => e.getBoundingClientRect().height === 0).length`); n > 0 {
			t.Errorf("%s: %d charts without the name of what they show", name, n)
		}
		if clipped := chromium.Eval[[]string](t, p, `[...document.querySelectorAll(".scroll")].filter((e) => getComputedStyle(e).overflowX !== "visible").map((e) => e.ariaLabel)`); len(clipped) > 0 {
			t.Errorf("%s: cut tables: %q", name, clipped)
		}
	}
}
