// Package proof says what the operations of one run prove of the target, as it behaved during the run: an
// interval for each percentile, and whether a bound is met.
//
// Operations of one run depend on one another: those that wait in the same queue are all slow. So 1,000
// operations say less than 1,000 independent ones, and order statistics alone miss the true percentile in up
// to 87 % of runs. The counts by block of the schedule show by how much less (effect.go), and the ranks of an
// interval are those of so many independent operations (Woodruff, Journal of the American Statistical
// Association 47, 1952, 635–646).
package proof

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Most is the largest number of blocks. A run whose schedule has a known end has as many; another one has more
// than half as many.
const Most = 32

// columns of a block: the bins, and what did not succeed.
const (
	bins       = 164 // of latencies: four for each power of two, up to hist.Highest
	failed     = bins
	dropped    = bins + 1
	unfinished = bins + 2
	missed     = bins + 3 // ended well, and did not meet the conditions of the run
	columns    = bins + 4
)

const (
	finest = time.Millisecond / 2 // length of a block at the beginning, at least
	unit   = time.Duration(1 << 20)
	slack  = 1e-3 // part by which the blocks together are longer than the schedule
)

// Counts are the values of a latency by block and size. A block begins as short as finest. When an operation is
// due after the last block, two neighbours become one: so a run of any length has 17 to 32 blocks, and the
// lengths of two runs are the same but for a power of two. It is not safe for concurrent use.
type Counts struct {
	length time.Duration // of a block
	from   time.Duration // begin of the newest block
	at     int           // number of the newest block
	used   int           // blocks up to the last one with an operation
	first  int           // first block with an operation
	blocks [Most][columns]uint64
}

// New returns counts for a schedule of this length; 0 or less: its length is unknown.
func New(schedule time.Duration) *Counts {
	c := &Counts{length: unit}
	clear(c.blocks[:]) // makes the memory pages, before operations wait for them
	if schedule > 0 && schedule < math.MaxInt64/2 {
		length := float64(schedule) * (1 + slack) / Most
		for length >= float64(2*finest) {
			length /= 2
		}
		c.length = max(1, time.Duration(math.Ceil(length)))
	}
	c.Reset()
	return c
}

// Reset empties the blocks, and keeps their length.
func (c *Counts) Reset() {
	for i := c.first; i < c.used; i++ {
		c.blocks[i] = [columns]uint64{}
	}
	c.from, c.at, c.used, c.first = 0, 0, 0, Most
}

// bin is the number of the bin of a latency. Below 8 ns each value has its own.
func bin(d time.Duration) int {
	v := uint64(min(max(d, hist.Lowest), hist.Highest))
	shift := max(0, bits.Len64(v)-3)
	return shift<<2 + int(v>>shift)
}

// Add counts n operations that were due at an instant since the begin of the measured time and lasted took.
func (c *Counts) Add(due, took time.Duration, n uint64) { c.block(due)[bin(took)] += n }

// Failed, Dropped and Unfinished count n operations, which Add counts, too, if they have a latency.
func (c *Counts) Failed(due time.Duration, n uint64)     { c.block(due)[failed] += n }
func (c *Counts) Dropped(due time.Duration, n uint64)    { c.block(due)[dropped] += n }
func (c *Counts) Unfinished(due time.Duration, n uint64) { c.block(due)[unfinished] += n }
func (c *Counts) Missed(due time.Duration, n uint64)     { c.block(due)[missed] += n }

// block is the one of an instant. Operations come nearly in due order, so most are in the newest one.
func (c *Counts) block(due time.Duration) *[columns]uint64 {
	if uint64(due-c.from) >= uint64(c.length) || c.used == 0 {
		c.move(max(0, due))
	}
	return &c.blocks[c.at]
}

func (c *Counts) move(due time.Duration) {
	for due/c.length >= Most {
		c.halve()
	}
	c.at = int(due / c.length)
	c.from = time.Duration(c.at) * c.length
	c.first, c.used = min(c.first, c.at), max(c.used, c.at+1)
}

// halve makes one block of two neighbours.
func (c *Counts) halve() {
	for i := range c.blocks {
		to := &c.blocks[i/2]
		if i%2 == 0 {
			*to = c.blocks[i]
			continue
		}
		for k, n := range c.blocks[i] {
			to[k] += n
		}
	}
	clear(c.blocks[Most/2:])
	c.length *= 2
	c.used, c.first = (c.used+1)/2, min(c.first, Most-1)/2
	if c.used == 0 {
		c.first = Most
	}
}

