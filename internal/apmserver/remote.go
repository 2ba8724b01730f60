package apmserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// Remote is one or several servers that takt neither starts nor stops.
type Remote struct {
	urls []string
	current
}

// NewRemote is the servers at these URLs. The error lists all invalid URLs.
func NewRemote(urls ...string) (*Remote, error) {
	var faults []error
	r := &Remote{}
	for _, text := range urls {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			faults = append(faults, fmt.Errorf("%q is not the URL of a server; give it as http://HOST:8200", shown(u, text)))
		case u.User != nil:
			faults = append(faults, fmt.Errorf("%s has a password in it; give the server's token by --secret", u.Redacted()))
		default:
			r.urls = append(r.urls, strings.TrimSuffix(u.String(), "/"))
		}
	}
	if len(urls) == 0 {
		faults = append(faults, errors.New("there is no URL; give one, such as http://HOST:8200"))
	}
	return r, errors.Join(faults...)
}

// shown is the given text, unless it may contain a password.
func shown(u *url.URL, text string) string {
	if u != nil {
		return u.Redacted()
	}
	_, host, at := strings.Cut(text, "@")
	if at {
		return host
	}
	return text
}

// Location implements Server.
func (r *Remote) Location() Location { return Location{Kind: KindRemote, URLs: r.urls} }

// Switch notes the running revision without fetching or making.
func (r *Remote) Switch(_ context.Context, s Switch, _ io.Writer) (Revision, error) {
	r.set(Revision{})
	if err := s.validate(); err != nil {
		return Revision{}, err
	}
	if s.Fetch || s.Checkout || s.Make || s.MakeUpdate {
		return Revision{}, errors.New("takt does not manage this server, and so can fetch and make nothing there; give the branch and the revision that run there, without options")
	}
	_, branch := s.split(nil)
	r.set(Revision{Branch: branch, Hash: s.Revision})
	return r.Revision(), nil
}

// Start waits until each of the servers answers.
func (r *Remote) Start(ctx context.Context, o Options) (*Running, error) {
	if err := r.Location().CheckLimits(&o); err != nil {
		return nil, err
	}
	running := &Running{URLs: r.urls, secret: o.Secret}
	for _, u := range r.urls {
		version, err := ready(ctx, u, &o, nil)
		if err != nil {
			return nil, err
		}
		running.Version = version
	}
	return running, nil
}

func joined(words []string) string { return strings.Join(words, ",") }
