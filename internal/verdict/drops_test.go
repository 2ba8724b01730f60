package verdict

import (
	"testing"
	"time"
)

// Drops count as late from the first bucket that lies wholly above the bound.
func TestDrops(t *testing.T) {
	var d, other Drops
	d.Add(-time.Second, 1) // dropped ahead of its instant: not late
	d.Add(0, 2)
	d.Add(900*time.Microsecond, 3)
	d.Add(1100*time.Microsecond, 4)
	other.Add(3*time.Millisecond, 5)
	other.Add(200*time.Hour, 6)
	d.Merge(&other)
	if n := d.Count(); n != 21 {
		t.Errorf("%d dropped, want 21", n)
	}
	for _, c := range []struct {
		late time.Duration
		want uint64
	}{{0, 18}, {time.Millisecond, 15}, {2 * time.Millisecond, 11}, {time.Second, 6}, {1 << 62, 0}} {
		if n := d.Above(c.late); n != c.want {
			t.Errorf("%d dropped more than %v late, want %d", n, c.late, c.want)
		}
	}
}

func TestMany(t *testing.T) {
	for _, c := range []struct {
		n, of uint64
		want  bool
	}{{9, 10, false}, {10, 1000, false}, {11, 1000, true}, {0, 0, false}} {
		if got := many(c.n, c.of); got != c.want {
			t.Errorf("%d of %d: %v", c.n, c.of, got)
		}
	}
}
