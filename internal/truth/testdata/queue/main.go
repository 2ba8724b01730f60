// Command queue simulates, event by event, a FIFO queue with several servers, Poisson arrivals and
// lognormal service times. It prints the p95 of the response time at each rate. Run it from the
// folder of the tests:
//
//	go run ./testdata/queue > testdata/lognormal.csv
package main

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	arrivals = 10_000_000 // measured; before them 1 % as many are simulated and not measured
	servers  = 4
	median   = 0.0005 // of the service time, s
	sigma    = 1.0    // of its logarithm: a coefficient of variation of 1.31
	seed     = 1
)

// ends are the instants at which operations in service end.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(float64)) }
func (e *ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

func main() {
	fmt.Println("rate_per_s,p95_s")
	for rate := 3000.0; rate <= 4800; rate += 100 {
		fmt.Printf("%g,%.7f\n", rate, p95(rate))
	}
}

// p95 is the p95 at one rate per second.
func p95(rate float64) float64 {
	r := rand.New(rand.NewPCG(seed, uint64(rate)))
	var busy ends
	var waiting []float64 // instants of arrival, from head on
	head, seen := 0, 0
	var times []float64
	serve := func(arrived, now float64) {
		end := now + median*math.Exp(sigma*r.NormFloat64())
		heap.Push(&busy, end)
		if seen++; seen > arrivals/100 {
			times = append(times, end-arrived)
		}
	}
	next := r.ExpFloat64() / rate
	for len(times) < arrivals {
		if len(busy) > 0 && busy[0] <= next { // a server is free and serves the next arrival
			now := heap.Pop(&busy).(float64)
			if head < len(waiting) {
				serve(waiting[head], now)
				head++
			}
			continue
		}
		if len(busy) < servers {
			serve(next, next)
		} else {
			if head > 1<<16 { // free the memory of those that were served
				waiting, head = slices.Clone(waiting[head:]), 0
			}
			waiting = append(waiting, next)
		}
		next += r.ExpFloat64() / rate
	}
	slices.Sort(times)
	return times[int(math.Ceil(0.95*float64(len(times))))-1]
}
