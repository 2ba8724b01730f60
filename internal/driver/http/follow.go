package http

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/pkg/takt"
)

// hop is a request that follows a redirect, as an operation of its step.
type hop struct {
	number int    // from 1
	to     string // the Location, without a fragment
	get    bool   // the method is GET, and there is no body
}

// redirected reports whether the answer to t is a redirect that its step follows.
func (s *scenario) redirected(t *turn, status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return t.at().Follow > 0 && t.location != ""
	}
	return false
}

// checkHops is an error if the step has followed as many redirects as it may.
func (s *scenario) checkHops(t *turn) error {
	if most := t.at().Follow; t.hop != nil && t.hop.number >= most {
		return fmt.Errorf("%w @follow %d: the last answer is a redirect, too", session.ErrCheck, most)
	}
	return nil
}

// follower is the operation that follows the redirect of an answer; nil: nothing is followed.
func (s *scenario) follower(t *turn, r *takt.Result) *turn {
	if r.Class != "" || !s.redirected(t, r.Status) {
		return nil
	}
	h := hop{}
	if t.hop != nil {
		h = *t.hop
	}
	h.number++
	h.get = h.get || r.Status == http.StatusSeeOther || r.Status < http.StatusSeeOther && t.at().Text.Method == http.MethodPost
	// As browsers do (https://url.spec.whatwg.org): servers forget to encode names of files and words of a search.
	h.to, _, _ = strings.Cut(http1.PercentEncoded(t.location, "\"<>`"), "#")
	if httpreq.Whole(s.Hosts[t.visit.server], h.to) == "" && !strings.HasPrefix(h.to, "/") { // beside the path that was asked for
		if u, err := url.Parse(t.visit.place.Path); err == nil {
			if u, err = u.Parse(h.to); err == nil {
				h.to = u.RequestURI()
			}
		}
	}
	return &turn{visit: t.visit, place: t.place, hop: &h}
}

// apply changes the request of the step, as browsers do.
func (h *hop) apply(q *http1.Request) {
	if !h.get || q.Method == http.MethodHead {
		return
	}
	q.Method, q.Body = http.MethodGet, nil
	q.Header = slices.DeleteFunc(q.Header, func(f http1.Field) bool { return strings.EqualFold(f.Name, "Content-Type") })
}
