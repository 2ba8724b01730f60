package engine

import (
	"testing"
	"time"
)

// The grid of the economy follows the rate, however operations come.
func TestEconomyGrid(t *testing.T) {
	for _, c := range []struct{ gap, want time.Duration }{
		{time.Hour, economyGrid},
		{2 * time.Millisecond, economyGrid},
		{100 * time.Microsecond, economyGrid},
		{45 * time.Microsecond, 315 * time.Microsecond},
		{20 * time.Microsecond, economyLeast},
		{5 * time.Microsecond, economyLeast},
	} {
		for _, burst := range []int{1, 10} {
			p := pacing{fits: true, most: economyGrid}
			for now := time.Duration(0); now < time.Duration(1000*burst)*c.gap; now += time.Duration(burst) * c.gap {
				p.sent(burst, now)
			}
			if p.grid < c.want*9/10 || p.grid > c.want*11/10 {
				t.Errorf("an operation every %v, %d together: the grid is %v, want %v", c.gap, burst, p.grid, c.want)
			}
		}
	}
}
