package elastic

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/pkg/takt"
)

// Limits of one answer. The client reads an answer whole, and some servers never end one: without
// a limit such a server filled 8 GiB of memory in 30 s.
const (
	MaxAnswer = audit.MaxDocument // bytes; the client uses 2.5 times as much; a report with 1200 intervals has up to 23 MB
	maxError  = 1 << 20           // bytes of an answer with an error
	maxReason = 500               // characters of a reason that a person sees
)

// bounded limits answers.
type bounded struct {
	http.RoundTripper
	most int64 // bytes
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	most := b.most
	if answer.StatusCode >= http.StatusMultipleChoices {
		most = min(most, maxError)
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, most)
	return answer, nil
}

// Limit sets the largest size of an answer in bytes before the first request. It is MaxAnswer otherwise.
func (c *Cluster) Limit(most int64) { c.answers.most = most }

// stay refuses redirects. A cluster sends none. Another server could send the credentials to another
// port, or from HTTPS to HTTP, and make a GET without its query of a search.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// secretsOf are the texts that no error may show: some proxies repeat the headers of a request.
func secretsOf(o Options) (secrets []string) {
	if o.APIKey != "" {
		secrets = append(secrets, o.APIKey)
	}
	if o.Password != "" {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password)), o.Password)
	}
	return secrets
}

// Said is an error of the client as a person may see it: without credentials, of one line, and short. hint
// is what to do. It is "" for an answer with an error, which only the caller can explain, unless the answer
// is a redirect.
func (c *Cluster) Said(err error) (said error, hint string) {
	var e *client.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &plainError{fmt.Sprintf("its answer has more than %d MiB", large.Limit>>20), large}, "is the URL right?"
	case !errors.As(err, &e):
		return c.shown(foreign.Cause(err)), "is it running, and is the URL right?"
	case e.Status >= 300 && e.Status < 400:
		hint = "it leads to another address; give that one, if it is a cluster's"
	}
	if e.Details == nil {
		return e, hint
	}
	return &client.Error{Status: e.Status, Details: &client.ErrorDetails{Type: c.plain(e.Details.Type), Reason: c.plain(e.Details.Reason)}}, hint
}

// shown is err with a text that a person may see: net/http quotes what is not an answer of HTTP.
func (c *Cluster) shown(err error) error {
	if text := c.plain(err.Error()); text != err.Error() {
		return &plainError{text, err}
	}
	return err
}

// plainError is an error with another text.
type plainError struct {
	text  string
	cause error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.cause }

func (c *Cluster) plain(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, takt.Redacted)
	}
	return foreign.Cut(text, maxReason)
}
