package main

import (
	"fmt"
	"strings"
)

// tally counts mutants by package and fate.
type tally struct {
	folders []string
	counts  map[string]*[broken + 1]int
}

func newTally() *tally { return &tally{counts: map[string]*[broken + 1]int{}} }

func (t *tally) add(m *mutant, f fate) {
	folder := m.target.folder
	if t.counts[folder] == nil {
		t.counts[folder] = new([broken + 1]int)
		t.folders = append(t.folders, folder)
	}
	t.counts[folder][f]++
}

// total sums all packages.
func (t *tally) total() (sum [broken + 1]int) {
	for _, c := range t.counts {
		for f, n := range c {
			sum[f] += n
		}
	}
	return sum
}

// share is the percentage of killed mutants among killed and survived; 100 if there are none.
func (t *tally) share() float64 { return share(t.total()) }

func share(c [broken + 1]int) float64 {
	if c[killed]+c[survived] == 0 {
		return 100
	}
	return 100 * float64(c[killed]) / float64(c[killed]+c[survived])
}

// String is the table.
func (t *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %8s %8s %8s %10s %8s\n", "package", "mutants", "killed", "survived", "equivalent", "killed")
	row := func(name string, c [broken + 1]int) {
		fmt.Fprintf(&b, "%-20s %8d %8d %8d %10d %6.1f %%\n", name, c[killed]+c[survived]+c[equivalent], c[killed], c[survived], c[equivalent], share(c))
	}
	for _, folder := range t.folders {
		row(folder, *t.counts[folder])
	}
	if len(t.folders) != 1 {
		row("all", t.total())
	}
	return b.String()
}
