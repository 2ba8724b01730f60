package play

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// gapDues are the due instants of records at these seconds, at the speed.
func gapDues(g Gaps, speed float64, at ...int) (dues []time.Duration, src *Source) {
	var records []trace.Record
	for i, s := range at {
		records = append(records, trace.Record{At: time.Unix(int64(s), 0).UTC(), File: "log", Line: i + 1})
	}
	src = NewSource(&tracetest.List{Records: records}, speed)
	src.Gaps = g
	var op takt.Op
	for src.Next(&op) {
		dues = append(dues, op.Due/time.Second)
	}
	return dues, src
}

func TestGaps(t *testing.T) {
	at := []int{0, 10, 110, 111, 100_000_000, 200_000_000, 200_000_001, 400_000_000}
	got, src := gapDues(Gaps{Most: 20 * time.Second}, 1, at...)
	want := []time.Duration{0, 10, 30, 31, 51, 71, 72, 92}
	if len(got) != len(want) || src.Gaps.Count != 4 || len(src.Gaps.Found) != maxGaps {
		t.Fatalf("%v, %+v", got, src.Gaps)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if text := src.Gaps.Found[0].String(); text != "log:2 (1970-01-01 00:00:10) to log:3 (1970-01-01 00:01:50), 1m40s" {
		t.Error(text)
	}
	if text := src.Gaps.Found[1].String(); !strings.HasSuffix(text, ", 3 years") {
		t.Error(text)
	}

	// A gap is as long as the replay would be silent.
	if _, src = gapDues(Gaps{Most: 20 * time.Second}, 10, 0, 150); src.Gaps.Count != 0 {
		t.Errorf("%+v", src.Gaps)
	}
	got, src = gapDues(Gaps{Most: 20 * time.Second, Refuse: true}, 1, 0, 20, 41)
	if err := src.Err(); len(got) != 2 || err == nil || err.Error() != "a gap in the log is longer than 20s: log:2 (1970-01-01 00:00:20) to log:3 (1970-01-01 00:00:41), 21s" {
		t.Errorf("%v, %v", got, err)
	}
	if got, _ = gapDues(Gaps{}, 1, 0, 1_000_000); got[1] != 1_000_000 {
		t.Error(got)
	}
}

// What has passed while a pipe was silent is no gap; what is yet to pass is one.
func TestGapsOfAPipe(t *testing.T) {
	passed := func(d time.Duration) Gaps {
		return Gaps{Most: 20 * time.Second, Passed: func() time.Duration { return d }}
	}
	if got, src := gapDues(passed(100*time.Second), 1, 0, 120); got[1] != 120 || src.Gaps.Count != 0 {
		t.Error(got, src.Gaps)
	}
	if got, src := gapDues(passed(100*time.Second), 1, 0, 500); got[1] != 120 || src.Gaps.Count != 1 {
		t.Error(got, src.Gaps)
	}
}
