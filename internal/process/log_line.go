package process

// A longer line keeps only its beginning and end: libbeat writes the whole refused event, 4
// kB and more, and then the reason.
const (
	headBytes = 4 << 10
	tailBytes = 2 << 10
)

// longLine is a partly received line.
type longLine struct {
	head, tail []byte
	cut        bool // bytes between head and tail are omitted
}

func (l *longLine) add(part []byte) {
	n := min(len(part), headBytes-len(l.head))
	l.head = append(l.head, part[:n]...)
	l.tail = append(l.tail, part[n:][max(0, len(part)-n-2*tailBytes):]...)
	if len(part)-n > 2*tailBytes || len(l.tail) > 2*tailBytes {
		l.cut = true
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-tailBytes:]...)
	}
}

func (l *longLine) String() string {
	if l.cut {
		return string(l.head) + " … " + string(l.tail)
	}
	return string(l.head) + string(l.tail)
}

func (l *longLine) reset() { l.head, l.tail, l.cut = l.head[:0], l.tail[:0], false }
