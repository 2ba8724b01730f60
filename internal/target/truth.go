package target

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Truth is what a Server really did. Instants are since the arrival of the first
// request.
type Truth struct {
	StartedAt time.Time `json:"started_at,omitzero"` // arrival of the first request; zero: there was none
	Servers   int       `json:"servers"`             // 0: unlimited
	Counts    Counts    `json:"counts"`
	Freezes   []Window  `json:"freezes"` // those that began, to their planned end
	Skipped   uint64    `json:"skipped"` // requests after the last record: memory is bounded to 1<<20 records
	Records   []Record  `json:"records"` // in order of arrival
	// Streams are the answers to the records, with --sse and --grpc. Tokens after the first 1<<22 are left out.
	Streams []Stream `json:"streams,omitempty"`
}

// Stream is an answer of tokens, or of messages of gRPC. With streams, Service and End of the Record are those of the
// first token, and Released is when that was sent.
type Stream struct {
	Prompt int             `json:"prompt_tokens,omitempty"` // with --sse
	Due    []time.Duration `json:"due_ns"`                  // when each token was due
	Sent   []time.Duration `json:"sent_ns"`                 // when each token was sent: later than Due by the server's own lateness
}

// Counts of requests: Requests = OK + Errors + Resets + HalfOpen + Closed + Rejected + Left + Unfinished.
type Counts struct {
	Requests   uint64 `json:"requests"`
	OK         uint64 `json:"ok"`
	Errors     uint64 `json:"errors"`
	Resets     uint64 `json:"resets"`
	HalfOpen   uint64 `json:"half_open"`
	Closed     uint64 `json:"closed"`
	Rejected   uint64 `json:"rejected,omitempty"` // with --sse-limit
	Left       uint64 `json:"left,omitempty"`     // of streams
	Unfinished uint64 `json:"unfinished"`         // waiting or being served
	Malformed  uint64 `json:"malformed"`          // not requests: refused with status 400 or 431, no records
	// RefusedStreams counts streams of HTTP/2 above --h2-streams, or after GOAWAY. They are not requests.
	RefusedStreams uint64 `json:"refused_streams"`
	// AcceptErrors counts failed accepts: too many open files, or a client that left.
	AcceptErrors uint64 `json:"accept_errors"`
}

// add counts a request that came to its end.
func (c *Counts) add(o Outcome) {
	switch o {
	case OK:
		c.OK++
	case Error:
		c.Errors++
	case Reset:
		c.Resets++
	case HalfOpen:
		c.HalfOpen++
	case Closed:
		c.Closed++
	case Rejected:
		c.Rejected++
	case Left:
		c.Left++
	}
}

// Record is one request. In JSON it is an array in the order of the fields, the
// times in nanoseconds.
type Record struct {
	Arrival  time.Duration // its last byte was read
	Service  time.Duration // drawn, without freezes
	Start    time.Duration // a server took it
	End      time.Duration // the server was done with it: Start + Service + freezes
	Released time.Duration // the answer was sent: later than End by the server's own lateness; negative: not yet
	Outcome  Outcome
	Came     time.Duration // its last byte came to this host, by the kernel's stamp; equals Arrival where there are no stamps
}

// MarshalJSON implements json.Marshaler. An array takes 70 bytes, an object 150.
func (r Record) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 96)
	b = append(b, '[')
	for _, d := range [...]time.Duration{r.Arrival, r.Service, r.Start, r.End, r.Released} {
		b = strconv.AppendInt(b, int64(d), 10)
		b = append(b, ',')
	}
	b = append(strconv.AppendQuote(b, r.Outcome.String()), ',')
	return append(strconv.AppendInt(b, int64(r.Came), 10), ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Record) UnmarshalJSON(b []byte) error {
	fields := []any{&r.Arrival, &r.Service, &r.Start, &r.End, &r.Released, &r.Outcome, &r.Came}
	want := len(fields)
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	if len(fields) != want {
		return fmt.Errorf("a record has %d fields; want %d", len(fields), want)
	}
	return nil
}

// write writes t as JSON, one line.
func (t *Truth) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(t); err != nil {
		return err
	}
	return b.Flush()
}
