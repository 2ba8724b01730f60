package hist

import (
	"fmt"
	"math"
	"time"
)

// The counts of a Sparse are in pages: 64 neighbours, 6 % of a power of two.
const (
	pageBits = 6
	pageSize = 1 << pageBits
	pages    = mostCounts / pageSize
)

// Sparse counts like a Histogram, but has memory only for the parts of the range in use: some 20 KB
// for latencies of a second, beside 264 KB. It is for many histograms at once, into which encoded
// ones are merged. The zero value is ready. It is not safe for concurrent use.
type Sparse struct {
	pages [pages]*[pageSize]uint32
	high  map[int]uint64 // counts above 2³² − 1: what the page cannot hold, in units of 2³²
	total int64
}

// Count is the number of values.
func (s *Sparse) Count() uint64 { return uint64(s.total) }

// Merge adds the histogram that a Decoder reads from the text. After an error s may have a part of it.
func (s *Sparse) Merge(d *Decoder, text string) error { return d.Each(text, s.Add) }

// Add counts a value n times, unless the sum would be too large.
func (s *Sparse) Add(value time.Duration, n int64) error {
	if value < 0 || n < 0 || index(uint64(value)) >= mostCounts {
		return fmt.Errorf("it has %d values of %v, outside of the range of takt", n, value)
	}
	if n > math.MaxInt64-s.total {
		return errTooMany
	}
	i := index(uint64(value))
	page := s.pages[i>>pageBits]
	if page == nil {
		page = new([pageSize]uint32)
		s.pages[i>>pageBits] = page
	}
	sum := uint64(page[i%pageSize]) + uint64(n)
	page[i%pageSize] = uint32(sum)
	if high := sum >> 32; high > 0 {
		if s.high == nil {
			s.high = map[int]uint64{}
		}
		s.high[i] += high
	}
	s.total += n
	return nil
}

// AddTo adds all values to h, unless the sum would be too large.
func (s *Sparse) AddTo(h *Histogram) error {
	for p, page := range s.pages {
		if page == nil {
			continue
		}
		for j := range page {
			n := s.count(page, p, j)
			if n == 0 {
				continue
			}
			if err := h.add(valueAt(p<<pageBits+j), n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reset empties s, and keeps its memory.
func (s *Sparse) Reset() {
	for _, page := range s.pages {
		if page != nil {
			clear(page[:])
		}
	}
	clear(s.high)
	s.total = 0
}

// Quantile is that of a Histogram with the same values.
func (s *Sparse) Quantile(q float64) time.Duration {
	if s.total == 0 {
		return 0
	}
	rank := int64(min(rankOf(q, float64(s.total)), float64(s.total)))
	below := int64(0)
	for p, page := range s.pages {
		if page == nil {
			continue
		}
		for j := range page {
			if below += s.count(page, p, j); below >= rank {
				return valueAt(p<<pageBits+j+1) - 1
			}
		}
	}
	return s.Max() // cannot happen, unless the total is beyond what a float64 can say
}

// count is the count of one value.
func (s *Sparse) count(page *[pageSize]uint32, p, j int) int64 {
	n := int64(page[j])
	if len(s.high) > 0 {
		n += int64(s.high[p<<pageBits+j] << 32)
	}
	return n
}

// Max is the upper end of the highest bucket in use; 0 for an empty histogram.
func (s *Sparse) Max() time.Duration {
	for p := len(s.pages) - 1; p >= 0; p-- {
		page := s.pages[p]
		if page == nil {
			continue
		}
		for j := pageSize - 1; j >= 0; j-- {
			if s.count(page, p, j) > 0 {
				return valueAt(p<<pageBits+j+1) - 1
			}
		}
	}
	return 0
}
