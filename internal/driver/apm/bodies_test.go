package apm

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"
)

// event is what the tests look at in an event of either protocol.
type event struct {
	kind        string
	ID          any
	Trace       string                `json:"trace_id"`
	Transaction any                   `json:"transaction_id"`
	Of          struct{ ID string }   `json:"transaction"` // v1
	Parent      string                `json:"parent_id"`
	Timestamp   any                   `json:"timestamp"`
	SpanCount   struct{ Started int } `json:"span_count"`
	Stack       []any                 `json:"stacktrace"`
	Exception   struct {
		Stack []any `json:"stacktrace"`
	}
	Spans  []event
	Start  *float64
	fields map[string]any
}

// eventsOf takes a body of v2 apart.
func eventsOf(t *testing.T, b body) (all []event) {
	t.Helper()
	for i, line := range bytes.Split(bytes.TrimSuffix(b.text, []byte("\n")), []byte("\n")) {
		var one map[string]json.RawMessage
		if err := json.Unmarshal(line, &one); err != nil || len(one) != 1 {
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		}
		for kind, text := range one {
			e := event{kind: kind}
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			_ = json.Unmarshal(text, &e.fields) // it was read once already
			all = append(all, e)
		}
	}
	return all
}

// required are the fields without which apm-server refuses an event: docs/spec/v2 of
// its decoder, and of 6.8 a transaction_id in spans.
func required() map[string][]string {
	return map[string][]string{
		"metadata":    {"service"},
		"transaction": {"trace_id", "id", "type", "span_count", "duration", "timestamp"},
		"span":        {"id", "trace_id", "transaction_id", "name", "parent_id", "type", "duration", "timestamp", "start"},
		"error":       {"id", "exception", "timestamp"},
		"metricset":   {"samples", "timestamp"},
	}
}

// Events have what servers require, identifiers of their own, and belong together.
func TestEvents(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	m := newMaker(1, form{}, now)
	s := shape{transactions: 6, spans: []int{7}, frames: 3, errors: 4, errorFrames: 5, metrics: 1}
	seen, instants := map[any]bool{}, map[any]bool{}
	for range 2 {
		b := m.body(s)
		all := eventsOf(t, b)
		if all[0].kind != "metadata" || b.head != bytes.IndexByte(b.text, '\n')+1 || b.events != len(all)-1 {
			t.Fatalf("%d events, a head of %d bytes: %s", b.events, b.head, b.text[:100])
		}
		kinds, traces := map[string]int{}, map[string]any{}
		for _, e := range all {
			kinds[e.kind]++
			for _, field := range required()[e.kind] {
				if e.fields[field] == nil {
					t.Errorf("%s has no %s", e.kind, field)
				}
			}
			if e.kind == "metadata" || e.kind == "metricset" {
				continue
			}
			if seen[e.ID] {
				t.Errorf("%v comes twice", e.ID)
			}
			seen[e.ID], instants[e.Timestamp] = true, true
			if at := time.UnixMicro(int64(e.Timestamp.(float64))); at.Before(now.Add(-11*time.Second)) || at.After(now.Add(time.Second)) {
				t.Errorf("%s at %v, made at %v", e.kind, at, now)
			}
			switch e.kind {
			case "transaction":
				traces[e.Trace] = e.ID
				if e.SpanCount.Started != 7 {
					t.Errorf("span_count %d", e.SpanCount.Started)
				}
			case "span", "error":
				if traces[e.Trace] != e.Transaction || e.Parent != e.Transaction {
					t.Errorf("%s of trace %s, transaction %v, parent %s: of none before it", e.kind, e.Trace, e.Transaction, e.Parent)
				}
			}
			if e.kind == "span" && len(e.Stack) != 3 || e.kind == "error" && len(e.Exception.Stack) != 5 {
				t.Errorf("%s has %d and %d frames", e.kind, len(e.Stack), len(e.Exception.Stack))
			}
		}
		if want := map[string]int{"metadata": 1, "transaction": 6, "span": 42, "error": 4, "metricset": 1}; !maps.Equal(kinds, want) || len(traces) != 6 {
			t.Errorf("%v in %d traces, want %v", kinds, len(traces), want)
		}
	}
	if len(instants) < 80 {
		t.Errorf("only %d timestamps", len(instants))
	}
}

