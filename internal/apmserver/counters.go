package apmserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Counters are a server's own figures by their dotted names.
type Counters map[string]float64

// readCounters reads the counters at that URL: expvar's /debug/vars, whose names have dots,
// or libbeat's /stats, which nests them.
func readCounters(ctx context.Context, url string, secret takt.Secret) (Counters, error) {
	text, err := ask(ctx, url, secret)
	if err != nil {
		return nil, err
	}
	return parseCounters(url, text)
}

func parseCounters(url string, text []byte) (Counters, error) {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s holds no counters: %w", url, err)
	}
	c := Counters{}
	c.add("", all)
	return c, nil
}

// add adds all numbers in v, at any depth. Lists contain no counters.
func (c Counters) add(name string, v any) {
	switch v := v.(type) {
	case float64:
		c[name] = v
	case map[string]any:
		for key, value := range v {
			c.add(strings.TrimPrefix(name+"."+key, "."), value)
		}
	}
}

// counters sums the counters of all servers. ok is false if a server shows none. A managed
// server shows libbeat's counters: expvar lacks the output's, at least up to 7.4. Later calls
// read the same URLs as the first, because the two kinds cannot be compared.
func (r *Running) counters(ctx context.Context) (sum Counters, ok bool) {
	if r.shown != nil {
		return r.read(ctx, r.shown)
	}
	if r.stats != "" {
		if sum, ok = r.read(ctx, []string{r.stats}); ok {
			return sum, ok
		}
	}
	var expvar []string
	for _, u := range r.URLs {
		expvar = append(expvar, u+"/debug/vars")
	}
	return r.read(ctx, expvar)
}

func (r *Running) read(ctx context.Context, urls []string) (sum Counters, ok bool) {
	sum = Counters{}
	for _, u := range urls {
		secret := r.secret
		if u == r.stats {
			secret = "" // this URL needs no secret
		}
		c, err := readCounters(ctx, u, secret)
		if err != nil {
			return nil, false
		}
		for name, v := range c {
			sum[name] += v
		}
	}
	if len(sum) == 0 {
		return nil, false
	}
	r.shown = urls
	return sum, true
}

// flow is the state of a server's events since its start.
type flow struct {
	accepted float64 // accepted by intake v2 only
	acked    float64 // acknowledged by the cluster
	dropped  float64 // given up, mostly because the cluster refused them
	filtered float64 // filtered by processors of the user
	queued   float64 // currently in the queue or the output
}

// flow reads the counters of both kinds of outputs. libbeat's, up to version 7, retries
// failed events; go-docappender, from 8 on, drops them.
func (c Counters) flow() (f flow, told bool) {
	const pipeline, output = "libbeat.pipeline.events.", "libbeat.output.events."
	_, told = c[output+"acked"]
	_, queue := c[pipeline+"active"]
	f = flow{
		accepted: c["apm-server.processor.stream.accepted"],
		acked:    c[output+"acked"] + c[output+"duplicates"],
		dropped:  c[output+"dropped"] + c[pipeline+"dropped"] + c[pipeline+"failed"],
		filtered: c[pipeline+"filtered"],
		queued:   max(c.gauge(pipeline+"active"), c.gauge(output+"active")),
	}
	if !queue {
		f.dropped += c[output+"failed"]
	}
	return f, told
}

// gauge is a counter that may go down. Some versions of libbeat subtract more than they
// added, which turns 0 into 2⁶⁴−1.
func (c Counters) gauge(name string) float64 {
	if v := c[name]; v > 0 && v < 1<<63 {
		return v
	}
	return 0
}

// since is the change from before to c of counters of events and answers.
func (c Counters) since(before Counters) map[string]any {
	changed := map[string]any{}
	for name := range c {
		if d := c[name] - before[name]; d != 0 && countsEvents(name) {
			changed[name] = d
		}
	}
	return changed
}

func countsEvents(name string) bool {
	for _, prefix := range []string{"apm-server.", "libbeat.", "output."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
