package engine

import (
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// The time between two wake-ups is what all clients allow, or the user.
func TestLagOfAsync(t *testing.T) {
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	for _, c := range []struct {
		options  Options
		collects []time.Duration
		want     time.Duration
	}{
		{Options{}, []time.Duration{0}, 0},
		{Options{}, []time.Duration{us(200)}, us(140)},
		{Options{}, []time.Duration{us(200), us(100)}, us(40)},
		{Options{}, []time.Duration{us(50)}, 0},
		{Options{Pacing: pacingDefault}, []time.Duration{us(200)}, us(140)},
		{Options{Pacing: pacingPrecise}, []time.Duration{us(200)}, 0},
		{Options{Pacing: pacingEconomy}, []time.Duration{0}, us(940)},
		{Options{MaxLag: us(500)}, []time.Duration{us(200)}, us(440)},
	} {
		a := &async{plan: Plan{Options: c.options}}
		for _, collects := range c.collects {
			a.clients = append(a.clients, &takt.AsyncClient{Collects: collects})
		}
		if got := a.lagOf(); got != c.want {
			t.Errorf("%+v, %v: %v, want %v", c.options, c.collects, got, c.want)
		}
	}
}
