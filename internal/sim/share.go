package sim

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/pkg/takt"
)

// attribution checks that the report does not contradict itself. It also compares the report's
// attribution of the response time with a simulated queue: same arrivals, same service times, and
// a generator that is never late.
func (k *checker) attribution(rep *takt.Report) {
	copied := *rep
	if err := audit.Check(&copied); err != nil {
		k.fault("contradiction", "%v", err)
	}
	if !k.comparable() {
		return
	}
	bound := max(time.Millisecond, time.Duration(rep.Latency[takt.LatencyResponse].P99*100))
	response, late, queued, n := k.ideal(2 * bound) // the report counts lateness by powers of two
	if queued > 0.05*response {                     // when connections are busy, nobody knows how long the target would have taken
		return
	}
	if n >= 10 && float64(n) > 0.01*float64(len(k.rows)) && rep.Verdict == takt.Valid && !k.threads() {
		k.fault("verdict", "%d of %d operations were sent more than %v later than by a punctual generator, but the run is valid", n, len(k.rows), 2*bound)
	}
	parts := rep.Attribution.Whole()
	for _, p := range []struct {
		name       string
		said, true float64
	}{
		{"generator", parts.Generator(), late}, {"queue", parts.Queue, queued},
	} {
		off := p.said - p.true
		if k.threads() {
			off = max(0, off)
			if p.name == "queue" {
				continue
			}
		}
		if max(off, -off) > 0.15*response {
			k.fault("attribution", "the report attributes %.3[2]g ms of %.3[3]g ms of response time to the %[1]s; compared with a punctual generator it is %.3[4]g ms", p.name, 1e3*p.said, 1e3*response, 1e3*p.true)
		}
	}
}

// threads reports whether threads stood still that each have one connection: workers, and those that
// make connections over TLS beside a loop. Such a thread delays only its own connection, and takt
// does not count that against itself: a busy target would have answered others meanwhile. Runs that
// are compared here have a target that is never busy, so takt may attribute too little to the
// generator, but not too much.
func (k *checker) threads() bool {
	switch k.sc.Mode {
	case modeWorker, modeTLS:
		return true
	case modeLoopTLS:
		return len(k.stalls) < k.injected["stall"]
	}
	return false
}

// comparable reports whether ideal models the run: a fixed number of connections, and service
// times that do not depend on when requests come.
func (k *checker) comparable() bool {
	sc := k.sc
	if sc.Rate == 0 || sc.Connections == 0 || sc.Drop || sc.Workers > 0 || sc.Warmup > 0 || len(sc.Freezes) > 0 || sc.Room < unbounded || sc.shared() {
		return false
	}
	if sc.shared() && (sc.Allows > 0 || sc.Lasts > 0 || sc.Upload > 0 || sc.Connections > h2AtFirst) {
		return false // operations wait for streams and windows
	}
	harmless := k.injected["stall"] + k.injected["late wake-up"] + k.injected["interrupt"]
	return total(k.injected) == harmless && !slices.ContainsFunc(k.rows, func(r takt.Sample) bool { return r.Class != "" })
}

// ideal simulates a punctual generator. In seconds it returns the sum of all response times of the
// run, what the punctual generator saves of it, and how long its operations wait for a connection.
// n is how many operations it sends earlier by more than bound.
func (k *checker) ideal(bound time.Duration) (response, late, queued float64, n int) {
	rows := slices.SortedFunc(slices.Values(k.rows), func(a, b takt.Sample) int { return cmp.Compare(a.Due, b.Due) })
	free := make(instants, k.sc.Connections)
	for _, r := range rows {
		begin := max(r.Due, free[0])
		free[0] = begin + r.Done - r.Sent
		heap.Fix(&free, 0)
		response += (r.Done - r.Due).Seconds()
		late += (r.Sent - begin).Seconds()
		queued += (begin - r.Due).Seconds()
		if r.Sent-begin > bound {
			n++
		}
	}
	return response, late, queued, n
}

// instants is a heap, the earliest first.
type instants []time.Duration

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, j int) bool { return h[i] < h[j] }
func (h instants) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *instants) Push(any)          {}
func (h *instants) Pop() any          { return nil }
