// Command http benchmarks one URL with net/http:
//
//	go run . --url http://localhost:8080/ --concurrency 20 --throughput 10000 --duration 20s
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/taktload/takt/pkg/bench"
)

func main() {
	url := flag.String("url", "http://localhost:8080/", "the URL to get")
	timeout := flag.Duration("timeout", time.Second, "of one request")
	b := bench.DefineBenchmarkFlags()
	flag.Parse()
	client := newClient(b.Concurrency, *timeout)
	bench.BenchmarkCmd(bench.ContextFunc(func(ctx context.Context, _ int) error {
		return get(ctx, client, *url)
	}))
}

// newClient keeps a connection for each request that can be under way. The default
// client keeps two of them and dials anew for all others.
func newClient(concurrency int, timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:   timeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: concurrency, DisableCompression: true},
	}
}

// get is one request. The body is read to its end, else the connection could not
// be used again; a status that is not 2xx is an error, else a server that refuses
// everything would look like a fast one.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