// In v1 spans stand in their transaction, and identifiers are UUIDs.
func TestDocuments(t *testing.T) {
	m := newMaker(1, form{v1: true}, time.Now())
	uuid := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	var d struct {
		Service      struct{ Name string }
		Transactions []event
		Errors       []event
	}
	for _, s := range []shape{{transactions: 3, spans: []int{0, 2}, frames: 4}, {errors: 5, errorFrames: 6}} {
		b := m.body(s)
		d.Transactions, d.Errors = nil, nil
		if err := json.Unmarshal(b.text, &d); err != nil || d.Service.Name == "" || len(d.Transactions) != s.transactions || len(d.Errors) != s.errors {
			t.Fatalf("%v: %s", err, b.text)
		}
		spans := 0
		for i, e := range slices.Concat(d.Transactions, d.Errors) {
			at, err := time.Parse("2006-01-02T15:04:05.999999Z", e.Timestamp.(string))
			if err != nil || time.Since(at) > time.Minute || !uuid.MatchString(e.ID.(string)) {
				t.Errorf("%v of %v: %v", e.ID, e.Timestamp, err)
			}
			spans += len(e.Spans)
			if s.transactions > 0 && len(e.Spans) != s.spansOf(i) || s.errors > 0 && len(e.Exception.Stack) != 6 {
				t.Errorf("%d spans, %d frames", len(e.Spans), len(e.Exception.Stack))
			}
			for _, span := range e.Spans {
				if span.Start == nil || len(span.Stack) != 4 {
					t.Errorf("%+v", span)
				}
			}
		}
		if b.events != s.transactions+spans+s.errors {
			t.Errorf("%d events counted", b.events)
		}
	}
}

// The largest are as large as hey-apm's by what they consist of: a span of 17.3 kB, and a
// transaction of 1.2 kB.
func TestLargeProfiles(t *testing.T) {
	m := newMaker(1, form{}, time.Now())
	alone := len(m.body(shape{transactions: 100}).text)
	with := len(m.body(shape{transactions: 100, spans: []int{1}, frames: fullStack}).text)
	if span, transaction := (with-alone)/100, alone/100; span < 15_500 || span > 19_000 || transaction < 900 || transaction > 1500 {
		t.Errorf("a span has %d bytes, a transaction %d", span, transaction)
	}
	for name, want := range map[string][2]int{"5mb": {1, 286}, "45mb": {9, 9 * 286}, "huge": {2, 1000}, "maxspans": {12, 512}, "1mb": {28, 56}} {
		p, err := profileOf(name)
		if err != nil {
			t.Fatal(err)
		}
		s, spans := p.parts[0].shape, 0
		for i := range s.transactions {
			spans += s.spansOf(i)
		}
		if s.transactions != want[0] || spans != want[1] || s.frames != fullStack {
			t.Errorf("%s: %d transactions, %d spans, %d frames", name, s.transactions, spans, s.frames)
		}
	}
}

// Every other body of a profile is JSON of the size that its name says, and compresses as
// traces do: hey-apm's copies made 17 to 125 times less of themselves.
func TestProfileBodies(t *testing.T) {
	sizes := map[string]int{
		"errors1": 12_800, "errors2": 5_200, "transactions1": 161_800, "transactions2": 1_700, "130kb": 130_000, "rum errors": 2_600, "rum transactions": 2_700,
	}
	var p packer
	for _, profile := range profiles() {
		for _, part := range profile.parts {
			want := sizes[part.name]
			if want == 0 {
				continue
			}
			for _, v1 := range []bool{false, true} {
				b := newMaker(1, form{v1: v1, rum: part.kind == kindRUMErrors || part.kind == kindRUMTransactions}, time.Now()).body(part.shape)
				if n := len(b.text); n < want*6/10 || n > want*14/10 {
					t.Errorf("%s of %s, v1 %t: %d bytes, want about %d", part.name, profile.name, v1, n, want)
				}
				if v1 && !json.Valid(b.text) {
					t.Errorf("%s is not JSON", part.name)
				}
				if !v1 && b.events != len(eventsOf(t, b))-1 {
					t.Errorf("%s: %d events", part.name, b.events)
				}
				if ratio := float64(len(b.text)) / float64(len(p.pack(b.text))); want > 100_000 && (ratio < 4 || ratio > 9) {
					t.Errorf("%s compresses %.1f times", part.name, ratio)
				}
			}
		}
	}
}

// The seed decides everything but the timestamps, which have one length.
func TestBodiesRepeat(t *testing.T) {
	s := shape{transactions: 2, spans: []int{3}, frames: 4, errors: 1, errorFrames: 2}
	digits := regexp.MustCompile(`"timestamp":("[^"]*"|\d+)`)
	for _, f := range []form{{}, {v1: true}, {rum: true}} {
		one := newMaker(7, f, time.Unix(1_700_000_000, 0)).body(s).text
		two := newMaker(7, f, time.Unix(1_800_000_000, 500)).body(s).text
		if len(one) != len(two) || !bytes.Equal(digits.ReplaceAll(one, nil), digits.ReplaceAll(two, nil)) {
			t.Errorf("%+v: the bodies differ", f)
		}
		if bytes.Equal(one, newMaker(8, f, time.Unix(1_700_000_000, 0)).body(s).text) {
			t.Errorf("%+v: the seed decides nothing", f)
		}
	}
}