// errApart says that blocks have no common instants.
var errApart = errors.New("its blocks of operations have other lengths than those of the others; use reports of one run")

// apart is the largest relative difference of lengths that are the same: shards of -n operations do not end at
// exactly the same instant.
const apart = 0.02

// Merge adds o, by the instants of the blocks.
func (c *Counts) Merge(o *Counts) error {
	if o.used == 0 {
		return nil
	}
	times := math.Log2(float64(o.length) / float64(c.length))
	if math.Abs(math.Exp2(times-math.Round(times))-1) > apart {
		return errApart
	}
	steps := int(math.Round(times))
	for range steps {
		c.halve()
	}
	for i := o.first; i < o.used; i++ {
		at := i >> max(0, -steps)
		to := &c.blocks[at]
		for k, n := range o.blocks[i] {
			to[k] += n
		}
		c.first, c.used = min(c.first, at), max(c.used, at+1)
	}
	c.move(time.Duration(c.used-1) * c.length)
	return nil
}

// Text is c as a report has it; nil: there are no operations.
func (c *Counts) Text() *takt.Blocks {
	if c.used == 0 {
		return nil
	}
	width := c.width()
	b := []byte{byte(1 + width - missed)}
	zeros := int64(0)
	for i := range c.used {
		for _, n := range c.blocks[i][:width] {
			if n == 0 {
				zeros++
				continue
			}
			if zeros > 0 {
				b, zeros = binary.AppendVarint(b, -zeros), 0
			}
			b = binary.AppendVarint(b, int64(n))
		}
	}
	return &takt.Blocks{LengthS: c.length.Seconds(), Counts: base64.StdEncoding.EncodeToString(b)}
}

// width is how many columns a text has. Its first byte is the version: 1 has no missed, and every takt reads it.
func (c *Counts) width() int {
	for i := range c.used {
		if c.blocks[i][missed] > 0 {
			return columns
		}
	}
	return missed
}

// longest is the largest number of bytes of a text before its base64: of each column the longest number.
const longest = 1 + Most*columns*binary.MaxVarintLen64

// Read reads the blocks of a report, in bounded memory.
func Read(t *takt.Blocks) (*Counts, error) {
	if t == nil {
		return nil, errors.New("there are no blocks")
	}
	length := math.Round(t.LengthS * float64(time.Second))
	if !(length >= 1 && length < math.MaxInt64/Most) {
		return nil, fmt.Errorf("the blocks have a length of %v s", t.LengthS)
	}
	if len(t.Counts) > base64.StdEncoding.EncodedLen(longest) {
		return nil, errText
	}
	b, err := base64.StdEncoding.DecodeString(t.Counts)
	if err != nil || len(b) == 0 || b[0] != 1 && b[0] != 2 {
		return nil, errText
	}
	width := missed + int64(b[0]) - 1
	c := new(Counts)
	c.length, c.first = time.Duration(length), Most
	at, total := int64(0), uint64(0)
	for b = b[1:]; len(b) > 0; {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, errText
		}
		b = b[size:]
		if n <= 0 {
			if at -= n; n == 0 || at >= Most*width || at < 0 {
				return nil, errText
			}
			continue
		}
		if total += uint64(n); at >= Most*width || n > most || total > most {
			return nil, errText
		}
		i := int(at / width)
		c.blocks[i][at%width] = uint64(n)
		c.first, c.used = min(c.first, i), max(c.used, i+1)
		at++
	}
	if c.used > 0 {
		c.move(time.Duration(c.used-1) * c.length)
	}
	return c, nil
}

// most is the largest count of a column: JSON has no exact integers above it.
const most = 1 << 53

var errText = errors.New("the counts of the blocks are not those that takt writes")

// Count is the number of latencies.
func (c *Counts) Count() (n uint64) {
	for i := range c.blocks {
		for _, k := range c.blocks[i][:bins] {
			n += k
		}
	}
	return n
}

// above are the latencies of each block in bins above one, and all of them.
func (c *Counts) above(bin int) (above, all []float64) {
	return c.sums(func(b *[columns]uint64) (above, all float64) {
		for i, n := range b[:bins] {
			if all += float64(n); i > bin {
				above += float64(n)
			}
		}
		return above, all
	})
}

// sums are two figures of each block.
func (c *Counts) sums(of func(*[columns]uint64) (part, all float64)) (parts, all []float64) {
	for i := range c.used {
		p, n := of(&c.blocks[i])
		parts, all = append(parts, p), append(all, n)
	}
	return parts, all
}

// counted reports whether there are operations.
func (c *Counts) counted() bool { return c != nil && c.used > 0 }
