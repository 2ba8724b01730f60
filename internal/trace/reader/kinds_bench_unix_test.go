//go:build unix

package reader

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// BenchmarkKinds is the speed of each example of docs/log-formats.md, with other paths in each line, in
// lines per second of CPU: other programs on the machine disturb that less than time.
func BenchmarkKinds(b *testing.B) {
	const lines = 20_000
	for _, e := range examples(b) {
		b.Run(strings.ReplaceAll(e.name, "/", "-"), func(b *testing.B) {
			text := e.repeated(lines)
			r, err := New("log", bytes.NewReader(text), e.settings(b).Options)
			if err != nil {
				b.Fatal(err)
			}
			o := r.more(e.settings(b).Options)
			b.ReportAllocs()
			begin := cpu()
			for b.Loop() {
				r, err := New("log", bytes.NewReader(text), o)
				var rec trace.Record
				for err == nil {
					err = r.Next(&rec)
				}
				if err != io.EOF || r.Counts().Records != lines {
					b.Fatal(err, r.Counts())
				}
			}
			b.ReportMetric(lines*float64(b.N)/(cpu()-begin).Seconds()/1e6, "Mlines/cpu-s")
		})
	}
}

// repeated is the log with so many requests.
func (e example) repeated(lines int) []byte {
	last := len(e.lines) - 1
	var text []byte
	for _, head := range e.lines[:last] {
		text = append(append(text, head...), '\n')
	}
	for i := range lines {
		text = append(append(text, strings.Replace(e.lines[last], "/a", fmt.Sprintf("/a/%d", i), 1)...), '\n')
	}
	return text
}

// cpu is the CPU time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
