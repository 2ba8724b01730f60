package reader

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// repeated gives the good lines of a sample n times.
func repeated(b *testing.B, file string, n int) []byte {
	b.Helper()
	text, err := os.ReadFile("../testdata/" + file)
	if err != nil {
		b.Fatal(err)
	}
	return bytes.Repeat(text, n)
}

// BenchmarkLines is what reading costs beside bare cutting into lines.
func BenchmarkLines(b *testing.B) {
	for _, c := range []struct{ name, file, format string }{
		{"combined", "seed.log", "combined"},
		{"timed", "nginx-timed.log", "combined"},
		{"caddy", "caddy.log", "caddy"},
		{"load", "load-results.csv", "load"},
		{"bare", "seed.log", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := repeated(b, c.file, 20_000)
			lines := bytes.Count(text, []byte("\n"))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if c.format == "" {
					scan(b, text)
				} else {
					read(b, text, c.format)
				}
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

func scan(b *testing.B, text []byte) {
	s := bufio.NewScanner(bytes.NewReader(text))
	n := 0
	for s.Scan() {
		n += len(s.Bytes())
	}
	if n == 0 {
		b.Fatal("nothing read")
	}
}

func read(b *testing.B, text []byte, format string) {
	r, err := New("log", bytes.NewReader(text), Options{Format: format, Zone: time.UTC})
	if err != nil {
		b.Fatal(err)
	}
	var rec trace.Record
	for err == nil {
		err = r.Next(&rec)
	}
	if err != io.EOF || r.Counts().Records == 0 {
		b.Fatal(err, r.Counts())
	}
}
