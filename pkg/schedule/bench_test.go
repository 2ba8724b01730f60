package schedule

import (
	"math"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

var benchSpecs = []struct {
	name string
	spec Spec
}{
	{"constant", Constant(500, 0)},
	{"constant-thirds", Constant(99999.3, 0)},
	{"poisson", Spec{Stages: Constant(1e5, 0).Stages, Poisson: true}},
	{"ramp", Ramp(1000, 1e6, 1e4*time.Hour)},
	{"ramp-falling", Ramp(1e6, 1000, 1e4*time.Hour)},
	{"ramp-poisson", Spec{Stages: Ramp(1000, 1e6, 1e4*time.Hour).Stages, Poisson: true}},
	{"gamma-0.5", Spec{Stages: Constant(1e5, 0).Stages, Gamma: 0.5}},
	{"gamma-3", Spec{Stages: Constant(1e5, 0).Stages, Gamma: 3}},
	{"ramp-gamma-3", Spec{Stages: Ramp(1000, 1e6, 1e4*time.Hour).Stages, Gamma: 3}},
	{"like", Spec{Stages: Constant(1e5, 0).Stages, Like: patternOf(0, 1, 5, 6, 100)}},
	{"closed", Constant(math.Inf(1), 0)},
}

func BenchmarkNext(b *testing.B) {
	for _, c := range benchSpecs {
		b.Run(c.name, func(b *testing.B) {
			it := open(b, c.spec)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := it.Next(); !ok {
					b.Fatal("at its end")
				}
			}
		})
	}
}

func BenchmarkSource(b *testing.B) {
	for _, c := range benchSpecs[:3] {
		b.Run(c.name, func(b *testing.B) {
			src, op := source1(b, c.spec), takt.Op{}
			b.ReportAllocs()
			for b.Loop() {
				if !src.Next(&op) {
					b.Fatal("at its end")
				}
			}
		})
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, c := range benchSpecs {
		src, op, at := Split(source1(t, c.spec), 1, 3), takt.Op{}, time.Duration(0)
		count, _ := src.(takt.Counter)
		if n := testing.AllocsPerRun(1000, func() {
			src.Next(&op)
			if count != nil {
				at += time.Millisecond
				count.DueBefore(at)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations an operation", c.name, n)
		}
	}
}
