package payload

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The frequency of each number is in proportion to k^-exponent: the chi-squared of 100 000 draws is
// below its 99.99th percentile.
func TestZipfLaw(t *testing.T) {
	const draws, n = 100_000, 20
	for _, exponent := range []float64{0.2, 0.99, 1, 1 + 1e-14, 1.2, 3} {
		r, err := newRanks(n, exponent)
		if err != nil {
			t.Fatal(err)
		}
		var seen [n + 1]float64
		d := newDraw(7, "key", 0)
		for seq := range uint64(draws) {
			seen[r.at(d.at(seq))]++
		}
		all := 0.0
		for k := 1; k <= n; k++ {
			all += math.Pow(float64(k), -exponent)
		}
		chi := 0.0
		for k := 1; k <= n; k++ {
			want := draws * math.Pow(float64(k), -exponent) / all
			chi += (seen[k] - want) * (seen[k] - want) / want
		}
		if chi > 52 { // 19 degrees of freedom
			t.Errorf("exponent %v: chi-squared %.1f, seen %v", exponent, chi, seen)
		}
	}
}

// Every number is within its bounds, also at the largest ones, and one number is always drawn.
func TestZipfBounds(t *testing.T) {
	for _, c := range []struct {
		n        int64
		exponent float64
	}{{1, 1}, {2, 20}, {maxRanks, 0.001}, {maxRanks, 1}, {maxRanks, 20}} {
		r, err := newRanks(c.n, c.exponent)
		if err != nil {
			t.Fatal(err)
		}
		for _, bits := range []uint64{0, 1, math.MaxUint64, 1 << 63} {
			if k := r.at(bits, bits); k < 1 || k > c.n {
				t.Errorf("%+v: %d", c, k)
			}
		}
	}
}

func TestZipfPlaceholder(t *testing.T) {
	env := Env{Seed: 3}
	tm, err := env.Parse("--key", "user-{{zipf 1000 1.1}}")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := env.Parse("--key", "user-{{zipf 1000 1.1}}")
	first := 0
	for seq := range uint64(1000) {
		a, b := string(tm.Append(nil, seq)), string(again.Append(nil, seq))
		n, err := strconv.Atoi(strings.TrimPrefix(a, "user-"))
		if a != b || err != nil || n < 1 || n > 1000 || len(a) > tm.MaxLen() {
			t.Fatalf("%s, again %s, %v", a, b, err)
		}
		if n == 1 {
			first++
		}
	}
	if first < 120 || first > 240 || !tm.Random() { // of 1000, 177 are expected
		t.Errorf("%d of 1000 keys are the first", first)
	}
	for text, want := range map[string]string{
		"{{zipf}}": "write {{zipf 1000}}", "{{zipf 0}}": "not 0", "{{zipf -1}}": "not -1", "{{zipf 5 0}}": "not 0", "{{zipf 5 NaN}}": "not NaN",
		"{{zipf 5 21}}": "not 21", "{{zipf 5 x}}": "wrong arguments", `{{zipf 5 "1"}}`: "wrong arguments", "{{zipf 1 2 3}}": "wrong arguments", "{{zipf 9007199254740993}}": "1 to 9007199254740992",
	} {
		if _, err := env.Parse("--key", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = tm.Append(dst[:0], 5) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkZipf(b *testing.B) {
	r, _ := newRanks(1_000_000, 1.1)
	d := newDraw(1, "", 0)
	for seq := range uint64(b.N) {
		r.at(d.at(seq))
	}
}

// sizesFile is a file of sizes.
func sizesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sizes.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSizes(t *testing.T) {
	sample := sizesFile(t, "100\r\n1KiB\n100\n400\n")
	for text, want := range map[string]struct {
		least, most int
		mean        float64 // ± 3 %
		p99         float64 // ± 6 %; 0: not looked at
	}{
		"100..300":              {100, 300, 200, 298},
		"5..5":                  {5, 5, 5, 5},
		"0..1KiB":               {0, 1024, 512, 1014},
		"lognormal:1000,5000":   {0, 38_910, 1000, 5000},
		"lognormal:2KiB,20KiB":  {0, 655_500, 2048, 20480},
		"lognormal:300,300":     {0, 300, 300, 300},
		"zipf:100..102":         {100, 102, 100.636, 0},
		"zipf:100..1000000,1.5": {100, 1_000_000, 0, 0},
		"file:" + sample:        {100, 1024, 406, 1024},
	} {
		s, err := ParseSizes(text, 11)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, _ := ParseSizes(text, 11)
		other, _ := ParseSizes(text, 12)
		const n = 50_000
		sum, above, differ := 0.0, 0, 0
		for seq := range uint64(n) {
			size := s.At(seq)
			if size < s.Least() || size > s.Most() || size != again.At(seq) {
				t.Fatalf("%s: size %d of %d", text, size, seq)
			}
			sum += float64(size)
			if float64(size) > want.p99 {
				above++
			}
			if size != other.At(seq) {
				differ++
			}
		}
		mean := sum / n
		if s.Least() != want.least || s.Most() != want.most && math.Abs(float64(s.Most())/float64(want.most)-1) > 0.02 || want.mean > 0 && math.Abs(mean/want.mean-1) > 0.03 {
			t.Errorf("%s: %d to %d, mean %.1f", text, s.Least(), s.Most(), mean)
		}
		if share := float64(above) / n; want.p99 > 0 && share > 0.0125 {
			t.Errorf("%s: %.4f are above the 99th percentile", text, share)
		}
		if s.Least() < s.Most() && text != "lognormal:300,300" && differ < n/10 {
			t.Errorf("%s: only %d sizes differ with another seed", text, differ)
		}
	}
}

func TestSizesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"lognormal:10,9": "1 to 14.9 times", "lognormal:10,151": "1 to 14.9 times", "lognormal:0,0": "above 0", "lognormal:5": "lognormal:MEAN,P99", "lognormal:x,5": `"x" is not a size`,
		"5..1": "smaller size first", "-1..5": `"-1" is not a size`, "1..2GiB": `"2GiB" is not a size`, "0.5..2": `"0.5" is not a size`, "..": `"" is not a size`, "normal:1,2": "file:PATH",
		"zipf:1..5,0": "above 0", "zipf:1..5,x": "zipf:MIN", "zipf:5": "zipf:MIN", "file:": "check the path", "file:" + t.TempDir(): "is a directory",
		"file:" + sizesFile(t, ""): "is empty", "file:" + sizesFile(t, "1\n\nx\n"): ":2: \"\" is not a size", "file:" + sizesFile(t, "5\n-3\n9e99\n"): ":2: \"-3\"",
	} {
		if _, err := ParseSizes(text, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
