package document_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// report has histograms, one of another encoder, and texts that look like the marks of the data.
func report() *takt.Report {
	h := hist.New()
	for i := range 1000 {
		h.Record(time.Duration(i*i) * time.Microsecond)
	}
	s := h.Encode()
	return &takt.Report{
		SchemaVersion: 1, ID: "r1",
		Labels:    map[string]string{"mark": "\x00\x01", "almost": "HISTF", "histogram": s, "spoiled": s[:len(s)-9] + "AAAAAAAA="},
		Latency:   map[string]takt.Latency{takt.LatencyResponse: h.Summary()},
		Intervals: []takt.Interval{{T: 1, HDR: s}, {T: 2}, {T: 3, HDR: s, ServiceHDR: s}},
	}
}

func page(t *testing.T, reports ...*takt.Report) string {
	t.Helper()
	packed, err := document.PackPage(reports...)
	if err != nil {
		t.Fatal(err)
	}
	return " \n<!DOCTYPE html><p>" + document.PageOpen + packed + document.PageClose
}

func read(t *testing.T, page string) string {
	t.Helper()
	r, err := document.OfPage(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What was put into a page is read from it byte for byte.
func TestReportsAreReadBack(t *testing.T) {
	want, err := document.Encode(report())
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, page(t, report())); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := read(t, page(t, report(), report())); got != string(want)+"\n"+string(want) {
		t.Errorf("two reports: got\n%s", got)
	}
}

// A file that is not a page is read as it is.
func TestOtherFiles(t *testing.T) {
	for _, text := range []string{"", "{}", "  [1]", "<!doctyp", strings.Repeat(" ", 5000) + "{}"} {
		if got := read(t, text); got != text {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestDamagedPages(t *testing.T) {
	whole := page(t, report())
	data := strings.Index(whole, document.PageOpen) + len(document.PageOpen)
	for name, text := range map[string]string{
		"no data":      "<!doctype html><p>hello",
		"cut off":      whole[:len(whole)-20],
		"no gzip":      whole[:data] + "AAAA" + document.PageClose,
		"no base64":    whole[:data] + "?" + whole[data:],
		"other bytes":  whole[:data+40] + "AAAAAAAAAAAA" + whole[data+52:],
		"half of it":   whole[:data+400] + document.PageClose,
		"empty script": whole[:data] + document.PageClose,
	} {
		if _, err := document.OfPage(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "takt wrote") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// A small page cannot make takt use much memory.
func TestBombs(t *testing.T) {
	zeros := bytes.Repeat([]byte("a"), 65<<20)
	if _, err := document.OfPage(strings.NewReader("<!doctype html>" + document.PageOpen + document.PackBytes(zeros) + document.PageClose)); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("a text of 65 MiB: the error is %v", err)
	}
	// Each byte pair becomes a histogram of 60 bytes or more.
	n := 3 << 20
	bomb := append(bytes.Repeat([]byte{1}, n), 0)
	bomb = append(bomb, bytes.Repeat([]byte{1, 2}, n)...)
	if _, err := document.OfPage(strings.NewReader("<!doctype html>" + document.PageOpen + document.PackBytes(bomb) + document.PageClose)); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("%d histograms: the error is %v", n, err)
	}
}
