package elastic

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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
		c := http.Client{Transport: bounded{http.DefaultTransport, 10_000}}
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

func TestSaid(t *testing.T) {
	for _, o := range []Options{{User: "u", Password: "s3cret"}, {APIKey: "aWQ6czNjcmV0"}} {
		c, err := Connect("elasticsearch://h", o)
		if err != nil {
			t.Fatal(err)
		}
		said := c.Said(&client.Error{Status: 400, Details: &client.ErrorDetails{
			Type:   "s3cret",
			Reason: "Basic dTpzM2NyZXQ= ApiKey aWQ6czNjcmV0\n\x1b[2J" + strings.Repeat("ü", 1<<20),
		}}).Error()
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
	if e := (&client.Error{Status: 503}); (&Cluster{}).Said(e) != e {
		t.Error("an error without details is another one")
	}
}
