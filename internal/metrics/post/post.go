package post

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/permanent"
	"github.com/taktload/takt/internal/reach"
)

const (
	mostAnswer = 64 << 10        // bytes that are read of an answer, to use its connection again
	mostShown  = 200             // bytes of an answer that an error shows
	idle       = 2 * time.Minute // of a connection
)

// Client sends bodies to one URL, over one connection. It follows no redirects and uses no proxy: the user
// named the machine.
type Client struct {
	url    string
	header http.Header
	http   *http.Client
}

// New makes a client. The password of the URL becomes a header, as the header may set others.
func New(url string, header http.Header) *Client {
	return &Client{url, header, &http.Client{
		Transport:     &http.Transport{MaxIdleConns: 1, MaxConnsPerHost: 1, IdleConnTimeout: idle, DisableCompression: true, DialContext: reach.Dial},
		CheckRedirect: reach.NoRedirect,
	}}
}

// Send posts a body. The errors are those of a metrics.Exporter: permanent for an answer that a repetition
// would not change.
func (c *Client) Send(ctx context.Context, body []byte) error {
	_, err := c.Ask(ctx, body)
	return err
}

// Ask is Send, and returns the begin of the answer.
func (c *Client) Ask(ctx context.Context, body []byte) (text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, permanent.Mark(err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, foreign.Cause(err)
	}
	defer answer.Body.Close()
	text, _ = io.ReadAll(io.LimitReader(answer.Body, mostAnswer)) // the status counts
	return text, judge(answer, text)
}

// judge is the error of an answer.
func judge(answer *http.Response, text []byte) error {
	code := answer.StatusCode
	if code/100 == 2 {
		return nil
	}
	err := fmt.Errorf("the receiver answered %s%s", answer.Status, quoted(text))
	if permanent.Status(code) {
		return permanent.Mark(err)
	}
	return metrics.Later(err, asked(answer.Header.Get("Retry-After")))
}

// asked is the pause that a receiver asks for in seconds; 0: it asks for none.
func asked(text string) time.Duration {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// quoted is the begin of an answer's text, for an error.
func quoted(text []byte) string {
	words := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "?")), " ")
	if words == "" {
		return ""
	}
	if len(words) > mostShown {
		words = words[:mostShown] + "…"
	}
	return ": " + words
}

// Close ends the connection, as metrics.Exporter has it.
func (c *Client) Close(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}
