package trace_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

func TestSelect(t *testing.T) {
	var records []trace.Record
	for i, method := range []string{"GET", "HEAD", "POST", "DELETE", "GET"} {
		records = append(records, trace.Record{Method: []byte(method), URI: fmt.Appendf(nil, "/%d", i), Status: []int{200, 304, 201, 404, 500}[i]})
	}
	for want, rules := range map[string]trace.Rules{
		"GET/0 HEAD/1 GET/4":                 {},
		"POST/2":                             {Methods: []string{"POST"}},
		"GET/0 HEAD/1 POST/2 DELETE/3 GET/4": {Methods: []string{"*"}, Share: 1},
		"HEAD/1 GET/4":                       {Path: regexp.MustCompile("[1-9]")},
		"GET/0 HEAD/1":                       {NotPath: regexp.MustCompile("4$")},
		"GET/0 DELETE/3":                     {Methods: []string{"GET", "DELETE"}, Statuses: trace.Statuses{{200, 299}, {404, 404}}},
	} {
		s := trace.Select(&tracetest.List{Records: records}, rules)
		if got := tracetest.URIs(t, s); got != want {
			t.Errorf("%+v: %s, want %s", rules, got, want)
		}
		if kept := len(strings.Fields(want)); s.Left().Count(trace.NotChosen) != uint64(5-kept) {
			t.Errorf("%+v: the counts do not add up: %+v", rules, s.Left())
		}
	}
	s := trace.Select(&tracetest.List{Records: records}, trace.Rules{Path: regexp.MustCompile("0"), Statuses: trace.Statuses{{500, 599}}})
	got := tracetest.URIs(t, s)
	var reasons []string
	for _, r := range s.Left().Reasons() {
		reasons = append(reasons, fmt.Sprintf("%d %s", r.Count, r.Why))
	}
	if text := strings.Join(reasons, "; "); got != "" || text != "1 the recorded status is not one of --status; 2 the URI does not pass --path and --not-path; 2 the method is not GET or HEAD (--methods)" {
		t.Errorf("%s %s", got, text)
	}
}

// A share of the clients is kept, with all their requests, the same ones each time;
// a greater share has all of a smaller one. 10 000 clients at 10 % give 1000 ± 30
// (one sigma).
func TestShareOfClients(t *testing.T) {
	kept := map[float64]map[string]int{}
	for _, share := range []float64{0.1, 0.5} {
		var records []trace.Record
		addr := netip.MustParseAddr("10.1.0.0")
		for range 10_000 {
			for range 2 {
				records = append(records, trace.Record{Method: []byte("GET"), URI: []byte("/"), Client: []byte(addr.String())})
			}
			addr = addr.Next()
		}
		kept[share] = map[string]int{}
		s := trace.Select(&tracetest.List{Records: records}, trace.Rules{Share: share})
		var rec trace.Record
		for s.Next(&rec) == nil {
			kept[share][string(rec.Client)]++
		}
		if n := float64(len(kept[share])); n < 10_000*share-150 || n > 10_000*share+150 {
			t.Errorf("of 10 000 clients %v were kept at %v", n, share)
		}
	}
	for client, n := range kept[0.1] {
		if n != 2 || kept[0.5][client] != 2 {
			t.Errorf("%s has %d and %d requests", client, n, kept[0.5][client])
		}
	}
	// Without clients each line decides for itself.
	n := 0
	for line := range 10_000 {
		if trace.ClientHash(&trace.Record{Line: line}) < 1<<63 {
			n++
		}
	}
	if n < 4850 || n > 5150 {
		t.Errorf("%d of 10 000 lines are in the lower half", n)
	}
}

func TestStatuses(t *testing.T) {
	for text, want := range map[string]string{"200": "200-200", "2xx,404": "200-299,404-404", "200-299, 50x": "200-299,500-509", "444": "444-444"} {
		var s trace.Statuses
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%s: %v %v", text, &s, err)
		}
	}
	for _, text := range []string{"", "20", "abc", "299-200", "200-", "2000", "x-x"} {
		var s trace.Statuses
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %v", text, &s)
		}
	}
}
