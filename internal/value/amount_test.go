package value

import (
	"math"
	"testing"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "7B": 7, "5b": 5, "1KiB": 1024, "1Ki": 1024, "2MiB": 2 << 20, "1.5KiB": 1536, "1TiB": 1 << 40, "3kB": 3000, "4 MB": 4e6,
		"4g": 4e9, "1e3": 1000, "-1": -1, "1BkB": -1, "KiB": -1, "1.5": -1, "0x10": -1, "NaN": -1, "": -1, "2000TB": -1, "5x": -1,
	} {
		n := 42
		f := Size(&n)
		err := f.Set(text)
		if want < 0 {
			if err == nil || n != 42 {
				t.Errorf("%q: %d, %v", text, n, err)
			}
			continue
		}
		if err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", text, n, err, want)
		}
		if err := f.Set(f.String()); err != nil || n != want {
			t.Errorf("%q prints itself as %s: %d, %v", text, f, n, err)
		}
	}
	if err := Size(new(int)).Set("5x"); err == nil || err.Error() != `"5x" is not a size; use bytes, KiB or MiB, such as 64KiB` {
		t.Error(err)
	}
}

// A value that is refused changes nothing: the other faults are about the default.
func TestShares(t *testing.T) {
	refused := math.NaN()
	for name, test := range map[string]struct {
		flag func(*float64) Flag
		want map[string]float64
	}{
		"Share":   {Share, map[string]float64{"1%": 0.01, "0.1%": 0.001, "0.25": 0.25, "100%": 1, "1": 1, "0": 0, "2": refused, "101%": refused, "-1": refused, "%": refused, "x": refused, "": refused, "NaN": refused}},
		"Sample":  {Sample, map[string]float64{"10%": 0.1, "10": 0.1, "100": 1, "7%": 0.07, "0": refused, "0%": refused, "101": refused}},
		"Percent": {Percent, map[string]float64{"12.5%": 0.125, "1000%": 10, "-5%": -0.05, "5": refused, "0": refused, "Inf%": refused}},
		"Points":  {Points, map[string]float64{"0.07%": 0.07, "5%": 5, "5": refused}},
	} {
		for text, want := range test.want {
			v := 0.5
			f := test.flag(&v)
			err := f.Set(text)
			switch {
			case math.IsNaN(want):
				if err == nil || v != 0.5 {
					t.Errorf("%s %q: %v, %v", name, text, v, err)
				}
			case err != nil || v != want:
				t.Errorf("%s %q: %v, %v; want %v", name, text, v, err, want)
			}
		}
	}
	for want, f := range map[string]Flag{"0": Share(new(float64)), "7%": Sample(new(0.07)), "": Sample(new(float64)), "5%": Percent(new(0.05)), "0.1%": Points(new(0.1))} {
		if got := f.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
