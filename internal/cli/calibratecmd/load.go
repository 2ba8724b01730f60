package calibratecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// floorRate is the rate, per second, at which the noise floor is measured. It is low enough
// that every request has to wake sleeping threads.
const floorRate = 1000

// loadNoise is what takt reports for a server that answers at once.
type loadNoise struct {
	Engine        string       `json:"engine"`
	RatePerS      float64      `json:"rate_per_s"`
	Operations    uint64       `json:"operations"`
	ResponseP50   float64      `json:"response_p50_us"`
	ResponseP99   float64      `json:"response_p99_us"`
	ResponseP99_9 float64      `json:"response_p99_9_us"`
	LagP50        float64      `json:"schedule_lag_p50_us"`
	LagP99        float64      `json:"schedule_lag_p99_us"`
	Verdict       takt.Verdict `json:"verdict"`
}

// measureLoads measures the engine for plain HTTP, and the worker engine unless that is the
// same one.
func measureLoads(ctx context.Context, url string, abort <-chan struct{}, d time.Duration) (all []loadNoise, err error) {
	for _, name := range []string{"auto", "worker"} {
		for _, l := range []struct {
			rate float64
			time time.Duration
		}{{floorRate, d * 5 / 14}, {10 * floorRate, d * 2 / 14}} {
			n, err := measureLoad(ctx, url, abort, name, l.rate, l.time)
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		}
		if all[0].Engine == "worker" {
			break
		}
	}
	return all, nil
}

// measureLoad makes one run of length d; a tenth of d is warm-up.
func measureLoad(ctx context.Context, url string, abort <-chan struct{}, name string, rate float64, d time.Duration) (n loadNoise, err error) {
	r, err := LoadHTTP(ctx, url, abort, func(o *engine.Options) {
		o.Engine, o.Rate, o.Warmup, o.Duration = name, engine.PerSecond(rate), d/10, d-d/10
	})
	if err != nil {
		return n, err
	}
	if c := r.Counts; c.OK != c.Scheduled || c.OK == 0 {
		return n, fmt.Errorf("the null server answered %d of %d requests at %v/s%s; run takt calibrate again when nothing else runs", c.OK, c.Scheduled, rate, core.FirstSample(r))
	}
	return noiseOf(r, rate), nil
}

// LoadHTTP makes one run of takt http with its defaults and the changes that change applies.
func LoadHTTP(ctx context.Context, url string, abort <-chan struct{}, change func(*engine.Options)) (*takt.Report, error) {
	o, h := engine.Defaults(), http.New()
	change(&o)
	h.Shape(&o)
	if faults := h.Validate([]string{url}); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	source, err := o.Source()
	if err != nil {
		return nil, err
	}
	driver, err := h.Open(ctx, 1)
	if err != nil {
		return nil, err
	}
	return engine.Run(ctx, engine.Plan{Options: o, Kind: "http", Source: source, Driver: driver, Abort: abort})
}

func noiseOf(r *takt.Report, rate float64) loadNoise {
	felt, lag := r.Latency[takt.LatencyResponse], r.Latency[takt.LatencyScheduleLag]
	return loadNoise{
		Engine: r.Generator.Engine, RatePerS: rate, Operations: r.Counts.OK,
		ResponseP50: felt.P50, ResponseP99: felt.P99, ResponseP99_9: felt.P99_9,
		LagP50: lag.P50, LagP99: lag.P99, Verdict: r.Verdict,
	}
}
