package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// clientLog is an access log of n requests at 100/s, and the client of each.
func clientLog(t *testing.T, n, clients int) (path string, of []string) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		client := fmt.Sprintf("10.0.%d.%d", i*7%clients/200, i*7%clients%200)
		of = append(of, client)
		fmt.Fprintf(&b, "%s - - [20/Nov/2026:10:00:%02d +0000] \"GET /%d HTTP/1.1\" 200 1\n", client, i/100, i)
	}
	return write(t, b.String()), of
}

// The shards of one log send each request once, at the instant that the whole has it, and all
// requests of a client are in one shard, in their order.
func TestShardsKeepClients(t *testing.T) {
	log, of := clientLog(t, 600, 37)
	for _, flags := range []string{"", "--speed 2x", "-n 500", "--rate 300/s", "--rate 300/s -n 400 --arrivals poisson", "--rate 100/s..900/s --duration 1s", "--rate 400/s --rewind -n 900", "--rate max"} {
		whole, src := dues(t, flags, log)
		var parts []string
		home := map[string]int{}
		for k := range 3 {
			part, own := dues(t, fmt.Sprintf("%s --shard %d/3", flags, k+1), log)
			if own.End() != src.End() {
				t.Errorf("%s: shard %d ends at %v, the whole at %v", flags, k+1, own.End(), src.End())
			}
			last := -1
			for _, op := range part {
				seq, uri := place(t, op)
				client := of[uri]
				if h, known := home[client]; known && h != k {
					t.Fatalf("%s: the client %s is in the shards %d and %d", flags, client, h+1, k+1)
				}
				home[client] = k
				if seq <= last {
					t.Fatalf("%s: operation %d came after %d", flags, seq, last)
				}
				last = seq
			}
			if len(part) == 0 || len(part) > len(whole)/2 {
				t.Errorf("%s: shard %d has %d of %d requests", flags, k+1, len(part), len(whole))
			}
			parts = append(parts, part...)
		}
		slices.SortFunc(parts, func(a, b string) int { m, _ := place(t, a); n, _ := place(t, b); return m - n })
		if !slices.Equal(parts, whole) {
			t.Errorf("%s: the shards together have %d requests, the whole %d", flags, len(parts), len(whole))
		}
	}
}

// place is the number of an operation, and of its request in the log.
func place(t *testing.T, op string) (seq, uri int) {
	t.Helper()
	words := strings.Fields(op)
	seq, err := strconv.Atoi(words[0])
	uri, bad := strconv.Atoi(words[2][1:])
	if err != nil || bad != nil {
		t.Fatal(op)
	}
	return seq, uri
}

// By request, and in a log without clients, each shard has every n-th request.
func TestShardsByRequest(t *testing.T) {
	log, _ := clientLog(t, 30, 1)
	for _, c := range []struct{ flags, log string }{
		{"--shard-by request --shard 2/3", log}, {"--shard-by request --rate 100/s --shard 2/3", log},
		{"--shard 2/3", rows(t, 0, 1, 2, 3, 4, 5, 6, 7, 8)}, {"--rate 100/s --shard 2/3", rows(t, 0, 1, 2, 3, 4, 5, 6, 7, 8)},
	} {
		list, _ := dues(t, c.flags, c.log)
		for i, op := range list {
			if seq, uri := place(t, op); seq != 3*i+1 || uri != seq {
				t.Errorf("%s: %s at %d", c.flags, op, i)
			}
		}
		if len(list) != 10 && len(list) != 3 {
			t.Errorf("%s: %d requests", c.flags, len(list))
		}
	}
	// the number of operations is known only if the schedule says whose they are
	_, src := dues(t, "--rate 100/s -n 9 --rewind --shard 2/3 --shard-by request", log)
	if _, ok := src.(takt.Counter); !ok {
		t.Error("the schedule does not count")
	}
}

// A log with one client is one shard's: its report says so, and the others send nothing.
func TestUnevenShards(t *testing.T) {
	s := newServer(t)
	log, _ := clientLog(t, 200, 1)
	var warned, idle int
	for k := range 3 {
		r := replay(t, fmt.Sprintf("--rate 2000/s --shard %d/3", k+1), log, s.URL)
		if r.report.Warned("uneven_shards") {
			warned++
		}
		if r.report.Counts.Scheduled == 0 {
			idle++
		}
	}
	if warned != 1 || idle != 2 {
		t.Errorf("%d shards warn, and %d send nothing", warned, idle)
	}
}
