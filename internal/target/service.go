package target

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/value"
)

// services are the service times of requests. Each is drawn from its own stream, so that requests that are
// not slow have the same service times with --slow as without.
type services struct {
	draw      dist.Time
	rand      *rand.Rand
	slow      slowShare
	slowRand  *rand.Rand
	slowStart decline
}

// next is the service time of a request that arrives at that instant since the first.
func (s *services) next(arrival time.Duration) time.Duration {
	service := s.draw.Draw(s.rand)
	if s.slow.share > 0 && s.slowRand.Float64() < s.slow.share {
		service = s.slow.service
	}
	return service + s.slowStart.at(arrival)
}

// slowShare is a share of the requests with another service time.
type slowShare struct {
	share   float64
	service time.Duration
}

// parseSlow reads SHARE/TIME such as 2%/80ms; "" is none.
func parseSlow(s string) (slowShare, error) {
	if s == "" {
		return slowShare{}, nil
	}
	share, service, _ := strings.Cut(s, "/")
	var slow slowShare
	err := value.Share(&slow.share).Set(share)
	d, ok := dist.ParseSpan(service)
	if slow.service = d; err != nil || !ok {
		return slowShare{}, fmt.Errorf("%q is not a share of slow requests; write SHARE/TIME such as 2%%/80ms", s)
	}
	return slow, nil
}

// decline is a service time that is longer at first: by most at the first request, and by less and less until end.
type decline struct{ most, end time.Duration }

// parseDecline reads DURATION/PERIOD such as 200ms/2s; "" is none.
func parseDecline(s string) (decline, error) {
	if s == "" {
		return decline{}, nil
	}
	most, end, _ := strings.Cut(s, "/")
	d, ok1 := dist.ParseSpan(most)
	p, ok2 := dist.ParseSpan(end)
	if !ok1 || !ok2 || p <= 0 {
		return decline{}, fmt.Errorf("%q is not a slow start; write DURATION/PERIOD such as 200ms/2s", s)
	}
	return decline{d, p}, nil
}

// at is by how much the service of a request that arrives at t is longer.
func (d decline) at(t time.Duration) time.Duration {
	if t >= d.end {
		return 0
	}
	return time.Duration(float64(d.most) * (1 - float64(t)/float64(d.end)))
}
