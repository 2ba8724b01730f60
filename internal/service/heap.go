package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

// HeapPages are where servers of Go, Java and Node.js say what they allocated: expvar, Prometheus' clients, and Go's
// pprof.
func HeapPages() []string {
	return []string{"/debug/vars", "/metrics", "/actuator/prometheus", "/debug/pprof/allocs?debug=1"}
}

// mostPage bounds a page of a server, in bytes.
const mostPage = 32 << 20

// Heap is what a server's runtime counted since its start, by the metric that comes of it: objects, bytes, garbage
// collections, and the µs of these.
type Heap map[string]float64

// Pages are URLs with {{.Port}} of these paths at the server of a load. A load without such a URL has none.
func Pages(load []string, paths ...string) (pages []string) {
	for _, word := range load {
		u, err := url.Parse(withPort(word, 1))
		if err != nil || u.Scheme != "http" || !HasPort(word) {
			continue
		}
		root, _, _ := strings.Cut(strings.TrimPrefix(word, "http://"), "/")
		for _, page := range paths {
			pages = append(pages, "http://"+root+page)
		}
		return pages
	}
	return nil
}

// Heap reads one page. It fails if the page has none of the figures.
func (s *Server) Heap(ctx context.Context, page string) (Heap, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	page = s.WithPort(page)
	text, err := pageOf(ctx, page)
	if err != nil {
		return nil, err
	}
	h := heapOf(text)
	if len(h) == 0 {
		return nil, fmt.Errorf("%s says nothing of allocations and garbage collections; give a page of expvar, of Prometheus, or /debug/pprof/allocs?debug=1", page)
	}
	return h, nil
}

// pageOf gets a page as get does.
func pageOf(ctx context.Context, page string) ([]byte, error) {
	answer, err := ask(ctx, page)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered with status %d", page, answer.StatusCode)
	}
	return io.ReadAll(io.LimitReader(answer.Body, mostPage))
}

// heapFigures are the names of figures in pages: of runtime.MemStats in /debug/vars and pprof's, and of Prometheus'
// clients of Go, Java (also Micrometer's) and Node.js.
var heapFigures = map[string]struct {
	metric string
	factor float64 // the unit of the page in that of Heap
}{
	"Mallocs":      {stored.MetricAllocs, 1},
	"TotalAlloc":   {stored.MetricAllocated, 1},
	"NumGC":        {stored.MetricCollections, 1},
	"PauseTotalNs": {stored.MetricCollecting, 1e-3},

	"go_memstats_mallocs_total":     {stored.MetricAllocs, 1},
	"go_memstats_alloc_bytes_total": {stored.MetricAllocated, 1},
	"go_gc_duration_seconds_count":  {stored.MetricCollections, 1},
	"go_gc_duration_seconds_sum":    {stored.MetricCollecting, 1e6},

	"jvm_memory_pool_allocated_bytes_total": {stored.MetricAllocated, 1},
	"jvm_gc_memory_allocated_bytes_total":   {stored.MetricAllocated, 1},
	"jvm_gc_collection_seconds_count":       {stored.MetricCollections, 1},
	"jvm_gc_collection_seconds_sum":         {stored.MetricCollecting, 1e6},
	"jvm_gc_pause_seconds_count":            {stored.MetricCollections, 1},
	"jvm_gc_pause_seconds_sum":              {stored.MetricCollecting, 1e6},

	"nodejs_gc_duration_seconds_count": {stored.MetricCollections, 1},
	"nodejs_gc_duration_seconds_sum":   {stored.MetricCollecting, 1e6},
}

// heapOf reads a page of any of these kinds.
func heapOf(text []byte) Heap {
	h := Heap{}
	add := func(name string, v float64) {
		if f, ok := heapFigures[name]; ok && v >= 0 {
			h[f.metric] += v * f.factor // a sum over pools and kinds of collections
		}
	}
	var vars struct{ Memstats map[string]any }
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Unmarshal(text, &vars) == nil {
		for name, v := range vars.Memstats {
			if n, ok := v.(float64); ok {
				add(name, n)
			}
		}
		return h
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), " = ") // pprof's: # Mallocs = 12
		if !ok && !strings.HasPrefix(line, "#") {
			name, value = sample(line)
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			add(name, v)
		}
	}
	return h
}

// sample is the name and the value of a line of Prometheus' text: NAME{LABELS} VALUE TIMESTAMP.
func sample(line string) (name, value string) {
	name, rest, labelled := strings.Cut(line, "{")
	if labelled {
		rest = rest[strings.LastIndexByte(rest, '}')+1:]
	} else {
		name, rest, _ = strings.Cut(line, " ")
	}
	value, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return name, value
}
