package analysis

import "time"

// The sides of a duet.
const (
	DuetBase = 0
	DuetHead = 1
)

// Deal says whose operations are due when: the schedule is cut into blocks, and the blocks
// of a pair go to base and head in an order that chance decides anew for each pair. An order
// that is fixed, or turns round each time, could keep step with something periodic.
type Deal struct {
	Block time.Duration
	Seed  uint64
}

// Number is the block that the instant due lies in; the blocks 2i and 2i+1 are the pair i.
func (d Deal) Number(due time.Duration) int { return int(due / d.Block) }

// Side is DuetBase or DuetHead.
func (d Deal) Side(block int) int {
	return (block & 1) ^ int(mixed(d.Seed+uint64(block/2)*0x9e3779b97f4a7c15)>>63)
}

// mixed is the output of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): of numbers that are
// next to each other it makes random ones.
func mixed(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
