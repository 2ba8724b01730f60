//go:build real

package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/test/chromium"
)

// What Chromium does in a shop that checks all it asks for is recorded, and the file works unchanged for 1,000 users.
func TestRealChromiumRecordsScenario(t *testing.T) {
	free, err := reach.Confine([]string{"127.0.0.1"}, nil) // what the browser wants to tell its maker
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for name, secure := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, secure)
			file, flags := filepath.Join(t.TempDir(), "steps.txt"), []string(nil)
			if secure {
				flags = []string{"--cacert", certificateOf(t, s)}
			}
			r := startRecording(t, append(flags, "-o", file)...)
			b := chromium.ForTest(t, "--proxy-server="+r.proxy.Host, "--proxy-bypass-list=<-loopback>", "--ignore-certificate-errors-spki-list="+r.spki)
			p, err := b.Open(s.URL+"/", chromium.View{Width: 800, Height: 600})
			if err != nil {
				t.Fatal(err)
			}
			title := ""
			for end := time.Now().Add(time.Minute); title != "done"; time.Sleep(20 * time.Millisecond) {
				_ = p.Eval("document.title", &title) // fails between two pages
				if strings.HasPrefix(title, "failed") || time.Now().After(end) {
					t.Fatalf("%q, %q\n%s", title, s.faults, r.stderr)
				}
			}
			r.finish()
			if len(s.faults) > 0 {
				t.Fatalf("the browser itself broke rules: %q", s.faults)
			}
			text := readFile(t, file)
			if n := strings.Count(text, "@think"); n < 1 { // three pages wait, and a busy machine swallows pauses
				t.Errorf("%d think times\n%s", n, text)
			}
			if strings.Contains(r.stderr.String(), "not known where from") {
				t.Errorf("%s\n%s", r.stderr, text)
			}
			play(t, s, file, 1000, flags...)
		})
	}
}
