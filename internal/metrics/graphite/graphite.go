// Package graphite sends the figures of a run in Graphite's plaintext protocol.
package graphite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
)

// Where is what follows graphite=.
const Where = "HOST:PORT[/PREFIX]"

// port is that of carbon's plaintext protocol.
const port = "2003"

// Parse reads HOST, HOST:PORT or HOST:PORT/PREFIX.
func Parse(where string) (metrics.Destination, error) {
	address, prefix, given := strings.Cut(where, "/")
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		host, number = strings.Trim(address, "[]"), port
	}
	if _, bad := strconv.ParseUint(number, 10, 16); bad != nil || host == "" {
		return metrics.Destination{}, fmt.Errorf("%.60q is not an address; write HOST:PORT or HOST:PORT/PREFIX", where)
	}
	address = net.JoinHostPort(host, number)
	if prefix = path(prefix); given && prefix == "" {
		return metrics.Destination{}, errors.New("the prefix is empty; write HOST:PORT/PREFIX such as 127.0.0.1:2003/load.checkout")
	}
	return metrics.Destination{
		Shown: where,
		Names: []value.Name{{Kind: value.Loads, Text: address}},
		Open: func(run metrics.Run) (metrics.Exporter, error) {
			return &exporter{address: address, prefix: prefixOf(prefix, &run)}, nil
		},
	}, nil
}

// prefixOf is what all names of a run begin with. It has no id: carbon creates few metrics in a minute,
// and each has a file of its own.
func prefixOf(prefix string, run *metrics.Run) string {
	if prefix == "" {
		prefix = "takt." + part(run.Kind)
	}
	if run.Shard != "" {
		prefix += ".shard-" + part(run.Shard)
	}
	return prefix
}

// path is a name with safe parts between its dots.
func path(text string) string {
	var parts []string
	for one := range strings.SplitSeq(text, ".") {
		if one != "" {
			parts = append(parts, part(one))
		}
	}
	return strings.Join(parts, ".")
}

// part is a part of a name: letters, digits, - and _. A dot would begin another part.
func part(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, text)
}

// exporter sends each batch over a connection of its own.
type exporter struct {
	address string
	prefix  string
	stamp   int64 // newest second
}

// Export implements metrics.Exporter.
func (e *exporter) Export(ctx context.Context, b *metrics.Batch) error {
	stamp := max(b.To.Unix(), e.stamp+1) // a second interval of a second would replace the first
	if err := Send(ctx, e.address, lines(e.prefix, b, stamp)); err != nil {
		return err
	}
	e.stamp = stamp
	return nil
}

// Send sends lines over a connection of their own, and waits for the receiver to end it: the protocol has no
// answers, so only that says that it has read everything. The end of ctx is an error.
func Send(ctx context.Context, address string, text []byte) error {
	conn, err := reach.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // ends reading and writing
	if _, err := conn.Write(text); err != nil {
		return err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.CloseWrite(); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(conn, 1<<10)); err != nil {
		return fmt.Errorf("the receiver has not read the figures to their end: %w", err)
	}
	return nil
}

// Close implements metrics.Exporter.
func (*exporter) Close(context.Context) error { return nil }

// lines are the lines of a batch: counts of the interval, times in milliseconds.
func lines(prefix string, b *metrics.Batch, stamp int64) (out []byte) {
	add := func(name string, v float64) {
		out = fmt.Appendf(out, "%s.%s %s %d\n", prefix, name, strconv.FormatFloat(v, 'f', -1, 64), stamp)
	}
	if b.Over {
		add("unfinished", float64(b.Total.Unfinished))
		return out
	}
	add("scheduled", float64(b.Last.Scheduled))
	add("ok", float64(b.Last.OK))
	add("failed", float64(b.Last.Failed))
	add("dropped", float64(b.Last.Dropped))
	if n := b.Last.Good; n != nil {
		add("good", float64(*n))
	}
	if n := b.Last.Bytes; n != nil {
		add("sent_bytes", float64(n.Sent))
		add("received_bytes", float64(n.Received))
	}
	for _, class := range slices.Sorted(maps.Keys(b.Last.Errors)) {
		add("errors."+part(class), float64(b.Last.Errors[class]))
	}
	for _, h := range b.Last.Latencies() {
		for _, s := range metrics.Stats() {
			add(h.Name+"_ms."+part(s.Name), milliseconds(h.Quantile(s.Quantile)))
		}
	}
	add("schedule_lag_ms.p99", milliseconds(b.ScheduleLagP99))
	add("in_flight", float64(b.InFlight))
	if b.Unread != nil {
		add("unread", float64(*b.Unread))
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
