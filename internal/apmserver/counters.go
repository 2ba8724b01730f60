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

// counters of all servers, each the sum. ok is false if one of them shows none.
func (r *Running) counters(ctx context.Context) (sum Counters, ok bool) {
	sum = Counters{}
	for _, u := range r.URLs {
		c, err := ReadCounters(ctx, u+"/debug/vars", r.secret)
		if err != nil {
			return nil, false
		}
		for name, v := range c {
			sum[name] += v
		}
	}
	return sum, len(sum) > 0
}

// inFlight is the number of events that the server has taken and not yet written or
// given up. The pipeline counts those in the output too, but old versions do not.
func (c Counters) inFlight() (n float64, ok bool) {
	for _, name := range []string{"libbeat.pipeline.events.active", "libbeat.output.events.active"} {
		if v, there := c[name]; there {
			n, ok = max(n, v), true
		}
	}
	return n, ok
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
