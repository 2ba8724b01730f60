package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/reach"
)

// tokens are the tokens of OAUTHBEARER: one that was given, those of a file that others renew, or those
// of an authorization server. Each new connection asks for one.
type tokens struct {
	fixed string
	file  string // read again for each connection
	url   string // of an authorization server, for client credentials (RFC 6749, section 4.4)
	user  string
	pass  string
	scope string

	mu     sync.Mutex
	cached string
	renew  time.Time // when the next one is due
	all    []string  // seen so far, to be taken out of texts
}

const (
	tokenTime  = 10 * time.Second // for an answer of an authorization server
	mostAnswer = 1 << 20          // bytes of it
	mostTokens = 100              // that are remembered, the last ones
	// renewAfter is the part of a token's lifetime after which takt asks for the next one, as Java's
	// clients do by default.
	renewAfter = 0.8
)

// next is a token that is valid now, as far as is known.
func (t *tokens) next(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cached != "" && time.Now().Before(t.renew) {
		return t.cached, nil
	}
	token, lifetime := t.fixed, time.Duration(0)
	var err error
	switch {
	case t.file != "":
		token, err = readToken(t.file)
	case t.url != "":
		token, lifetime, err = t.ask(ctx)
	}
	if err != nil {
		return "", err
	}
	if token != t.cached {
		t.all = append(t.all, token)
		t.all = t.all[max(0, len(t.all)-mostTokens):]
	}
	t.cached, t.renew = token, time.Now().Add(time.Duration(float64(lifetime)*renewAfter))
	return token, nil
}

func (t *tokens) seen() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.all...)
}

func readToken(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w; check --sasl-token-file", err)
	}
	defer f.Close()
	b, err := files.ReadAll(files.Text(f), path, mostAnswer)
	token := strings.TrimSpace(string(b))
	if err != nil || token == "" || strings.ContainsAny(token, " \t\r\n\x00\x01") {
		return "", errors.New("the file of --sasl-token-file does not contain one token; write the token alone into it")
	}
	return token, nil
}

// ask asks the authorization server. Its errors contain nothing that the server says beyond its own code
// of the error.
func (t *tokens) ask(ctx context.Context) (token string, lifetime time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.scope != "" {
		form.Set("scope", t.scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("--sasl-token-url is not a URL; write https://HOST/PATH")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(t.user), url.QueryEscape(t.pass))
	client := http.Client{CheckRedirect: reach.NoRedirect, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: reach.Dial, DisableKeepAlives: true, // one question in a token's lifetime
	}}
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("the authorization server does not answer: %w; check --sasl-token-url", err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token string  `json:"access_token"`
		Life  float64 `json:"expires_in"`
		Error string  `json:"error"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, mostAnswer)).Decode(&answer)
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("the authorization server refuses a token: status %d %.60q; check --sasl-user, --sasl-password-file and --sasl-scope", resp.StatusCode, answer.Error)
	case err != nil || answer.Token == "" || strings.ContainsAny(answer.Token, " \t\r\n\x00\x01"):
		return "", 0, errors.New("the authorization server answers without a token in access_token; check --sasl-token-url")
	}
	return answer.Token, time.Duration(min(max(0, answer.Life), 365*24*3600) * float64(time.Second)), nil
}

// mechanism is what franz-go takes.
func (t *tokens) mechanism() sasl.Mechanism {
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := t.next(ctx)
		return oauth.Auth{Token: token}, err
	})
}

// Token implements sarama.AccessTokenProvider.
func (t *tokens) Token() (*sarama.AccessToken, error) {
	token, err := t.next(context.Background())
	return &sarama.AccessToken{Token: token}, err
}
