package verify

import "time"

// The sides of a duet.
const (
	DuetBase = 0
	DuetHead = 1
)

// Deal decides which side gets which operations. It divides the schedule into blocks. One block of
// each pair goes to base and the other to head, in random order, because a fixed or alternating
// order could be in step with something periodic.
type Deal struct {
	Block time.Duration
	Seed  uint64
}

// Number is the number of the block that contains the instant due. Blocks 2i and 2i+1 are pair i.
func (d Deal) Number(due time.Duration) int { return int(due / d.Block) }

// Side is the side that gets the block: DuetBase or DuetHead.
func (d Deal) Side(block int) int {
	return (block & 1) ^ int(mixed(d.Seed+uint64(block/2)*0x9e3779b97f4a7c15)>>63)
}

// mixed is the output of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014), which turns neighbouring
// numbers into random ones.
func mixed(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
