package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var errQueueFull = errors.New("queue is full")

// document goes to the index of its kind.
type document struct{ kind, text string }

// indexer writes documents to a cluster, in bulk.
type indexer struct {
	url, user, password string
	dropPercent         int64
	queue               chan document
	done                chan struct{}
	ready               atomic.Bool // the cluster has accepted the template

	added, active, acked, failed, dropped atomic.Int64
}

const (
	bulk     = 500                    // documents of a bulk request, at most
	linger   = 100 * time.Millisecond // after this time a request is sent with fewer
	fullTime = time.Second            // a queue that is full for so long is an error, as in apm-server
)

func newIndexer(s map[string]string) (*indexer, error) {
	var hosts []string
	if text := s["output.elasticsearch.hosts"]; json.Unmarshal([]byte(text), &hosts) != nil || len(hosts) != 1 {
		return nil, fmt.Errorf(`output.elasticsearch.hosts is %s, not a list of one such as ["http://127.0.0.1:9200"]`, text)
	}
	size, err := strconv.Atoi(s["queue.mem.events"])
	x := &indexer{
		url: hosts[0], user: s["output.elasticsearch.username"], password: s["output.elasticsearch.password"],
		dropPercent: dropPercent, queue: make(chan document, max(size, 1)), done: make(chan struct{}),
	}
	if text, ok := s["intake.drop_percent"]; ok && err == nil {
		x.dropPercent, err = strconv.ParseInt(text, 10, 64)
	}
	return x, err
}

// add waits for room in the queue, at most fullTime. It drops exactly dropPercent of the documents: at
// 20 %, one of every five.
func (x *indexer) add(ctx context.Context, d document) error {
	if n := x.added.Add(1); n*x.dropPercent/100 != (n-1)*x.dropPercent/100 {
		x.dropped.Add(1)
		return nil
	}
	x.active.Add(1)
	full := time.NewTimer(fullTime)
	defer full.Stop()
	select {
	case x.queue <- d:
		return nil
	case <-full.C:
		x.active.Add(-1)
		return errQueueFull
	case <-ctx.Done():
		x.active.Add(-1)
		return ctx.Err()
	}
}

// run writes until the queue is closed.
func (x *indexer) run() {
	defer close(x.done)
	for x.put("PUT", "/_index_template/apm-intake", template) != nil {
		time.Sleep(linger)
	}
	x.ready.Store(true)
	var body bytes.Buffer
	n := int64(0)
	tick := time.NewTicker(linger)
	defer tick.Stop()
	for open := true; open; {
		var d document
		select {
		case d, open = <-x.queue:
			if open {
				fmt.Fprintf(&body, `{"create":{"_index":"apm-intake-%s"}}`+"\n%s\n", d.kind, d.text)
				n++
			}
			if open && n < bulk {
				continue
			}
		case <-tick.C:
		}
		if n > 0 {
			x.write(body.Bytes(), n)
			body.Reset()
			n = 0
		}
	}
}

// write sends a bulk request again until the cluster accepts it.
func (x *indexer) write(body []byte, n int64) {
	for {
		err := x.put("POST", "/_bulk", string(body))
		if err == nil {
			break
		}
		fmt.Fprintln(os.Stderr, "WARN", err)
		time.Sleep(linger)
	}
	x.acked.Add(n)
	x.active.Add(-n)
}

// close waits until the queue is written, at most for patience.
func (x *indexer) close(patience time.Duration) {
	close(x.queue)
	select {
	case <-x.done:
	case <-time.After(patience):
		fmt.Fprintln(os.Stderr, "ERROR", x.active.Load(), "events were lost")
	}
}

func (x *indexer) put(method, path, body string) error {
	request, err := http.NewRequest(method, x.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	if path != "/_bulk" {
		request.Header.Set("Content-Type", "application/json")
	}
	if x.user != "" {
		request.SetBasicAuth(x.user, x.password)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 || bytes.Contains(text, []byte(`"errors":true`)) {
		return fmt.Errorf("%s answers %s: %.300s", path, answer.Status, text)
	}
	return nil
}

// template declares the fields that are searched. Its priority wins over other templates for apm-*.
const template = `{"index_patterns":["apm-intake-*"],"priority":1000,"template":{
	"settings":{"number_of_shards":1,"number_of_replicas":0},
	"mappings":{"dynamic":false,"properties":{
		"@timestamp":{"type":"date"},
		"processor":{"properties":{"event":{"type":"keyword"}}},
		"service":{"properties":{"name":{"type":"keyword"}}}}}}}`
