package merge

import "github.com/taktload/takt/pkg/takt"

// Intervals merges the intervals of shards that ended in the same second.
func Intervals(list []takt.Interval) (takt.Interval, error) {
	slots := map[int]*slot{}
	for _, iv := range list {
		one := iv
		one.T = list[0].T
		addIntervals(slots, []takt.Interval{one}, 1e9)
		slots[0].T = max(slots[0].T, iv.T)
	}
	merged, faults := finishAll(slots)
	if len(faults) > 0 {
		return takt.Interval{}, &UnmergeableError{faults}
	}
	return merged[0], nil
}
