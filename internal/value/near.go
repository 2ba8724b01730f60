package value

// Nearest is the first of the names with the least distance from name; "": every distance is
// above far, or not below the length of name.
func Nearest(name string, names []string, far int) (best string) {
	distance := far + 1
	for _, n := range names {
		if d := editDistance(name, n); d < distance && d < len(name) {
			best, distance = n, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance of two short words; swapping two neighbouring
// letters is one step.
func editDistance(a, b string) int {
	var before []int // the row before last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := append(make([]int, 0, len(b)+1), i+1)
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			cost = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row = append(row, cost)
		}
		before, last = last, row
	}
	return last[len(b)]
}
