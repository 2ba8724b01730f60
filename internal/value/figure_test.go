package value_test

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/figure"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		254541823: "255ms", 248774655: "249ms", 5167513: "5.17ms", 0: "0µs", -5: "0µs", 940: "940ns",
		999: "999ns", 999_600: "1ms", 999_499: "999µs", 999_999_999: "1s", 7189037055: "7.19s",
		90 * time.Second: "90s", 1: "1ns", time.Hour: "3600s", 10 * time.Millisecond: "10ms", 1200 * time.Microsecond: "1.2ms",
		60 * time.Microsecond: "60µs", 99_950 * time.Microsecond: "100ms", 31260 * time.Millisecond: "31.3s",
		4321987 * time.Millisecond: "4320s",
	} {
		if got := figure.Duration(d); got != want {
			t.Errorf("%d ns: %s, want %s", d, got, want)
		}
	}
}

// A figure that misses its bound by a hair does not read like the bound.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		us, bound float64
		want      string
	}{
		{12_345, 250_000, "12.3ms"},
		{250_000, 250_000, "250ms"},
		{250_039.9, 250_000, "250.04ms"},
		{249_999.9, 250_000, "249.9999ms"},
		{250_400, 250_000, "250.4ms"},
		{249_600, 250_000, "249.6ms"},
		{999.9999, 1000, "999.9999µs"},
		{1_200_000, 90e6, "1.2s"},
		{0.4, 0, "400ns"},
	} {
		if got := figure.MicrosNear(c.us, c.bound); got != c.want {
			t.Errorf("%v beside %v: %s, want %s", c.us, c.bound, got, c.want)
		}
	}
	for _, c := range []struct {
		v, bound float64
		want     string
	}{
		{2.020202, 1, "2.02"}, {0.99999, 1, "0.99999"}, {98.996, 99, "98.996"}, {98.5, 99, "98.5"}, {1234, 1235, "1234"},
		{0, 1, "0"}, {12345.678, 990, "12300"}, {123456789, 5, "123456789"}, {99.996, 99, "100"},
	} {
		if got := figure.Near(c.v, c.bound); got != c.want {
			t.Errorf("%v beside %v: %s, want %s", c.v, c.bound, got, c.want)
		}
	}
}
