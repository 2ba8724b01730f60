package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command that help shows has a page with the flags that its help shows.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{dir, "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"takt":             {`.TH "TAKT" 1 "" "takt 1.2.3" "takt"`, `\fBhttp\fR`, ".BR takt\\-store (1),", ".BR takt\\-version (1)\n"},
		"takt-http":        {`\fB\-z, \-\-duration\fR \fI`, `\fB\-\-store\-limit\fR \fIN\fR`, "(default 10000)", "TAKT_RATE", ".SH EXAMPLES\n.nf\n  takt http"},
		"takt-store-prune": {`\fBtakt store prune \-\-keep N|TIME`, ".BR takt\\-store (1)\n"},
		"takt-kafka-e2e":   {".SH EXIT STATUS"},
	} {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s has no %q:\n%s", name, want, page)
			}
		}
	}
	for _, gone := range []string{"takt-help", "takt-job"} {
		if _, err := os.Stat(filepath.Join(dir, gone+".1")); err == nil {
			t.Errorf("%s has a page", gone)
		}
	}
}

// No line of a text is a request of roff by accident, and every request is one of these.
func TestRequests(t *testing.T) {
	for name, page := range pages(root(), "takt") {
		for line := range strings.Lines(page) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			known := map[string]bool{".TH": true, ".SH": true, ".SS": true, ".TP": true, ".nf": true, ".fi": true, ".BR": true}
			if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !known[word] {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	for in, want := range map[string]string{".conf": `\&.conf`, "'a'": `\&'a'`, `a\b`: `a\eb`, "a-b": `a\-b`, "RUN…": `RUN\[u2026]`} {
		if got := text(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
