package dist

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, s := range []string{"-1ms", "uniform(1ms)", "uniform(2ms,1ms)", "2ms..1ms", "1ms..", "exp(1ms", "exp()", "lognormal(1ms,-1)", "lognormal(1ms,NaN)", "gamma(1ms)", "normal(1ms)", "normal(0,1ms)", "normal(1ms,-1ms)", "normal(1ms,x)", "()", "2h", "exp(1ms)x"} {
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
		"0":                {0, 0},
		"":                 {0, 0},
		"1ms":              {1, 0},
		"1..3":             {2000, 2000 / math.Sqrt(12)},
		"uniform(1ms,5ms)": {3, 4 / math.Sqrt(12)},
		"exp(2ms)":         {2, 2},
		"normal(5ms,1ms)":  {5, 1},
		"normal(1ms,0)":    {1, 0},
		// Of a normal distribution without its negative half: 1 + φ(0), and its deviation.
		"normal(1ms,1ms)":    {0.8413447 + 0.2419707, math.Sqrt(2*0.8413447 + 0.2419707 - 1.0833155*1.0833155)},
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

// Counts are whole numbers from 1 on, of the asked mean.
func TestCounts(t *testing.T) {
	for _, s := range []string{"", "0", "-1", "1e12", "1000000000000", "1.5", "1001", "uniform(0,5)", "5..1", "normal(100,-1)", "exp(0)", "lognormal(2000,1)"} {
		if _, err := ParseCount(s, 1000); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
	for spec, mean := range map[string]float64{"1": 1, "1000": 1000, "50..150": 100, "normal(100,30)": 100, "exp(100)": 100, "lognormal(100,0.5)": 100 * math.Exp(0.125), "normal(1,50)": 1 + 50*0.39894} {
		c, err := ParseCount(spec, 1000)
		if err != nil {
			t.Fatal(err)
		}
		sum, r := 0.0, rand.New(rand.NewPCG(7, 8))
		for range 100_000 {
			n := c.Draw(r)
			if n < 1 || n > 1000 || n > c.Most() {
				t.Fatalf("%q drew %d", spec, n)
			}
			sum += float64(n)
		}
		if got := sum / 100_000; math.Abs(got-mean) > 0.01*mean || math.Abs(float64(c.Mean())-mean) > 1 {
			t.Errorf("%q: mean %.2f, and it says %d; want %.2f", spec, got, c.Mean(), mean)
		}
	}
}
