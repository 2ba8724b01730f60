package answers

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
)

// lists compares two lists: elements that are equal belong together, wherever they are, and of the others those
// that have most in common. Then a shuffled list differs in its order alone, and one with an element more in its
// length alone.
func (d *differ) lists(at *place, a, b []any) {
	if len(a) == len(b) && !slices.ContainsFunc(a, compound) && slices.Equal(a, b) {
		return
	}
	m := d.match(a, b)
	if len(a) != len(b) {
		d.add(at, Length, count(len(a)), count(len(b)))
	} else if !slices.IsSorted(m.of) {
		d.add(at, Order, a, b)
	}
	for _, i := range m.unequal {
		d.values(at.element(i), a[i], b[m.of[i]])
		if d.more {
			return
		}
	}
}

func count(n int) any {
	if n == 1 {
		return words("1 element")
	}
	text, _ := json.Marshal(n)
	return words(string(text) + " elements")
}

func compound(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// matching says which elements belong together.
type matching struct {
	of      []int // index in the other list; -1: none
	unequal []int // indexes of elements that have one, which is not equal
}

func (d *differ) match(a, b []any) (m matching) {
	m.of = make([]int, len(a))
	sums := d.sums(b)
	places := map[uint64][]int{} // of equal elements, first in first out
	for j, sum := range sums {
		places[sum] = append(places[sum], j)
	}
	taken := make([]bool, len(b))
	var left []int
	for i, sum := range d.sums(a) {
		m.of[i] = -1
		if list := places[sum]; len(list) > 0 {
			m.of[i], places[sum] = list[0], list[1:]
			taken[list[0]] = true
		} else {
			left = append(left, i)
		}
	}
	var free []int
	for j := range b {
		if !taken[j] {
			free = append(free, j)
		}
	}
	d.pairUp(m.of, a, b, left, free)
	for _, i := range left {
		if m.of[i] >= 0 {
			m.unequal = append(m.unequal, i)
		}
	}
	return m
}

// pairUp pairs elements that are not equal: those with most members in common first. Elements that have nothing
// in common are paired in their order, and so are all elements of long lists.
func (d *differ) pairUp(of []int, a, b []any, left, free []int) {
	left, used := d.alike(of, a, b, left, free)
	free = slices.DeleteFunc(slices.Clone(free), func(j int) bool { return used[j] })
	for k := range min(len(left), len(free)) {
		of[left[k]] = free[k]
	}
}

// alike pairs elements that have members in common, and returns the others.
func (d *differ) alike(of []int, a, b []any, left, free []int) (rest []int, used map[int]bool) {
	used = map[int]bool{}
	one, other := d.traits(a, left), d.traits(b, free)
	steps := 0
	for _, t := range one {
		steps += len(free) * (len(t) + 8)
	}
	if steps > mostMatch {
		return left, used
	}
	type pair struct{ i, j, common int }
	var pairs []pair
	for k, i := range left {
		for l, j := range free {
			if n := common(one[k], other[l]); n > 0 {
				pairs = append(pairs, pair{i, j, n})
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { // among equally good ones, the same position
		return cmp.Or(y.common-x.common, distance(x.i, x.j)-distance(y.i, y.j))
	})
	done := map[int]bool{}
	for _, p := range pairs {
		if !done[p.i] && !used[p.j] {
			of[p.i], done[p.i], used[p.j] = p.j, true, true
		}
	}
	return slices.DeleteFunc(slices.Clone(left), func(i int) bool { return done[i] }), used
}

func distance(i, j int) int { return max(i-j, j-i) }

// traits are the sorted hashes of the members of elements.
func (d *differ) traits(list []any, of []int) [][]uint64 {
	all := make([][]uint64, len(of))
	for k, i := range of {
		if x, ok := list[i].(map[string]any); ok {
			for name, v := range x {
				all[k] = append(all[k], d.member(name, v))
			}
			slices.Sort(all[k])
		}
	}
	return all
}

// common counts what two sorted lists have in common.
func common(a, b []uint64) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b, n = a[1:], b[1:], n+1
		}
	}
	return n
}

func (d *differ) sums(list []any) []uint64 {
	sums := make([]uint64, len(list))
	for i, v := range list {
		sums[i] = d.sum(v)
	}
	return sums
}

// sum is a hash of a value, which does not depend on the order of members.
func (d *differ) sum(v any) (s uint64) {
	switch x := v.(type) {
	case map[string]any:
		for name, v := range x {
			s += d.member(name, v)
		}
		return maphash.Comparable(d.seed, [2]uint64{s, 1})
	case []any:
		for _, v := range x {
			s = maphash.Comparable(d.seed, [2]uint64{s, d.sum(v)})
		}
		return maphash.Comparable(d.seed, [2]uint64{s, 2})
	}
	return maphash.Comparable(d.seed, v)
}

func (d *differ) member(name string, v any) uint64 {
	return maphash.Comparable(d.seed, [2]uint64{maphash.String(d.seed, name), d.sum(v)})
}
