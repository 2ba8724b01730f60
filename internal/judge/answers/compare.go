package answers

import (
	"hash/maphash"
	"strings"
)

// The bounds of what a Comparer remembers.
const (
	mostRows  = 2000 // places and kinds
	mostKeys  = 8    // names that come and go in one object before all its names count as one
	mostShown = 64   // names that only head has or lacks, likewise
	mostAgain = 50   // requests that are sent again to see whether a difference repeats
	mostMarks = 4 << 20
)

// Comparer compares answers of head with those of base. The zero Comparer is not ready; call New.
type Comparer struct {
	ignore   []string
	hide     func(string) string
	seed     maphash.Seed
	rows     map[key]*row
	order    []*row
	open     map[string]*names // names that come and go, by object
	learned  int               // pairs of answers of base
	compared int               // pairs of base and head
	again    int
	marks    []mark
	lost     int // pairs with a place for which there was no room
	base     map[string]int
	coding   [2]map[string]int
	cut      int // bodies of base that were not compared as a whole
}

// mark says that a pair of base and head differs at a place.
type mark struct {
	pair int32
	row  *row
}

type key struct {
	path string
	kind Kind
}

// names are those of the members of an object that come and go.
type names struct {
	ofBase, all map[string]bool // by their paths
	any         bool            // they are so many that each new one is the same place
}

// row counts the pairs that differ at a place in one way.
type row struct {
	key
	object     string // that the member is of
	base, head int    // pairs of base and base, and of base and head
	repeated   bool   // head differed again, and base did not
	example    Example
	last       [2]int // pair that was counted last, of base and of head, from 1
	into       *row   // that replaced it; nil: none
}

// New returns a Comparer that leaves out the parts ignore, as ParsePath returns them, and passes each text of the
// answers through hide; nil: no text is secret.
func New(ignore []string, hide func(string) string) *Comparer {
	if hide == nil {
		hide = func(s string) string { return s }
	}
	return &Comparer{ignore: ignore, hide: hide, seed: maphash.MakeSeed(), rows: map[key]*row{}, open: map[string]*names{}, base: map[string]int{}, coding: [2]map[string]int{{}, {}}}
}

// Compare compares answers to one request: two of base, and one of head. It returns true if the request should be
// sent once more to base and to head, for Repeat.
func (c *Comparer) Compare(first, base, head *Answer) bool {
	a, b, h := &view{Answer: first}, &view{Answer: base}, &view{Answer: head}
	c.learn(c.differences(a, b))
	c.compared++
	c.note(b, h)
	doubtful := false
	for _, f := range c.differences(b, h) {
		r := c.row(f)
		if r == nil {
			continue
		}
		if r.head++; r.example.Request == "" {
			r.example = c.example(f, base)
		}
		if len(c.marks) < mostMarks {
			c.marks = append(c.marks, mark{int32(c.compared), r})
		}
		doubtful = doubtful || r.base == 0 && !r.repeated
	}
	if !doubtful || c.again == mostAgain {
		return false
	}
	c.again++
	return true
}

// Repeat compares the answers to a request that was sent once more: a difference that repeats is no chance, and
// where base differs from its own answer, base varies.
func (c *Comparer) Repeat(base, head, baseAgain, headAgain *Answer) {
	b, h, b2, h2 := &view{Answer: base}, &view{Answer: head}, &view{Answer: baseAgain}, &view{Answer: headAgain}
	c.learn(c.differences(b, b2))
	before := map[*row]bool{}
	for _, f := range c.differences(b, h) {
		before[c.rowOf(f)] = true
	}
	for _, f := range c.differences(b2, h2) {
		if r := c.rowOf(f); r != nil && before[r] && r.base == 0 {
			r.repeated = true
		}
	}
}

// learn counts what varies between two answers of base.
func (c *Comparer) learn(list []found) {
	c.learned++
	for _, f := range list {
		if r := c.rowWith(f, true); r != nil {
			r.base++
		}
	}
}

