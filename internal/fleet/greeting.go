package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// path is the address of the request that opens a connection.
const path = "/fleet"

// maxHello is the largest request, in bytes.
const maxHello = 16 << 10

// request is the one that opens a connection.
func (h Hello) request(address string, t Token) (*http.Request, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, "http://"+address+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	if t != "" {
		r.Header.Set("Authorization", "Bearer "+string(t))
	}
	return r, nil
}

// refusal is the answer to a request, with the reason as its text.
type refusal struct {
	status int
	error
}

// helloOf checks a request and reads who asks. secure says that the connection is encrypted.
func helloOf(r *http.Request, secure bool, t Token, version string) (h Hello, err error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxHello))
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case err != nil:
	case t != "" && !secure && token == "":
		return h, refusal{http.StatusUnauthorized, errors.New("it has no token; give it that of the gatherer, with TAKT_FLEET_TOKEN or --fleet-token-file")}
	case t != "" && !t.Is(token):
		return h, refusal{http.StatusUnauthorized, errors.New("the token is missing or wrong; give the gatherer and its shards the same --fleet-token")}
	case t != "" && !secure:
		return h, refusal{http.StatusUpgradeRequired, errors.New("it sent the token without encryption, so others may know it now; make a new token, and join with takt shard")}
	case r.Header.Get("Upgrade") != protocol || r.URL.Path != path:
		return h, refusal{http.StatusUpgradeRequired, errors.New("this is the gatherer of a fleet; start takt shard to join it")}
	default:
		err = json.Unmarshal(text, &h)
	}
	switch {
	case err != nil:
		return h, refusal{http.StatusBadRequest, fmt.Errorf("the request cannot be read: %w", err)}
	case h.Version != version:
		return h, refusal{http.StatusConflict, fmt.Errorf("it is takt %.40q, and the gatherer is %q; shards of several versions may count in different ways, so start the same one everywhere", h.Version, version)}
	}
	return h, nil
}

// serverName tells a gatherer from other servers.
const serverName = "takt-fleet"

// write answers with the refusal.
func (r refusal) write(w io.Writer) error {
	answer := &http.Response{
		StatusCode: r.status, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(r.Error())),
		Body: io.NopCloser(strings.NewReader(r.Error())), Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Server": {serverName}},
	}
	return answer.Write(w)
}

// switched is the answer after which both sides speak lines of JSON.
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n"
