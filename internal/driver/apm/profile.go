package apm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// part is one kind of request of a profile, as in hey-apm: a number of workers, each with a
// limited rate.
type part struct {
	name    string
	kind    kind
	shape   shape
	raw     string // literal body; "": made from shape
	workers int
	rate    float64 // rate of a worker, per second; 0: unlimited
}

// profile is a named mix of requests.
type profile struct {
	name  string
	parts []part
}

// kind is a kind of request.
type kind int

const (
	kindTransactions kind = iota
	kindErrors
	kindMetrics
	kindRUMTransactions
	kindRUMErrors
	kindHealth      // healthcheck
	kindWrongMethod // a request that must be refused
)

// fullStack is the number of frames of the largest span in hey-apm's bodies, derived from its
// size: 500 spans made 8.7 MB.
const fullStack = 23

// profiles are hey-apm's profiles. takt makes bodies only for the requested one: hey-apm made
// all of them at every start, which took 5 s and 450 MB.
func profiles() []profile {
	mixed := shape{transactions: 12, spans: []int{0, 1, 2}, frames: 18}
	alone := shape{transactions: 1}
	most := mixed
	most.spans, most.frames = append([]int{500}, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2), fullStack
	health := part{name: "healthcheck", kind: kindHealth, workers: 1, rate: 1}
	errors1 := func(workers int) part {
		return part{"errors1", kindErrors, shape{errors: 1, errorFrames: 14}, "", workers, 10}
	}
	errors2 := func(workers int) part {
		return part{"errors2", kindErrors, shape{errors: 1, errorFrames: 4}, "", workers, 10}
	}
	transactions := func(name string, s shape, workers int, rate float64) part {
		return part{name, kindTransactions, s, "", workers, rate}
	}
	all := []profile{
		{"heavy", []part{errors1(3), errors2(1), transactions("transactions1", mixed, 50, 10), health}},
		{"tiny", []part{errors1(3), errors2(1), transactions("transactions2", alone, 50, 10), health}},
		{"baddeploy", []part{errors1(50), errors2(50), transactions("transactions1", mixed, 2, 10), health}},
		{"maxspans", []part{transactions("maxspans", most, 4, 10), health}},
		{"huge", []part{transactions("huge", spansEach(2, 500), 3, 1), health}},
	}
	for i := 1; i <= 9; i++ {
		name := fmt.Sprintf("%dmb", 5*i)
		all = append(all, profile{name, []part{transactions(name, spansEach(i, 286), 100, 0)}})
	}
	for i := 1; i <= 7; i++ {
		name := fmt.Sprintf("%dkb", 130*i)
		all = append(all, profile{name, []part{transactions(name, spansEach(7*i, 1), 100, 0)}})
	}
	return append(append(all,
		profile{"1mb", []part{transactions("1mb", spansEach(28, 2), 100, 0)}},
		profile{"rum", []part{
			{"rum errors", kindRUMErrors, shape{errors: 2, errorFrames: 5}, "", 5, 0},
			{"rum transactions", kindRUMTransactions, shape{transactions: 1, spans: []int{9}}, "", 10, 0}, health}},
		profile{"rumtiny", []part{
			{"rum error", kindRUMErrors, shape{errors: 1, errorFrames: 1}, "", 2, 0},
			{"rum timing", kindRUMTransactions, shape{transactions: 1}, "", 2, 0}, health}},
	), others()...)
}

// others are newer than hey-apm's 24 profiles. The monitoring profiles send requests that
// must be refused.
func others() []profile {
	return []profile{
		{"metricsonly", []part{{"metrics", kindMetrics, shape{metrics: 1}, "", 5, 0}}},
		{"monitoring/bad_json", []part{{"bad json", kindTransactions, shape{}, "{", 2, 10}}},
		{"monitoring/invalid_transaction", []part{{"invalid transaction", kindTransactions, shape{}, "{}", 2, 10}}},
		{"monitoring/wrong_method", []part{{"wrong method", kindWrongMethod, shape{}, "", 2, 10}}},
	}
}

func spansEach(transactions, spans int) shape {
	return shape{transactions: transactions, spans: []int{spans}, frames: fullStack}
}

// profileNames lists all names, for messages.
func profileNames() string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

func profileOf(name string) (profile, error) {
	all := profiles()
	i := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
	if i < 0 {
		return profile{}, value.Faultf("unknown --profile %q; use one of %s", name, profileNames())
	}
	return all[i], nil
}

// ratePerS is the total rate of all workers; 0 if a worker has no limit.
func (p profile) ratePerS() (sum float64) {
	for _, part := range p.parts {
		if part.rate == 0 {
			return 0
		}
		sum += part.rate * float64(part.workers)
	}
	return sum
}

// workers is the number of workers without the healthcheck's.
func (p profile) workers() (sum int) {
	for _, part := range p.parts {
		if part.kind != kindHealth {
			sum += part.workers
		}
	}
	return sum
}

// unboundRate is the weight of a worker without a limit in the order: the healthcheck, one a
// second, is then rare, as in hey-apm.
const unboundRate = 10

// order is the order of requests, as indexes of parts. Each part occurs in proportion to its
// workers and rate, as evenly as possible.
func (p profile) order() (order []int) {
	weights, common, length := make([]int, len(p.parts)), 0, 0
	for i, part := range p.parts {
		weights[i] = part.workers * int(cmp.Or(part.rate, unboundRate))
		common = gcd(common, weights[i])
	}
	for i := range weights {
		weights[i] /= common
		length += weights[i]
	}
	credit := make([]int, len(weights))
	for range length {
		best := 0
		for i, w := range weights {
			if credit[i] += w; credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= length
		order = append(order, best)
	}
	return order
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
