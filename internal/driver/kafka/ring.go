package kafka

// ring is a queue, a power of two long, that grows as it has to.
type ring[T any] struct {
	all  []T
	from int
	n    int
}

func (q *ring[T]) len() int { return q.n }

// at is what i others go before; there has to be so much.
func (q *ring[T]) at(i int) T { return q.all[(q.from+i)&(len(q.all)-1)] }

// head is the oldest; there has to be one.
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

// pop takes the oldest; there has to be one.
func (q *ring[T]) pop() T {
	x := q.all[q.from]
	q.from = (q.from + 1) & (len(q.all) - 1)
	q.n--
	return x
}
