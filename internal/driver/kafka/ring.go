package kafka

// ring is a queue that grows on demand. Its length is a power of two.
type ring[T any] struct {
	all  []T
	from int
	n    int
}

func (q *ring[T]) len() int { return q.n }

// at is element i from the head, which must exist.
func (q *ring[T]) at(i int) T { return q.all[(q.from+i)&(len(q.all)-1)] }

// head is the oldest element, which must exist.
func (q *ring[T]) head() *T { return &q.all[q.from] }

func (q *ring[T]) push(x T) {
	if q.n == len(q.all) {
		grown := make([]T, max(64, 2*q.n))
		copy(grown[copy(grown, q.all[q.from:]):], q.all[:q.from])
		q.all, q.from = grown, 0
	}
	q.all[(q.from+q.n)&(len(q.all)-1)] = x
	q.n++
}

// pop removes the oldest element, which must exist.
func (q *ring[T]) pop() T {
	x := q.all[q.from]
	q.from = (q.from + 1) & (len(q.all) - 1)
	q.n--
	return x
}