// note counts what the report says of all answers.
func (c *Comparer) note(base, head *view) {
	text, _ := statusOf(base).(string)
	if text == "" {
		text = show(statusOf(base))
	}
	if _, known := c.base[text]; known || len(c.base) < mostKeys {
		c.base[text]++
	}
	if !base.Whole {
		c.cut++
	}
	for i, v := range []*view{base, head} {
		if len(v.Body) > 0 {
			coding := strings.Join(v.Header["Content-Encoding"], ", ")
			if _, known := c.coding[i][coding]; known || len(c.coding[i]) < mostKeys {
				c.coding[i][coding]++
			}
		}
	}
}

// differences are the places where two answers differ, without those to ignore.
func (c *Comparer) differences(a, b *view) []found {
	d := differ{seed: c.seed}
	d.answers(a, b)
	list := d.list[:0]
	for _, f := range d.list {
		if !c.ignores(f.at.path()) {
			list = append(list, f)
		}
	}
	return list
}

func (c *Comparer) ignores(path string) bool {
	for _, part := range c.ignore {
		if within(path, part) {
			return true
		}
	}
	return false
}

// row is rowWith of a pair of base and head; nil: the pair is counted there already.
func (c *Comparer) row(f found) *row { return c.rowWith(f, false) }

// rowWith returns the row to count a pair in; nil: it is counted there already, or there is no room.
func (c *Comparer) rowWith(f found, ofBase bool) *row {
	c.opens(f, ofBase)
	r := c.rowOf(f)
	if r == nil {
		if len(c.rows) == mostRows {
			c.lost++
			return nil
		}
		r = &row{key: c.keyOf(f), object: f.object()}
		c.rows[r.key] = r
		c.order = append(c.order, r)
	}
	side, pair := 1, c.compared
	if ofBase {
		side, pair = 0, c.learned
	}
	if r.last[side] == pair {
		return nil
	}
	r.last[side] = pair
	return r
}

func (c *Comparer) rowOf(f found) *row { return c.rows[c.keyOf(f)] }

func (c *Comparer) keyOf(f found) key {
	if n := c.open[f.object()]; f.comesOrGoes() && n != nil && n.any {
		return key{f.object() + "." + anyKey, f.kind}
	}
	return key{f.at.path(), f.kind}
}

// comesOrGoes reports whether a member of an object is missing or added.
func (f found) comesOrGoes() bool {
	return (f.kind == Missing || f.kind == Extra) && f.at.up != nil && f.at.index < 0
}

// object is the path of the object that the place is a member of; "": it is none.
func (f found) object() string {
	if f.at.up == nil {
		return ""
	}
	return f.at.up.path()
}

// opens counts the names that come and go in an object. If they are many, such as ids, all of them are one place.
func (c *Comparer) opens(f found, ofBase bool) {
	if !f.comesOrGoes() {
		return
	}
	n := c.open[f.object()]
	switch {
	case n != nil && n.any, n == nil && len(c.open) == mostRows:
		return
	case n == nil:
		n = &names{map[string]bool{}, map[string]bool{}, false}
		c.open[f.object()] = n
	}
	path := f.at.path()
	n.all[path] = true
	if ofBase {
		n.ofBase[path] = true
	}
	if len(n.ofBase) >= mostKeys || len(n.all) >= mostShown {
		c.open[f.object()] = &names{any: true}
		c.merge(f.object())
	}
}

// merge makes one place of all names of an object that come and go.
func (c *Comparer) merge(object string) {
	kept := c.order[:0]
	for _, r := range c.order {
		if (r.kind != Missing && r.kind != Extra) || r.object != object {
			kept = append(kept, r)
			continue
		}
		delete(c.rows, r.key)
		all := key{object + "." + anyKey, r.kind}
		into := c.rows[all]
		if into == nil {
			into = &row{key: all, object: object, example: r.example}
			c.rows[all] = into
			kept = append(kept, into)
		}
		into.base = min(c.learned, into.base+r.base)
		into.head = min(c.compared, into.head+r.head)
		into.repeated = into.repeated || r.repeated
		if into.example.Request == "" {
			into.example = r.example
		}
		for side := range into.last {
			into.last[side] = max(into.last[side], r.last[side])
		}
		r.into = into
	}
	c.order = kept
}

// final is the row that replaced r, or r.
func (r *row) final() *row {
	for r.into != nil {
		r = r.into
	}
	return r
}
