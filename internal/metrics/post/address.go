// Package post is what exporters have in common whose receivers speak HTTP: the address, the request, its
// errors, and how metrics and histograms are written in protocol buffers.
package post

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Address is the URL of a receiver.
type Address struct {
	*url.URL
	Shown   string // without secrets
	Secrets []string
}

// secret lists the parameters of URLs that are never shown; p is InfluxDB's password.
var secret = []string{"token", "p", "password", "key", "apikey", "api-key", "api_key", "access_token"}

// Parse reads an http or https URL. Its errors do not contain the URL.
func Parse(text string) (a Address, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return a, errors.New("the URL cannot be read; write it as http://HOST:PORT/PATH")
	case u.Scheme != "http" && u.Scheme != "https":
		return a, errors.New("the URL does not begin with http:// or https://")
	case u.Hostname() == "":
		return a, errors.New("the URL has no host; write it as http://HOST:PORT/PATH")
	}
	a.URL = u
	a.Shown = u.Scheme + "://" + a.user() + u.Host + u.EscapedPath() + a.query()
	return a, nil
}

// user is the user of the URL with an @, without the password.
func (a *Address) user() string {
	if a.User == nil {
		return ""
	}
	name := url.User(a.User.Username()).String()
	if password, ok := a.User.Password(); ok {
		a.hide(password)
		name += ":" + takt.Redacted
	}
	return name + "@"
}

// query is the query of the URL with its ?, without secrets.
func (a *Address) query() string {
	if a.RawQuery == "" {
		return ""
	}
	pairs := strings.Split(a.RawQuery, "&")
	for i, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		if !slices.Contains(secret, strings.ToLower(name)) {
			continue
		}
		if plain, err := url.QueryUnescape(text); err == nil {
			a.hide(plain)
		}
		pairs[i] = name + "=" + takt.Redacted
	}
	return "?" + strings.Join(pairs, "&")
}

func (a *Address) hide(text string) {
	if text != "" {
		a.Secrets = append(a.Secrets, text)
	}
}

// Destination is the receiver at the URL. exporter makes the exporter of one run.
func (a *Address) Destination(exporter func(run metrics.Run) metrics.Exporter) metrics.Destination {
	return metrics.Destination{
		Shown: a.Shown, Secrets: a.Secrets,
		Names: []value.Name{{Kind: value.Loads, Text: a.Scheme + "://" + a.Host}},
		Open:  func(run metrics.Run) (metrics.Exporter, error) { return exporter(run), nil },
	}
}
