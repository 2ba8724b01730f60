package formats

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// HARExchange is an entry of a HAR file with its answer.
type HARExchange struct {
	Started       time.Time
	Wait, Took    time.Duration // until the head of the answer, and until its end
	Method, URL   string
	Header        [][2]string
	Body          []byte
	Type          string // of Body, where Header has none
	Lacks         string // why Body is not what was sent; "": it is
	Status        int    // 0: there was no answer
	Answer        [][2]string
	Content       []byte // decoded
	Size          int64  // of the body as it came; trace.Unknown
	ContentLacked bool   // the file has no content of an answer that has some
}

// harAnswered is an entry with what the answer has.
type harAnswered struct {
	harEntry
	Response struct {
		Status   int         `json:"status"`
		Headers  []harHeader `json:"headers"`
		BodySize *int64      `json:"bodySize"`
		Content  struct {
			Size     *int64 `json:"size"`
			Text     string `json:"text"`
			Encoding string `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
}

// ReadHAR calls do for each entry of a HAR file that the network answered. The error is that of a file that ends early, after
// the entries before it; bad counts entries that cannot be read.
func ReadHAR(in io.Reader, do func(*HARExchange)) (bad int, err error) {
	d := &harDecoder{in: json.NewDecoder(in)}
	for {
		var e harAnswered
		err := d.entry(&e)
		switch {
		case err == io.EOF:
			return bad, nil
		case d.ended:
			return bad, err
		case err == nil:
			err = e.exchange(do)
		}
		if err != nil {
			bad++
		}
	}
}

var errHARTime = errors.New("the entry has no time")

// exchange calls do with the entry, unless the browser answered it from its cache.
func (e *harAnswered) exchange(do func(*HARExchange)) error {
	if cached, is := e.Cached.(string); is && cached != "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, e.Started)
	if err != nil {
		return errHARTime
	}
	body := e.Request.PostData.built(e.Request.Headers)
	x := &HARExchange{
		Started: at, Took: max(0, millis(max(0, e.taken()))), Method: e.Request.Method, URL: e.Request.URL, Body: body.text, Type: body.kind, Lacks: body.lacks,
		Status: max(0, e.Response.Status), Header: headerPairs(e.Request.Headers), Answer: headerPairs(e.Response.Headers), Content: []byte(e.Response.Content.Text), Size: harSize(e.Response.BodySize),
	}
	if x.Wait = x.Took; e.Timings.Receive != nil {
		x.Wait = max(0, x.Took-max(0, millis(*e.Timings.Receive)))
	}
	if e.Response.Content.Encoding == "base64" {
		if x.Content, err = base64.StdEncoding.DecodeString(e.Response.Content.Text); err != nil {
			x.Content = nil
		}
	}
	x.ContentLacked = len(x.Content) == 0 && harSize(e.Response.Content.Size) > 0
	if x.Size == trace.Unknown {
		x.Size = int64(len(x.Content))
	}
	do(x)
	return nil
}

func headerPairs(list []harHeader) (out [][2]string) {
	for _, h := range list {
		out = append(out, [2]string{h.Name, h.Value})
	}
	return out
}
