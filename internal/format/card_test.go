package format_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

// A card of whatever run is whole XML, without what its texts could do there, and asks for no other file.
func TestCardIsSafe(t *testing.T) {
	hostile := "</text><script>alert(1)</script>&\x1b[2J\u202e" + strings.Repeat("W", 500)
	f, _, err := format.Parse("card=x.svg")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]takt.Report{
		"nothing": {},
		"texts": {
			Kind: hostile, Tool: takt.Tool{Name: "takt", Version: hostile}, Variables: map[string]any{"host": hostile, "name": hostile}, Verdict: takt.Invalid,
			Warnings: []takt.Warning{{Code: "x", Message: hostile}}, Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 3, HDR: hostile}},
		},
		"capacity of nothing": {Kind: "capacity", Extra: map[string]any{"slo": hostile, "steps": []any{}}},
	} {
		var b bytes.Buffer
		if err := format.Replay(f, &b, &r); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		text := b.String()
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				break
			}
		}
		if strings.Contains(text, "<script") || strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "href") || len(text) > 20<<10 {
			t.Errorf("%s: %s", name, text)
		}
	}
}
