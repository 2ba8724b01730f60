package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// harEntry has the fields that takt reads from an entry of HAR 1.2
// (w3c.github.io/web-performance/specs/HAR/Overview.html).
type harEntry struct {
	Started string   `json:"startedDateTime"`
	Time    *float64 `json:"time"` // milliseconds, all phases; nil: not known
	Request struct {
		Method   string      `json:"method"`
		URL      string      `json:"url"`
		Headers  []harHeader `json:"headers"`
		BodySize *int64      `json:"bodySize"`
		PostData harBody     `json:"postData"`
	} `json:"request"`
	Response struct {
		Status   int    `json:"status"`
		BodySize *int64 `json:"bodySize"` // nil or -1: not known
		Content  struct {
			Size *int64 `json:"size"`
		} `json:"content"`
	} `json:"response"`
	Timings harTimings `json:"timings"`
	Cached  any        `json:"_fromCache"` // of Chrome: memory or disk
}

const cachedEntry parse.NoRequest = "the browser answered it from its cache, so the server did not get it"

// harTimings are milliseconds; nil or -1: not known. The time of ssl is a part of connect.
type harTimings struct {
	Blocked, DNS, Connect, Send, Wait, Receive *float64
}

// sum is the time of all phases together; -1: none is known.
func (t *harTimings) sum() float64 {
	sum, known := 0.0, false
	for _, phase := range []*float64{t.Blocked, t.DNS, t.Connect, t.Send, t.Wait, t.Receive} {
		if phase != nil && *phase >= 0 {
			sum, known = sum+*phase, true
		}
	}
	if !known {
		return -1
	}
	return sum
}

type harHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (h harHeader) isType() bool { return strings.EqualFold(h.Name, "content-type") }

var errHAR = errors.New("not a HAR file: the list log.entries is missing or not complete")

// isHAR accepts an object that continues on the next line, or begins with log.
func isHAR(first []byte) bool {
	start := bytes.Join(bytes.Fields(first[:min(len(first), 100)]), nil)
	return string(start) == "{" || bytes.HasPrefix(start, []byte(`{"log":{`)) || string(start) == `{"log":`
}

// harDecoder reads log.entries, one entry in memory at a time.
type harDecoder struct {
	in     *json.Decoder
	n      int  // number of the last entry, from 1
	begun  bool // in is inside the list
	ended  bool
	filler parse.Line
}

func har(in *bufio.Reader, f parse.Line) Decoder {
	return &harDecoder{in: json.NewDecoder(in), filler: f}
}

// Place is the number of the last entry.
func (d *harDecoder) Place() (int, []byte) { return d.n, nil }

// Next implements Decoder.
func (d *harDecoder) Next(rec *trace.Record) error {
	if d.ended {
		return io.EOF
	}
	var e harEntry
	if err := d.entry(&e); err != nil {
		return err
	}
	d.filler.Begin(rec)
	return e.fill(&d.filler)
}

// entry reads the next entry, a *harEntry or a *harAnswered, or the end of the list.
func (d *harDecoder) entry(e any) error {
	err := d.read(e)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) { // the decoder is after the entry and can continue
		return fmt.Errorf("the entry has a %s for %s", wrong.Value, wrong.Field)
	}
	d.ended = err != nil
	return err
}

func (d *harDecoder) read(e any) error {
	if !d.begun {
		if err := d.findEntries(); err != nil {
			return err
		}
		d.begun = true
	}
	if !d.in.More() {
		return cmp.Or(d.expect(']'), io.EOF)
	}
	d.n++
	if err := d.in.Decode(e); err != nil {
		return harFault(err)
	}
	return nil
}

// expect reads a sign.
func (d *harDecoder) expect(sign json.Delim) error {
	if t, err := d.in.Token(); err != nil || t != sign {
		return harFault(err)
	}
	return nil
}

// harFault returns errHAR, unless err is a failed read or a wrong type within an entry.
func harFault(err error) error {
	var wrong *json.UnmarshalTypeError
	if IsReadError(err) || errors.As(err, &wrong) {
		return err
	}
	return errHAR
}

// findEntries reads up to the beginning of the list log.entries.
func (d *harDecoder) findEntries() error {
	for _, name := range []string{"log", "entries"} {
		if err := d.expect('{'); err != nil {
			return err
		}
		if err := d.findKey(name); err != nil {
			return err
		}
	}
	return d.expect('[')
}

// findKey skips the members of an object up to the value of name.
func (d *harDecoder) findKey(name string) error {
	for d.in.More() {
		key, err := d.in.Token()
		if err != nil {
			return harFault(err)
		}
		if key == name {
			return nil
		}
		var other json.RawMessage
		if err := d.in.Decode(&other); err != nil {
			return harFault(err)
		}
	}
	return errHAR
}

func (e *harEntry) fill(f *parse.Line) error {
	r := f.Rec
	if cached, is := e.Cached.(string); is && cached != "" {
		return cachedEntry
	}
	if e.Started != "" { // else Finish refuses it, unless the replay has a rate
		if err := parse.Start(f, []byte(e.Started)); err != nil {
			return err
		}
	}
	if err := parse.Method(f, []byte(e.Request.Method)); err != nil {
		return err
	}
	if err := f.SetURI([]byte(e.Request.URL)); err != nil { // such as data:, blob: or wss:
		return err
	}
	if e.Response.Status > 999 {
		return parse.ErrStatus
	}
	r.Status = max(e.Response.Status, 0)
	r.Latency = millis(e.taken())
	if receive := e.Timings.Receive; receive != nil {
		r.Transfer = min(millis(*receive), r.Latency)
	}
	if r.Bytes = harSize(e.Response.BodySize); r.Bytes < 0 {
		r.Bytes = harSize(e.Response.Content.Size)
	}
	r.RequestBytes = harSize(e.Request.BodySize)
	body := e.Request.PostData.built(e.Request.Headers)
	if body.lacks != "" {
		f.Left.Note(body.lacks)
	}
	if len(body.text) > 0 {
		r.Body = body.text
	}
	headers := e.Request.Headers
	if body.typed {
		headers = slices.DeleteFunc(headers, harHeader.isType)
	}
	header(f, headers, body.kind)
	return f.Finish(true)
}

// taken is the time of the whole exchange in milliseconds; -1: it is not known.
func (e *harEntry) taken() float64 {
	if e.Time != nil && *e.Time > 0 {
		return *e.Time
	}
	return e.Timings.sum()
}

func harSize(size *int64) int64 {
	if size == nil {
		return trace.Unknown
	}
	return max(*size, trace.Unknown)
}

// millis converts milliseconds. Negative numbers and those from 1e12 (31.7 years) are Unknown.
func millis(ms float64) time.Duration {
	if !(ms >= 0 && ms < 1e12) {
		return trace.Unknown
	}
	return time.Duration(ms * float64(time.Millisecond))
}
