// Package ring has queues that allocate only when they grow.
package ring

// Queue is a first-in, first-out queue. The zero Queue is empty.
type Queue[T any] struct {
	all  []T // its length is a power of two
	from int
	n    int
}

// leastRoom is the room of a queue with one element: there may be 100,000 queues that never have more.
const leastRoom = 4

// Len is the number of elements.
func (q *Queue[T]) Len() int { return q.n }

// At is element i from the head, which must exist.
func (q *Queue[T]) At(i int) T { return q.all[(q.from+i)&(len(q.all)-1)] }

// Head is the oldest element, which must exist.
func (q *Queue[T]) Head() *T { return &q.all[q.from] }

// Push adds the newest element.
func (q *Queue[T]) Push(x T) {
	if q.n == len(q.all) {
		grown := make([]T, max(leastRoom, 2*q.n))
		copy(grown[copy(grown, q.all[q.from:]):], q.all[:q.from])
		q.all, q.from = grown, 0
	}
	q.all[(q.from+q.n)&(len(q.all)-1)] = x
	q.n++
}

// Pop removes the oldest element, which must exist.
func (q *Queue[T]) Pop() T {
	var none T
	x := q.all[q.from]
	q.all[q.from] = none // lets go of what it points to
	q.from = (q.from + 1) & (len(q.all) - 1)
	q.n--
	return x
}
