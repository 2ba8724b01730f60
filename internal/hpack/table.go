package hpack

import "bytes"

// overhead is what an entry of a table, or a field of a list, counts beyond its bytes.
const overhead = 32

func size(name, value []byte) int { return len(name) + len(value) + overhead }

// entry says where the bytes of a field begin in a table. The value follows the name.
type entry struct {
	at, name, value uint32
	print           uint32 // fingerprint of the field; 0 in the table of a decoder
}

// table is a dynamic table: a ring of entries, and a ring of their bytes.
//
// The bytes of an entry are contiguous, so a part at the end of the ring may be unused. The part
// is smaller than the entry that did not fit into it, so twice the table's size is enough: a new
// entry never overwrites one that the table still contains.
type table struct {
	bytes   []byte
	entries []entry // as many as a power of two
	next    uint32  // number of the next entry; its place is the lowest bits
	len     int
	size    int // of all entries, as RFC 7541 counts it
	max     int // of size
	end     int // end of the newest entry's bytes
	changes uint64
}

// newTable returns a table that can have the size limit.
func newTable(limit int) table {
	places := 1
	for places < limit/overhead {
		places *= 2
	}
	return table{bytes: make([]byte, 2*limit), entries: make([]entry, places), max: limit}
}

func (t *table) reset(max int) {
	t.len, t.size, t.end, t.max = 0, 0, 0, max
	t.changes++
}

// resize changes the largest size of the table.
func (t *table) resize(max int) {
	t.max = max
	t.changes++
	t.evict(max)
}

// evict removes the oldest entries until the others fit the size.
func (t *table) evict(size int) {
	for t.size > size && t.len > 0 {
		e := t.entry(t.len)
		t.size -= int(e.name) + int(e.value) + overhead
		t.len--
		t.changes++
	}
}

// entry returns an entry by its age: the newest is 1.
func (t *table) entry(age int) *entry {
	return &t.entries[(t.next-uint32(age))&uint32(len(t.entries)-1)]
}

func (t *table) field(e *entry) (name, value []byte) {
	at := e.at + e.name
	end := at + e.value
	return t.bytes[e.at:at:at], t.bytes[at:end:end]
}

// add adds a field and returns it as it is in the table. A field that is larger than the table
// empties it, and is returned as it is.
//
// The name may be that of an entry of the table, which add evicts and overwrites. So the name is
// copied first, and the caller must use the result instead.
func (t *table) add(name, value []byte, print uint32) (ownName, ownValue []byte) {
	size := size(name, value)
	t.evict(t.max - size)
	if size > t.max {
		return name, value
	}
	if t.end+size-overhead > len(t.bytes) {
		t.end = 0
	}
	e := t.entry(0)
	*e = entry{uint32(t.end), uint32(len(name)), uint32(len(value)), print}
	t.end += copy(t.bytes[t.end:], name)
	t.end += copy(t.bytes[t.end:], value)
	t.next++
	t.len++
	t.size += size
	t.changes++
	return t.field(e)
}

// find returns the age of an equal field, or 0.
func (t *table) find(name, value []byte, print uint32) int {
	for age := 1; age <= t.len; age++ {
		if e := t.entry(age); e.print == print && t.equal(e, name, value) {
			return age
		}
	}
	return 0
}

func (t *table) equal(e *entry, name, value []byte) bool {
	ownName, ownValue := t.field(e)
	return bytes.Equal(ownName, name) && bytes.Equal(ownValue, value)
}

// findName returns the age of the newest field with the name, or 0.
func (t *table) findName(name []byte) int {
	for age := 1; age <= t.len; age++ {
		e := t.entry(age)
		if int(e.name) == len(name) && bytes.Equal(t.bytes[e.at:e.at+e.name], name) {
			return age
		}
	}
	return 0
}
