package openmetrics

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/value"
)

// Where is what follows openmetrics=.
const Where = "FILE or HOST:PORT"

// Parse reads FILE, or HOST:PORT of an endpoint with its options as in a URL:
// HOST:PORT?token-file=FILE&tls-cert=FILE&tls-key=FILE.
func Parse(where string) (metrics.Destination, error) {
	address, options, _ := strings.Cut(where, "?")
	if !isAddress(address) {
		return metrics.Destination{
			Shown: where,
			Names: []value.Name{{Kind: value.Writes, Text: where}},
			Open:  func(metrics.Run) (metrics.Exporter, error) { return openFile(where) },
		}, isFile(where)
	}
	e, err := parseEndpoint(address, options)
	return metrics.Destination{
		Shown: where,
		Names: []value.Name{{Kind: value.Private, Text: "a session opens no ports"}},
		Open:  func(metrics.Run) (metrics.Exporter, error) { return openPull(e) },
	}, err
}

func isFile(path string) error {
	if path == value.Stdio {
		return errors.New("the figures of each second replace those before, which standard output cannot do; give a file")
	}
	return nil
}

// isAddress reports whether a text is HOST:PORT. A file of such a name is ./HOST:PORT.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(text, "/\\") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// parseEndpoint applies the rules of takt ui: beyond loopback only with a token and TLS.
func parseEndpoint(address, options string) (Endpoint, error) {
	e := Endpoint{Address: address}
	values, err := url.ParseQuery(options)
	if err != nil {
		return e, errors.New("the options after ? cannot be read; write them as token-file=FILE&tls-cert=FILE&tls-key=FILE")
	}
	for name, list := range values {
		switch name {
		case "token-file":
			e.TokenFile = list[0]
		case "tls-cert":
			e.Cert = list[0]
		case "tls-key":
			e.Key = list[0]
		default:
			return e, fmt.Errorf("the option %.40q is unknown; use token-file, tls-cert and tls-key", name)
		}
	}
	switch local := door.IsLocalAddr(address); {
	case (e.Cert == "") != (e.Key == ""):
		return e, errors.New("the options tls-cert and tls-key belong together; give both")
	case !local && (e.TokenFile == "" || e.Cert == ""):
		return e, fmt.Errorf("other machines can reach %s; add ?token-file=FILE&tls-cert=FILE&tls-key=FILE, or listen on 127.0.0.1", address)
	}
	return e, nil
}
