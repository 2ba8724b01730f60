package payload

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
)

// Sizes is a distribution of the sizes of messages, which ParseSizes reads:
//
//	100..64KiB           every size between the two is equally likely
//	lognormal:2KiB,20KiB mean, and 99th percentile
//	zipf:100..64KiB,1.2  small sizes are frequent; the exponent may be missing
//	file:sizes.txt       the sizes of a sample, one a line, in random order
//
// It is only read, so it is safe for concurrent use.
type Sizes struct {
	text        string
	least, most int
	draw        draw
	at          func(high, low uint64) int
}

const (
	lognormalForm = "lognormal:"
	zipfForm      = "zipf:"
	fileForm      = "file:"
	rangeForm     = ".."
)

// SizesForms says what ParseSizes reads.
const SizesForms = "write bytes such as 300 or 64KiB, a range 100..64KiB, lognormal:MEAN,P99, zipf:MIN..MAX,EXPONENT, or file:PATH"

// maxSize is the largest size: a request of Kafka has at most 2 GiB.
const maxSize = 1 << 30

// IsDistribution reports whether the text is meant for ParseSizes.
func IsDistribution(text string) bool {
	return strings.Contains(text, rangeForm) || strings.Contains(text, ":")
}

// SizesFile is the file that the text names; "": none.
func SizesFile(text string) string {
	path, found := strings.CutPrefix(text, fileForm)
	if !found {
		return ""
	}
	return path
}

// ParseSizes reads a distribution. seed determines the sizes.
func ParseSizes(text string, seed uint64) (*Sizes, error) {
	s := &Sizes{text: text, draw: newDraw(seed, "size "+text, 0)}
	var err error
	switch kind, rest, _ := strings.Cut(text, ":"); kind + ":" {
	case lognormalForm:
		err = s.lognormal(rest)
	case zipfForm:
		err = s.zipf(rest)
	case fileForm:
		err = s.sample(rest)
	default:
		err = s.uniform(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", text, err)
	}
	return s, nil
}

// At is the size of message seq.
func (s *Sizes) At(seq uint64) int { return s.at(s.draw.at(seq)) }

// Least and Most are bounds of all sizes.
func (s *Sizes) Least() int { return s.least }
func (s *Sizes) Most() int  { return s.most }

var errSizes = fmt.Errorf("not a distribution of sizes; %s", SizesForms)

// oneSize reads a size.
func oneSize(text string) (int, error) {
	bytes, ok := value.ParseSize(strings.TrimSpace(text))
	if !ok || bytes != math.Trunc(bytes) || bytes < 0 || bytes > maxSize {
		return 0, fmt.Errorf("%.20q is not a size from 0 to %d bytes; write for example 300 or 64KiB", text, maxSize)
	}
	return int(bytes), nil
}

// bounds reads MIN..MAX.
func (s *Sizes) bounds(text string) (err error) {
	least, most, found := strings.Cut(text, rangeForm)
	if !found {
		return errSizes
	}
	if s.least, err = oneSize(least); err != nil {
		return err
	}
	if s.most, err = oneSize(most); err != nil {
		return err
	}
	if s.least > s.most {
		return fmt.Errorf("%d is greater than %d; write the smaller size first", s.least, s.most)
	}
	return nil
}

func (s *Sizes) uniform(text string) error {
	err := s.bounds(text)
	count := uint64(s.most-s.least) + 1
	s.at = func(high, low uint64) int { return s.least + int(below(count, high, low)) }
	return err
}

func (s *Sizes) zipf(text string) error {
	ends, exponent, given := strings.Cut(text, ",")
	if err := s.bounds(ends); err != nil {
		return err
	}
	e := 1.0
	if given {
		var err error
		if e, err = strconv.ParseFloat(strings.TrimSpace(exponent), 64); err != nil {
			return errSizes
		}
	}
	r, err := newRanks(int64(s.most-s.least)+1, e)
	s.at = func(high, low uint64) int { return s.least + int(r.at(high, low)) - 1 }
	return err
}

// quantileOf is the quantile of the standard normal distribution.
func quantileOf(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// The largest size of a lognormal distribution is this quantile: one message in a million would be
// larger, some without a bound.
const largestQuantile = 1 - 1e-6

// lognormal finds the parameters from the mean and the 99th percentile. mean = exp(μ + σ²/2) and
// p99 = exp(μ + zσ), so ln(p99 ÷ mean) = zσ − σ²/2. The smaller σ is meant.
func (s *Sizes) lognormal(text string) error {
	first, second, found := strings.Cut(text, ",")
	if !found {
		return errSizes
	}
	mean, err := oneSize(first)
	if err != nil {
		return err
	}
	p99, err := oneSize(second)
	if err != nil {
		return err
	}
	z := quantileOf(0.99)
	if most := math.Exp(z * z / 2); mean < 1 || p99 < mean || float64(p99) > most*float64(mean) {
		return fmt.Errorf("the 99th percentile of a lognormal distribution is 1 to %.1f times its mean, which is above 0; raise or lower one of them", math.Floor(most*10)/10)
	}
	ratio := math.Log(float64(p99) / float64(mean))
	sigma := z - math.Sqrt(max(0, z*z-2*ratio))
	mu := math.Log(float64(mean)) - sigma*sigma/2
	s.most = int(min(maxSize, math.Round(math.Exp(mu+quantileOf(largestQuantile)*sigma))))
	s.at = func(high, _ uint64) int {
		return min(s.most, int(math.Round(math.Exp(mu+sigma*quantileOf(unit(high))))))
	}
	return nil
}

// sample reads the sizes of a file.
func (s *Sizes) sample(path string) error {
	f, err := files.Open(path)
	if err != nil {
		return fmt.Errorf("cannot open the sizes: %w; check the path", err)
	}
	defer f.Close()
	lines, err := ReadLines(path, f)
	if err != nil {
		return err
	}
	all := make([]int32, 0, lines.Len())
	s.least = maxSize
	err = lines.check(func(line []byte) error {
		size, err := oneSize(string(line))
		all = append(all, int32(size))
		s.least, s.most = min(s.least, size), max(s.most, size)
		return err
	})
	s.at = func(high, low uint64) int { return int(all[below(uint64(len(all)), high, low)]) }
	return err
}

func (s *Sizes) String() string { return s.text }
