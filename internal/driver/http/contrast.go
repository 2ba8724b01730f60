package http

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rakyll/hey/requester"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// heyConnections is hey's default of -c.
const heyConnections = 50

// Contrasts is how long the contrast takes, 0 for none.
func (o *Options) Contrasts() time.Duration { return o.ContrastFor }

// Contrast sends the same requests with hey's requester, a closed loop over as many
// connections, and puts what hey reports into r.Extra["contrast"].
func (o *Options) Contrast(ctx context.Context, r *takt.Report) error {
	var out bytes.Buffer
	w := o.heyWork(ctx)
	w.Writer = &out
	w.Init()
	stop := sync.OnceFunc(w.Stop)
	timer := time.AfterFunc(o.ContrastFor, stop)
	defer timer.Stop()
	defer context.AfterFunc(ctx, stop)()
	began := time.Now()
	w.Run()
	took := time.Since(began)
	found, err := readHey(out.Bytes())
	if err != nil {
		return err
	}
	found["tool"], found["connections"], found["duration_s"] = "hey", o.conns, took.Seconds()
	noteHey(r, found)
	return nil
}

// heyWork is hey's load of the requests of o. Seq counts from 0 as in the run.
func (o *Options) heyWork(ctx context.Context) *requester.Work {
	c := netClient{o: o}
	var seq atomic.Uint64
	request := func() *http.Request {
		req, err := c.request(ctx, &takt.Op{Seq: seq.Add(1) - 1})
		if err != nil { // the run has shown it as a failure
			req, _ = http.NewRequestWithContext(ctx, "GET", o.url.String(), nil)
		}
		return req
	}
	first, _ := o.requests.Message(&takt.Op{}) // its host is all that hey wants to know of it
	return &requester.Work{
		Request:     &http.Request{Host: first.URL.Hostname()},
		RequestFunc: request,
		N:           math.MaxInt32, C: o.conns, H2: o.HTTP2,
		Timeout:            int(math.Ceil(o.Timeout.Seconds())),
		DisableCompression: true, // the header is our own
		DisableKeepAlives:  o.DisableKeepAlive,
		DisableRedirects:   o.Redirects == 0,
		ProxyAddr:          o.Proxy.url,
		Output:             heyOutput,
	}
}

// heyOutput is a template of hey's for its report, seconds.
const heyOutput = `{"rate_per_s":{{jsonify .Rps}},"requests":{{.NumRes}},"max":{{jsonify .Slowest}},"percentiles":{{jsonify .LatencyDistribution}},"errors":{{jsonify .ErrorDist}}}`

// heyReport is what heyOutput gives.
type heyReport struct {
	Rate        float64 `json:"rate_per_s"`
	Requests    uint64  `json:"requests"`
	Max         float64 `json:"max"`
	Percentiles []struct {
		Percentage int
		Latency    float64
	} `json:"percentiles"`
	Errors map[string]uint64 `json:"errors"`
}

// noteHey puts what was found into the report, and a doubt about it.
func noteHey(r *takt.Report, found map[string]any) {
	r.Extra["contrast"] = found
	if n := found["errors"].(float64); n > 0 {
		r.Warn(warn.Contrast, "%.0f of hey's %.0f requests failed; %s", takt.Number("failed", n), found["requests"], takt.Advice("its latencies are those of the others, if any"))
	}
}

// readHey gives hey's own figures takt's names and units.
func readHey(b []byte) (map[string]any, error) {
	var h heyReport
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("cannot read what hey reports: %w", err)
	}
	found := map[string]any{"requests": float64(h.Requests), "rate_per_s": h.Rate}
	for _, p := range h.Percentiles {
		if p.Percentage > 0 {
			found[fmt.Sprintf("p%d_us", p.Percentage)] = p.Latency * 1e6
		}
	}
	errors := uint64(0)
	for _, n := range h.Errors {
		errors += n
	}
	found["errors"] = float64(errors)
	if errors < h.Requests { // else it is the 0 of no figure
		found["max_us"] = h.Max * 1e6
	}
	return found, nil
}
