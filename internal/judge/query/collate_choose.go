package query

import "slices"

// table is a shown group whose rows are not built yet.
type table struct {
	Group
	cells []*cell // in the order of Rows
}

// first is the first row that opens the group.
func (t *table) first() *cell {
	return t.cells[slices.IndexFunc(t.cells, func(c *cell) bool { return c.opens })]
}

// choose selects the rows to show. Histograms are not read yet, so it ranks by medians of runs.
func (t *tabling) choose(c *Collation) (shown []*table, err error) {
	var opening []*cell
	var order []place
	for _, b := range t.groups {
		for _, cl := range b.cells {
			if cl.opens {
				opening, order = append(opening, cl), append(order, cl.place)
			}
		}
	}
	if err := t.options.Sort.check(order); err != nil {
		return nil, err
	}
	slices.SortFunc(opening, byPlace)
	limit := len(opening)
	if t.options.Limit > 0 {
		limit = min(limit, t.options.Limit)
	}
	chosen, groups := map[*cell]bool{}, map[*bundle]bool{}
	for _, cl := range opening[:limit] {
		chosen[cl] = true
	}
	for _, cl := range opening {
		switch b := cl.bundle; {
		case groups[b]:
		case chosen[cl]:
			groups[b] = true
			cells, hidden := b.pick(chosen)
			shown = append(shown, &table{Group{Kind: b.key.kind, Hidden: hidden}, cells})
		default:
			c.Hidden++
		}
	}
	return shown, nil
}

func byPlace(a, b *cell) int { return a.place.compare(b.place) }

// pick returns the chosen cells of a group and the first others beside them, sorted.
func (b *bundle) pick(chosen map[*cell]bool) (cells []*cell, hidden int) {
	slices.SortFunc(b.cells, byPlace)
	others := 0
	for _, c := range b.cells {
		if !chosen[c] {
			others++
		}
		if chosen[c] || others <= beside {
			cells = append(cells, c)
		}
	}
	return cells, max(0, others-beside)
}
