package service

import (
	"maps"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

// Each kind of page says the same.
func TestHeapOf(t *testing.T) {
	goHeap := Heap{stored.MetricAllocs: 1000, stored.MetricAllocated: 64000, stored.MetricCollections: 3, stored.MetricCollecting: 250}
	for name, test := range map[string]struct {
		text string
		want Heap
	}{
		"expvar": {`{"cmdline": ["a"], "memstats": {"Mallocs":1000,"TotalAlloc":64000,"NumGC":3,"PauseTotalNs":250000,"Frees":7,"BySize":[{"Mallocs":9}]}}`, goHeap},
		"Go's client of Prometheus": {"# HELP go_memstats_mallocs_total Total.\n# TYPE go_memstats_mallocs_total counter\ngo_memstats_mallocs_total 1000\ngo_memstats_alloc_bytes_total 6.4e+04\n" +
			"go_gc_duration_seconds{quantile=\"1\"} 9\ngo_gc_duration_seconds_sum 0.00025\ngo_gc_duration_seconds_count 3 1700000000000\n", goHeap},
		"pprof": {"heap profile: 1: 32 [9: 288] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 5\n# TotalAlloc = 64000\n# Mallocs = 1000\n# NumGC = 3\n",
			Heap{stored.MetricAllocs: 1000, stored.MetricAllocated: 64000, stored.MetricCollections: 3}},
		"Micrometer": {`jvm_gc_pause_seconds_count{action="end of minor GC",cause="a } b",} 2.0` + "\n" + `jvm_gc_pause_seconds_count{action="x"} 1.0` + "\njvm_gc_pause_seconds_sum{action=\"x\"} 0.00025\njvm_gc_memory_allocated_bytes_total 64000.0\n",
			Heap{stored.MetricAllocated: 64000, stored.MetricCollections: 3, stored.MetricCollecting: 250}},
		"Node.js":   {`nodejs_gc_duration_seconds_sum{kind="minor"} 0.00025` + "\n" + `nodejs_gc_duration_seconds_count{kind="minor"} 3` + "\n", Heap{stored.MetricCollections: 3, stored.MetricCollecting: 250}},
		"something": {"<html>go_memstats_mallocs_total 12</html>", Heap{}},
		"numbers":   {"go_memstats_mallocs_total NaN\ngo_memstats_alloc_bytes_total -3\n", Heap{}},
	} {
		if got := heapOf([]byte(test.text)); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestPages(t *testing.T) {
	for _, test := range []struct {
		load []string
		want string // the first page; "": none
	}{
		{[]string{"http", "-z", "1s", "http://127.0.0.1:{{.Port}}/a/{{.Seq}}"}, "http://127.0.0.1:{{.Port}}/debug/vars"},
		{[]string{"http", "http://127.0.0.1:8080/"}, ""},
		{[]string{"kafka", "produce", "--brokers", "127.0.0.1:{{.Port}}"}, ""},
	} {
		if got := Pages(test.load, HeapPages()...); test.want == "" && got != nil || test.want != "" && !slices.Contains(got, test.want) {
			t.Errorf("%v: %v, want %q", test.load, got, test.want)
		}
	}
}
