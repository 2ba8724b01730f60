//go:build real

package cli_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/test/chromium"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// payload is the text of somebody who would like to run something in the page.
const payload = `"><img src=x onerror=struck=1><script>struck=1</script>`

// many are 10,000 runs of 200 revisions, the newest 20 slower.
func many(t *testing.T, path string) {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := rand.New(rand.NewPCG(1, 1))
	first := time.Now().Add(-200 * 24 * time.Hour).UTC().Truncate(time.Hour)
	var list []*takt.Report
	for i := range 10_000 {
		at := first.Add(time.Duration(i) * 25 * time.Minute)
		one := clitest.Report(0, at)
		one.ID = fmt.Sprintf("01JD%022d", i)
		one.Labels = map[string]string{"branch": "main", "revision": fmt.Sprintf("%040x", 0xabcdef000000+i/50), "revision_date": first.Add(time.Duration(i/50) * 24 * time.Hour).Format(time.RFC3339)}
		if i%50 == 49 {
			one.Labels["branch"], one.Labels["note"], one.Variables["path"] = "topic"+payload, payload, "/"+payload
		}
		l := one.Latency[takt.LatencyResponse]
		l.P50, l.P99 = 150*math.Exp(0.02*r.NormFloat64()), 300*math.Exp(0.03*r.NormFloat64())
		if i >= 9000 {
			l.P99 *= 1.3
		}
		one.Latency[takt.LatencyResponse], one.Rate.Achieved = l, 100
		list = append(list, one)
	}
	if err := st.Save(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition of the page.
func until(t *testing.T, p *chromium.Page, expression string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if p.Eval(expression, &ok) == nil && ok { // while a page loads, it evaluates nothing
			return
		}
	}
	t.Fatalf("never: %s; the page says %.300q", expression, chromium.Eval[string](t, p, "document.body.innerText"))
}

// A store of 10,000 runs in a browser: every page shows, in time, without an error, and inert.
func TestRealChromiumUI(t *testing.T) {
	b := chromium.ForTest(t)
	p := &place{t: t, home: t.TempDir()}
	server := targettest.Serve(t, slow())
	many(t, filepath.Join(p.home, ".local/share/takt/takt.db"))
	load := []string{"http", "--rate", "200/s", "--progress", "none", "--label", "note=" + payload, "--store-limit", "0", strings.TrimSuffix(server.URL(), "/") + "/%22%3E%3Cscript%3Estruck=1%3C/script%3E"}
	for range 2 {
		p.takt(t.Context(), slices.Concat(load, []string{"-z", "1500ms"})...)
	}
	p.url = serve(t, p)

	picture := func(name string, page *chromium.Page) {
		if dir := os.Getenv("TAKT_PICTURES"); dir != "" {
			png, err := page.Picture(2000)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	running, end := context.WithCancelCause(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.takt(running, slices.Concat(load, []string{"-z", "5m"})...)
	}()
	defer func() { end(nil); <-over }()
	live := ""
	for end := time.Now().Add(30 * time.Second); live == ""; time.Sleep(100 * time.Millisecond) {
		names, _ := filepath.Glob(filepath.Join(p.home, ".local/state/takt/spool/*.journal"))
		if len(names) == 1 {
			live = strings.TrimSuffix(filepath.Base(names[0]), ".journal")
		}
		if time.Now().After(end) {
			t.Fatal("there is no journal")
		}
	}
	for _, one := range []struct {
		name, path, shows string
		most              int // times as long as a page without runs; 0: any
	}{
		{"list", "", "document.querySelectorAll('.runs tbody tr').length === 50", 8},
		{"filtered", "?q=branch%3Dmain+p99%3C1ms", "document.querySelectorAll('.runs tbody tr').length === 50", 0},
		{"last", "?skip=9960", "document.querySelectorAll('.runs tbody tr').length === 42", 0},
		{"wrong filter", "?q=nonsense%3D1", "document.body.innerText.includes('no run has')", 0},
		{"run", "run?id=@-1", "document.querySelectorAll('svg.plot').length > 3", 0},
		{"compare", "compare?base=@-2&head=@-1", "document.querySelectorAll('svg.plot').length > 0", 10},
		{"history", "history?q=branch%3Dmain", "document.body.innerText.includes('REGRESSED') || document.body.innerText.includes('p99')", 0},
		{"running", "live", "document.body.innerText.includes('1 run in progress')", 0},
		{"live", "live?id=" + live, "document.querySelector('.verdict .word').textContent === 'running'", 0},
		{"no such page", "nowhere", "document.body.innerText.includes('there is no such page')", 0},
	} {
		t.Run(one.name, func(t *testing.T) {
			views := []chromium.View{{Width: 1280, Height: 900}}
			if one.name != "filtered" && one.name != "last" { // these are as the list
				views = append(views, chromium.View{Width: 400, Height: 800, Dark: true, NoScript: true})
			}
			if one.most > 0 || os.Getenv("TAKT_PICTURES") != "" {
				views = append(views, chromium.View{Width: 400, Height: 800}, chromium.View{Width: 1280, Height: 900, Dark: true})
			}
			for i, v := range views {
				page, err := b.Open(p.url+one.path, v)
				if err != nil {
					t.Fatal(err)
				}
				until(t, page, one.shows)
				if wide := chromium.Eval[[]int](t, page, "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"); wide[0] > wide[1] {
					t.Errorf("%+v: the page is %d pixels wide, and the window %d", v, wide[0], wide[1])
				}
				if chromium.Eval[bool](t, page, "'struck' in window || document.querySelector('img[src=x]') !== null || document.querySelectorAll('script').length > 1") {
					t.Errorf("%+v: a text is code of the page", v)
				}
				for _, fault := range page.Faults() {
					if one.name != "wrong filter" && one.name != "no such page" || !strings.Contains(fault, "status of 40") {
						t.Errorf("%+v: %s", v, fault)
					}
				}
				picture(fmt.Sprintf("%s-%d", strings.ReplaceAll(one.name, " ", "-"), i), page)
				if one.most > 0 && i == 0 {
					fast(t, b, p.url+one.path, p.url+"nowhere", one.most)
				}
				if err := page.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	// By keyboard alone: two runs are chosen and compared. Enter in a box sends its form.
	page2, err := b.Open(p.url, chromium.View{Width: 1280, Height: 900, NoScript: true})
	if err != nil {
		t.Fatal(err)
	}
	chromium.Eval[bool](t, page2, "document.querySelector('.runs input').focus(), true")
	press(t, page2, " ", "Space", 32)
	press(t, page2, "Tab", "Tab", 9)
	press(t, page2, "Tab", "Tab", 9)
	press(t, page2, " ", "Space", 32)
	press(t, page2, "Enter", "Enter", 13)
	until(t, page2, "location.pathname === '/compare' && document.readyState === 'complete' && document.querySelector('.verdict .word').textContent === 'compared'")

	// A live run goes on in its page, and leads to its report when it is over.
	page3, err := b.Open(p.url+"live?id="+live, chromium.View{Width: 1280, Height: 900})
	if err != nil {
		t.Fatal(err)
	}
	counted := "document.querySelector('.headline').textContent"
	before := chromium.Eval[string](t, page3, counted)
	until(t, page3, fmt.Sprintf("%s !== %q", counted, before))
	end(&core.SignalError{Number: 2})
	until(t, page3, "location.pathname === '/run' && document.readyState === 'complete' && document.querySelectorAll('svg.plot').length > 3")
}

func press(t *testing.T, p *chromium.Page, key, code string, number int) {
	t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		text := key
		if len(key) > 1 {
			text = map[string]string{"Enter": "\r"}[key]
		}
		if _, err := p.Call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": code, "text": text, "windowsVirtualKeyCode": number}); err != nil {
			t.Fatal(err)
		}
	}
}

// fast opens a page and a plain one in turns until it takes at most so many times as long: others use the machine, too.
func fast(t *testing.T, b *chromium.Browser, url, plain string, most int) {
	t.Helper()
	var took, least []time.Duration
	for len(took) < 10 && (len(took) < 2 || slices.Min(took) > time.Duration(most)*slices.Min(least)) {
		took, least = append(took, opens(t, b, url)), append(least, opens(t, b, plain))
	}
	t.Logf("from the click to the end of the load event: %v, of a plain page %v", took, least)
	if slices.Min(took) > time.Duration(most)*slices.Min(least) {
		t.Errorf("the page needs %v, more than %d times as long as a plain page, %v", slices.Min(took), most, slices.Min(least))
	}
}

// opens is the time from the click to the end of the load event.
func opens(t *testing.T, b *chromium.Browser, url string) time.Duration {
	t.Helper()
	p, err := b.Open(url, chromium.View{Width: 1280, Height: 900})
	if err != nil {
		t.Fatal(err)
	}
	ms := 0.0
	for ms == 0 { // the event that Open waits for may not be over
		ms = chromium.Eval[float64](t, p, "performance.getEntriesByType('navigation')[0].loadEventEnd")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return time.Duration(ms * float64(time.Millisecond))
}
