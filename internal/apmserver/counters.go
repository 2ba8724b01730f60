package apmserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Counters are a server's own figures, by their names with dots.
type Counters map[string]float64

// ReadCounters reads those at that URL: expvar's /debug/vars, whose names have dots
// already, or libbeat's /stats, which nests them.
func ReadCounters(ctx context.Context, url string, secret takt.Secret) (Counters, error) {
	text, err := ask(ctx, url, secret)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s holds no counters: %w", url, err)
	}
	c := Counters{}
	c.add("", all)
	return c, nil
}

// add takes the numbers in v, however deep. Lists have none that count anything.
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

// counters of all servers, each the sum. ok is false if one of them shows none. A managed
// server shows libbeat's own: expvar has none of the output's, up to 7.4 at least. Those
// that were read first are read again, since the two cannot be compared.
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
			secret = "" // it asks for none
		}
		c, err := ReadCounters(ctx, u, secret)
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

// flow is what a server says of the way of its events, since its start.
type flow struct {
	accepted float64 // by intake v2 alone
	acked    float64 // by the cluster
	dropped  float64 // given up, most of them since the cluster refused them
	filtered float64 // by processors that the user has set
	queued   float64 // now; those in the output too
}

// flow reads the counters of both kinds of outputs: libbeat's, up to version 7, sends
// what has failed again, and go-docappender, from 8 on, gives it up.
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

// gauge is a counter that goes down, too. Some versions of libbeat take away more than
// they added, which makes 2⁶⁴−1 of 0.
func (c Counters) gauge(name string) float64 {
	if v := c[name]; v > 0 && v < 1<<63 {
		return v
	}
	return 0
}

// since is what has happened from before to c, of what counts events and answers.
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
