package dist

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, s := range []string{"-1ms", "uniform(1ms)", "uniform(2ms,1ms)", "2ms..1ms", "1ms..", "exp(1ms", "exp()", "lognormal(1ms,-1)", "lognormal(1ms,NaN)", "gamma(1ms)", "2h", "exp(1ms)x"} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

// The moments of 200 000 draws are within 2 % of theory.
func TestMoments(t *testing.T) {
	const n, sigma = 200_000, 0.5
	logMean := 2 * math.Exp(sigma*sigma/2)
	for spec, want := range map[string]struct{ mean, dev float64 }{
		"0":                  {0, 0},
		"":                   {0, 0},
		"1ms":                {1, 0},
		"1..3":               {2000, 2000 / math.Sqrt(12)},
		"uniform(1ms,5ms)":   {3, 4 / math.Sqrt(12)},
		"exp(2ms)":           {2, 2},
		"lognormal(2ms,0.5)": {logMean, logMean * math.Sqrt(math.Exp(sigma*sigma)-1)},
	} {
		draw, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		var sum, squares float64
		r := rand.New(rand.NewPCG(7, 8))
		for range n {
			x := float64(draw.Draw(r)) / float64(time.Millisecond)
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		if said := float64(draw.Mean()) / float64(time.Millisecond); math.Abs(said-want.mean) > 1e-3*want.mean {
			t.Errorf("%q: it says that its mean is %v", spec, draw.Mean())
		}
		dev := math.Sqrt(max(0, squares/n-mean*mean))
		if math.Abs(mean-want.mean) > 0.02*want.mean || math.Abs(dev-want.dev) > 0.02*want.dev+1e-6 {
			t.Errorf("%q: mean %.4f ms, deviation %.4f; want %.4f, %.4f", spec, mean, dev, want.mean, want.dev)
		}
	}
}

func TestDrawsAreBounded(t *testing.T) {
	draw, err := Parse("lognormal(1h,10)")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 1000 {
		if d := draw.Draw(r); d < 0 || d > draw.Most() || d > Max {
			t.Fatalf("drew %v", d)
		}
	}
}
