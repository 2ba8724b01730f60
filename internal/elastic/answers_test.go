package elastic

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	client "github.com/olivere/elastic/v7"
)

// An answer that never ends is read up to the limit, also one that says it is an error.
func TestAnswersAreBounded(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	for _, status = range []int{200, 503} {
		c := http.Client{Transport: &bounded{http.DefaultTransport, 10_000}}
		answer, err := c.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if large := (*http.MaxBytesError)(nil); !errors.As(err, &large) || len(read) != 10_000 {
			t.Errorf("status %d: %d bytes, %v", status, len(read), err)
		}
	}
}

// The file of an authority that never ends is refused.
func TestAuthorityIsBounded(t *testing.T) {
	if _, err := Connect("elasticsearch+tls://h", Options{CAFile: "/dev/zero"}); err == nil || !strings.Contains(err.Error(), "/dev/zero: it has more than 16 MiB") {
		t.Error(err)
	}
}

func TestSaid(t *testing.T) {
	for _, o := range []Options{{User: "u", Password: "s3cret"}, {APIKey: "aWQ6czNjcmV0"}} {
		c, err := Connect("elasticsearch://h", o)
		if err != nil {
			t.Fatal(err)
		}
		refused, hint := c.Said(&client.Error{Status: 400, Details: &client.ErrorDetails{
			Type:   "s3cret",
			Reason: "Basic dTpzM2NyZXQ= ApiKey aWQ6czNjcmV0\n\x1b[2J" + strings.Repeat("ü", 1<<20),
		}})
		if hint != "" {
			t.Errorf("the hint %q", hint)
		}
		said := refused.Error()
		secrets := []string{"s3cret", "dTpzM2NyZXQ="}
		if o.APIKey != "" {
			secrets = []string{o.APIKey}
		}
		for _, no := range append(secrets, "\n", "\x1b") {
			if strings.Contains(said, no) {
				t.Errorf("%q in %.200q", no, said)
			}
		}
		if len(said) > 1200 || !strings.Contains(said, "xxxxx") || !strings.Contains(said, "…") {
			t.Errorf("%d bytes: %.200q", len(said), said)
		}
		c.Close()
	}
}

// What the client says of other answers, and what to do.
func TestSaidOfOtherAnswers(t *testing.T) {
	c, err := Connect("elasticsearch://u:s3cret@h", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused := errors.New("connection refused")
	for _, test := range []struct {
		err        error
		said, hint string
	}{
		{&client.Error{Status: 503}, "elastic: Error 503 (Service Unavailable)", ""},
		{&client.Error{Status: 307}, "elastic: Error 307 (Temporary Redirect)", "it leads to another address"},
		{fmt.Errorf("reading: %w", &http.MaxBytesError{Limit: MaxAnswer}), "its answer has more than 64 MiB", "is the URL right?"},
		{&url.Error{Op: "Get", URL: "http://u:s3cret@h", Err: refused}, "connection refused", "is it running"},
		{fmt.Errorf("malformed answer s3cret\n\x1b: %w", refused), "malformed answer xxxxx ·: connection refused", "is it running"},
	} {
		said, hint := c.Said(test.err)
		if said.Error() != test.said || !strings.HasPrefix(hint, test.hint) || (hint == "") != (test.hint == "") {
			t.Errorf("%v: %v; %s", test.err, said, hint)
		}
		if errors.Is(test.err, refused) && !errors.Is(said, refused) {
			t.Errorf("%v loses its cause", test.err)
		}
	}
}
