package target

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// maxService cuts the tail of a distribution, so that no draw overflows: one of
// lognormal(1s,9) would take years.
const maxService = time.Hour

// drawer draws one service time.
type drawer func(r *rand.Rand) time.Duration

// services are the service times of requests. Each is drawn from its own stream, so that requests that are
// not slow have the same service times with --slow as without.
type services struct {
	draw      drawer
	rand      *rand.Rand
	slow      slowShare
	slowRand  *rand.Rand
	slowStart decline
}

// next is the service time of a request that arrives at that instant since the first.
func (s *services) next(arrival time.Duration) time.Duration {
	service := s.draw(s.rand)
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
	d, ok := parseSpan(service)
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
	d, ok1 := parseSpan(most)
	p, ok2 := parseSpan(end)
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

// serviceHint ends every complaint about --service.
const serviceHint = "write 1ms, uniform(1ms,5ms), exp(2ms), lognormal(2ms,0.5) or 0, at most 1h"

// parseService reads a service time as --service takes it; "" is 0.
func parseService(spec string) (drawer, error) {
	name, args := splitCall(spec)
	var draw drawer
	switch {
	case name == "" && len(args) == 1:
		draw = parseFixed(args[0])
	case name == "exp" && len(args) == 1:
		draw = parseExp(args[0])
	case name == "uniform" && len(args) == 2:
		draw = parseUniform(args[0], args[1])
	case name == "lognormal" && len(args) == 2:
		draw = parseLognormal(args[0], args[1])
	}
	if draw == nil {
		return nil, fmt.Errorf("%q is not a service time; %s", spec, serviceHint)
	}
	return draw, nil
}

// splitCall takes name(a,b) apart; anything else is one argument without a name.
func splitCall(spec string) (name string, args []string) {
	name, rest, call := strings.Cut(strings.TrimSpace(spec), "(")
	if !call {
		return "", []string{name}
	}
	rest, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return name, nil
	}
	for _, a := range strings.Split(rest, ",") {
		args = append(args, strings.TrimSpace(a))
	}
	return name, args
}

// parseSpan reads a duration from 0 to maxService.
func parseSpan(s string) (time.Duration, bool) {
	d, err := schedule.ParseDuration(s)
	return d, err == nil && d >= 0 && d <= maxService
}

func parseFixed(s string) drawer {
	if s == "" {
		s = "0"
	}
	d, ok := parseSpan(s)
	if !ok {
		return nil
	}
	return func(*rand.Rand) time.Duration { return d }
}

func parseUniform(low, high string) drawer {
	lo, ok1 := parseSpan(low)
	hi, ok2 := parseSpan(high)
	if !ok1 || !ok2 || hi < lo {
		return nil
	}
	return func(r *rand.Rand) time.Duration { return lo + time.Duration(r.Int64N(int64(hi-lo)+1)) }
}

func parseExp(mean string) drawer {
	m, ok := parseSpan(mean)
	if !ok {
		return nil
	}
	return func(r *rand.Rand) time.Duration { return scaled(m, r.ExpFloat64()) }
}

func parseLognormal(median, sigma string) drawer {
	m, ok := parseSpan(median)
	s, err := strconv.ParseFloat(sigma, 64)
	if !ok || err != nil || !(s >= 0 && s <= 10) {
		return nil
	}
	return func(r *rand.Rand) time.Duration { return scaled(m, math.Exp(s*r.NormFloat64())) }
}

// scaled is d times x, at most maxService.
func scaled(d time.Duration, x float64) time.Duration {
	return time.Duration(min(float64(d)*x, float64(maxService)))
}
